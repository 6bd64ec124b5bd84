"""Alembic's entry: run the migrations on the connection that `migrate` hands over."""

from alembic import context

from defero.service.store.log import METADATA

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=METADATA, transactional_ddl=False)
context.run_migrations()
