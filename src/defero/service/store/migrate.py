"""Migrations: bring a database to the tables of this version, with Alembic."""

from pathlib import Path

from alembic import command
from alembic.config import Config

from defero.service.store.database import Database


def migrate(database: Database, revision: str = "head") -> None:
    """Create the tables, or change them to those of this version or an earlier one; one process at a time."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with database.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
