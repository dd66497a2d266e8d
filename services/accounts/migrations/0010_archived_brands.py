"""Adds the archiving of brands. The previous release lists archived brands like all others."""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.execute("ALTER TABLE brands ADD COLUMN archived_at timestamptz")
