"""Idempotency keys by time: the old ones are forgotten regularly."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the index."""
    op.create_index("requests_by_time", "requests", ["at"], unique=False)
