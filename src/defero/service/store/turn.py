"""Turn: of several server processes on one database, one does a job at a time."""

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from defero.service.store.database import Database


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
