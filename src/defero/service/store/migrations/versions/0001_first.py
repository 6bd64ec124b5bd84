"""The first tables; triggers keep the log append-only."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "cases",
        sa.Column("case_id", sa.String(length=40), nullable=False),
        sa.Column("received_at", sa.Double(), nullable=False),
        sa.Column("asked", sa.String(length=40), nullable=True),
        sa.Column("asked_at", sa.Double(), nullable=True),
        sa.Column("due", sa.Double(), nullable=True),
        sa.Column("settled_at", sa.Double(), nullable=True),
        sa.Column("erased", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("case_id"),
    )
    op.create_index("cases_by_due", "cases", ["due"], unique=False)
    op.create_index("cases_by_question", "cases", ["asked", "asked_at"], unique=False)
    op.create_table(
        "contents",
        sa.Column("case_id", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=True),
        sa.Column("features", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("case_id"),
    )
    op.create_table(
        "events",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("case_id", sa.String(length=40), nullable=True),
        sa.Column("person", sa.String(length=40), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("events_by_case", "events", ["case_id", "seq"], unique=False)
    op.create_index("events_by_kind", "events", ["kind", "seq"], unique=False)
    op.create_index("events_by_person", "events", ["person", "seq"], unique=False)
    op.create_table(
        "identities",
        sa.Column("person", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("person"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "notes",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("case_id", sa.String(length=40), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_notes_case_id"), "notes", ["case_id"], unique=False)
    op.create_table(
        "people",
        sa.Column("person", sa.String(length=40), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("person"),
    )
    op.create_table(
        "requests",
        sa.Column("key", sa.String(length=320), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("cases", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "secrets",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "tallies",
        sa.Column("day", sa.String(length=10), nullable=False),
        sa.Column("person", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", "person", "name"),
    )
    op.create_table(
        "tokens",
        sa.Column("token_id", sa.String(length=40), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("person", sa.String(length=40), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("expires", sa.Double(), nullable=False),
        sa.Column("revoked", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("token_id"),
        sa.UniqueConstraint("hash"),
    )
    op.create_index(op.f("ix_tokens_person"), "tokens", ["person"], unique=False)
    _append_only()


def _append_only() -> None:
    """Refuse every change and deletion of an entry of the log."""
    if op.get_bind().dialect.name == "sqlite":
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER events_no_{change.lower()} BEFORE {change} ON events "
                "BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
            )
        return
    op.execute(
        "CREATE FUNCTION events_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the log is append-only'; END $$"
    )
    op.execute(
        "CREATE TRIGGER events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON events "
        "FOR EACH STATEMENT EXECUTE FUNCTION events_append_only()"
    )
