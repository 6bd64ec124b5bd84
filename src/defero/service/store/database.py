"""Database: an engine for the one writer and one for readers, with the settings that keep every commit on disk.

Alembic brings it to the tables of this version. Of several server processes on it, one has the turn to do a job.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError

from defero.core.errors import InputError

LOCK = 0x6465666572_6F
"""Of PostgreSQL's advisory locks: whoever writes holds it until the commit, so that writers come in turn."""
_BUSY_MS = 30_000
_READERS = 20
"""Connections of readers at once; more wait. The one writer has its own."""
_CONNECT = {"connect_timeout": 10, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
_SESSION = {
    "synchronous_commit": "on",
    "lock_timeout": f"{_BUSY_MS}ms",
    "idle_in_transaction_session_timeout": "120s",
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}
"""Of each session of PostgreSQL: a process that is gone, or stands still, must not hold the lock of writers."""


@dataclass(frozen=True, eq=False)
class Database:
    """A database of the service.

    Attributes
    ----------
    url : URL
    writer, reader : Engine
        In SQLite a writer's transaction begins with the lock that a reader's does not need.
    """

    url: URL
    writer: Engine
    reader: Engine

    @classmethod
    def connect(cls, where: str) -> "Database":
        """Return the database of a URL, or of a path to an SQLite file."""
        url = database_url(where)
        if url.get_backend_name() == "sqlite":
            _make_private(url.database)
            writer, reader = _sqlite(url, begin="BEGIN IMMEDIATE"), _sqlite(url, begin="BEGIN")
        else:
            writer, reader = _postgresql(url, most=5), _postgresql(url, most=_READERS)
        return cls(url, writer, reader)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file."""
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that no other writer, of this or another process, runs beside."""
        with self.writer.begin() as connection:
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the database."""
        with self.reader.connect() as connection:
            if not self.is_sqlite:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    def close(self) -> None:
        """Give back the connections."""
        self.writer.dispose()
        self.reader.dispose()


def database_url(where: str) -> URL:
    """Return the URL of a database; a path is an SQLite file.

    >>> str(database_url("clinic.sqlite")), database_url("postgresql://ann@host/clinic").drivername
    ('sqlite:///clinic.sqlite', 'postgresql+psycopg')
    """
    if "://" not in where:
        return URL.create("sqlite", database=str(Path(where)))
    try:
        url = make_url(where)
    except ArgumentError as error:
        raise InputError("is no URL of a database.", argument="database") from error
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise InputError(
            f"must be SQLite or PostgreSQL, got {url.get_backend_name()!r}; pass a path, or "
            "postgresql+psycopg://user@host/name.",
            argument="database",
        )
    return url.set(drivername="postgresql+psycopg") if url.get_backend_name() == "postgresql" else url


def _make_private(file: str | None) -> None:
    """Create the file of a new database for its owner alone; SQLite gives its other files the same mode."""
    if file in (None, "", ":memory:"):
        raise InputError("must be a file: what is in memory is lost.", argument="database")
    if str(file).startswith("file:"):  # a URI of SQLite, whose file is made already
        return
    try:
        os.close(os.open(str(file), os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise InputError(f"cannot be written: {file} ({error.strerror}).", argument="database") from error


def _sqlite(url: URL, *, begin: str) -> Engine:
    connect = {"timeout": _BUSY_MS / 1000, "check_same_thread": False}
    engine = create_engine(url, connect_args=connect, hide_parameters=True, pool_size=5, max_overflow=_READERS - 5)

    @event.listens_for(engine, "connect")
    def _settings(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # the driver begins no transactions of its own
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={_BUSY_MS}"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _postgresql(url: URL, *, most: int) -> Engine:
    connect = {name: value for name, value in _CONNECT.items() if name not in url.query}
    pool = {"pool_size": min(5, most), "max_overflow": max(0, most - 5), "pool_pre_ping": True}
    engine = create_engine(url, connect_args=connect, hide_parameters=True, **pool)

    @event.listens_for(engine, "connect")
    def _settings(connection: Any, _: Any) -> None:
        with connection.cursor() as cursor:
            for name, value in _SESSION.items():
                cursor.execute(f"SET SESSION {name} = '{value}'")
        connection.commit()

    return engine


def durability(database: Database) -> dict[str, str]:
    """Return the settings on which "on disk before the reply" rests, as the database reports them."""
    with database.writer.connect() as connection:
        if database.is_sqlite:
            names = {0: "OFF", 1: "NORMAL", 2: "FULL", 3: "EXTRA"}
            mode = str(connection.exec_driver_sql("PRAGMA journal_mode").scalar())
            level = connection.exec_driver_sql("PRAGMA synchronous").scalar()
            return {"journal_mode": mode, "synchronous": names[int(level or 0)]}
        return {
            name: str(connection.execute(text(f"SHOW {name}")).scalar()) for name in ("synchronous_commit", "fsync")
        }


def reachable(database: Database) -> bool:
    """Whether the database answers."""
    try:
        with database.reader.connect() as connection:
            connection.execute(text("SELECT 1"))
    except SQLAlchemyError:
        return False
    return True


def migrate(database: Database, revision: str = "head") -> None:
    """Create the tables, or change them to those of this version or an earlier one; one process at a time."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    where = database.url.render_as_string(hide_password=True)
    try:
        with database.write() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
    except OperationalError as error:
        why = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
        raise InputError(f"cannot be used: {where}: {why}.", argument="database") from error
    except CommandError as error:
        raise InputError(
            f"{where} was written by another version of defero ({error}); install that version or a newer one.",
            argument="database",
        ) from error


class Turn:
    """Held by one process until it gives it back or ends; an SQLite file has one process anyway.

    Parameters
    ----------
    database : Database
    key : int
        Of PostgreSQL's advisory locks.
    """

    def __init__(self, database: Database, key: int) -> None:
        self.database, self.key = database, key
        self._connection: Connection | None = None

    def held(self) -> bool:
        """Whether it is the turn of this process; taken where nobody has it."""
        if self.database.is_sqlite:
            return True
        try:
            if self._connection is not None:
                self._connection.execute(text("SELECT 1"))  # the lock ends with the connection
                return True
            connection = self.database.reader.connect().execution_options(isolation_level="AUTOCOMMIT")
            if connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": self.key}).scalar():
                self._connection = connection
                return True
            connection.close()
        except SQLAlchemyError:
            self.give_back()
        return False

    def give_back(self) -> None:
        """Let another process have it."""
        if self._connection is not None:
            self._connection.invalidate()  # closes the session, and with it the lock
            self._connection.close()
            self._connection = None
