"""Sessions that ended are found by their expiry, to be deleted."""

revision = "0009"
down_revision = "0008"

INDEXES = {"tokens_sessions": "tokens (expires_at) WHERE session"}


def upgrade() -> None:
    """The index is built before this (chassis.db.indexes)."""
