"""E-mail addresses of people, by which answers in other tools are theirs."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "addresses",
        sa.Column("person", sa.String(length=40), nullable=False),
        sa.Column("email", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("person"),
        sa.UniqueConstraint("email"),
    )
