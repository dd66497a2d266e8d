"""Adds since when a comment needs no reply. Release 1.4.0 neither reads nor writes it."""

from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    op.execute("ALTER TABLE comments ADD COLUMN settled_at timestamptz")
