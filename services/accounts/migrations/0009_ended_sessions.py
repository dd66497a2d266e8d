"""Indexes sessions by their expiry, to delete those that have ended."""

revision = "0009"
down_revision = "0008"

INDEXES = {"tokens_sessions": "tokens (expires_at) WHERE session"}


def upgrade() -> None:
    """Does nothing: the indexes are built before this function is called."""
