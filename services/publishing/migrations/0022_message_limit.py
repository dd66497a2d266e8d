"""Adds the longest message of an account, where its platform tells one. The previous release stores none."""

from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.execute("ALTER TABLE pages ADD COLUMN message_limit integer")
