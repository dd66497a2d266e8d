"""Marks subscriptions whose deliveries are to be ended, so that the worker loop finds them (0010 has the index)."""

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.execute("ALTER TABLE subscriptions ADD COLUMN IF NOT EXISTS ending boolean NOT NULL DEFAULT false")
