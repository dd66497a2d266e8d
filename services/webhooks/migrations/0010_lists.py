"""Indexes due deliveries and the rows that are to be deleted, so that they are found without reading whole tables."""

revision = "0010"
down_revision = "0009"

INDEXES = {
    "deliveries_ready": "deliveries (subscription_id, due_at) WHERE state = 'pending' AND ready",
    "deliveries_waiting": "deliveries (due_at) WHERE state = 'pending' AND NOT ready",
    "subscriptions_ending": "subscriptions (id) WHERE ending",
    "subscriptions_deleted": "subscriptions (deleted_at) WHERE deleted_at IS NOT NULL",
    "secrets_expiring": "secrets (expires_at) WHERE expires_at IS NOT NULL",
}


def upgrade() -> None:
    """Does nothing: the indexes are built before this function is called."""
