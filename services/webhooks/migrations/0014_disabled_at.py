"""Adds since when a subscription is disabled. Those that the previous release disables have no time."""

from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.execute("ALTER TABLE subscriptions ADD COLUMN disabled_at timestamptz")
