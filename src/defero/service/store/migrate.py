"""Migrations: bring a database to the tables of this version, with Alembic."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy.exc import OperationalError

from defero.core.errors import InputError
from defero.service.store.database import Database


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
