"""Adds the position of a periodic search, because the search of a large bucket takes several runs."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute("ALTER TABLE chores ADD COLUMN position text")
