"""Adds the maximum length of an account's messages, where the platform tells it. The previous release stores none."""

from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.execute("ALTER TABLE pages ADD COLUMN message_limit integer")
