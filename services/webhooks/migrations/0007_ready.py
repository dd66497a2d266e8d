"""Deliveries whose time has come are found without those that wait for a retry; what the chores remove has indexes.

Where rows that the release before this one wrote are not marked ready, they are marked once they are due. While the
indexes of deliveries are built the table is closed to writes; where that is too long, add the column and make them by
hand before, with CREATE INDEX CONCURRENTLY, and they are found here.
"""

from alembic import op

revision = "0007"
down_revision = "0006"

COLUMNS = {"deliveries": "ready", "subscriptions": "ending"}
INDEXES = {
    "deliveries_ready": "deliveries (subscription_id, due_at) WHERE state = 'pending' AND ready",
    "deliveries_waiting": "deliveries (due_at) WHERE state = 'pending' AND NOT ready",
    "subscriptions_ending": "subscriptions (id) WHERE ending",
    "subscriptions_deleted": "subscriptions (deleted_at) WHERE deleted_at IS NOT NULL",
    "secrets_expiring": "secrets (expires_at) WHERE expires_at IS NOT NULL",
}


def upgrade() -> None:
    for table, column in COLUMNS.items():
        op.execute(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {column} boolean NOT NULL DEFAULT false")
    for name, what in INDEXES.items():
        op.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {what}")
