"""Database: an engine for the one writer and one for readers, with the settings that keep every commit on disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from defero.core.errors import InputError

LOCK = 0x6465666572_6F
"""Of PostgreSQL's advisory locks: whoever writes holds it until the commit, so that writers come in turn."""
_BUSY_MS = 30_000


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
            writer, reader = _sqlite(url, begin="BEGIN IMMEDIATE"), _sqlite(url, begin="BEGIN")
        else:
            writer = reader = _postgresql(url)
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


def _sqlite(url: URL, *, begin: str) -> Engine:
    if url.database in (None, "", ":memory:"):
        raise InputError("must be a file: what is in memory is lost.", argument="database")
    engine = create_engine(
        url, connect_args={"timeout": _BUSY_MS / 1000, "check_same_thread": False}, hide_parameters=True
    )

    @event.listens_for(engine, "connect")
    def _settings(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # the driver begins no transactions of its own
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={_BUSY_MS}"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _postgresql(url: URL) -> Engine:
    engine = create_engine(url, pool_pre_ping=True, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _settings(connection: Any, _: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION synchronous_commit = on")
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
