"""Adds the operation that deleted a subscription: the same operation is then answered again and not refused."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute("ALTER TABLE subscriptions ADD COLUMN delete_operation_id text")
