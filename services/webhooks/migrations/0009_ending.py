"""Subscriptions whose deliveries are being ended are marked, so that the chore that ends them finds them (0010)."""

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.execute("ALTER TABLE subscriptions ADD COLUMN IF NOT EXISTS ending boolean NOT NULL DEFAULT false")
