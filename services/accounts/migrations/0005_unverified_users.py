"""Indexes unverified accounts by their age."""

revision = "0005"
down_revision = "0004"

INDEXES = {"users_unverified": "users (created_at) WHERE NOT verified"}


def upgrade() -> None:
    """Does nothing: the indexes are built before this function is called."""
