"""Unverified accounts are found by their age."""

revision = "0005"
down_revision = "0004"

INDEXES = {"users_unverified": "users (created_at) WHERE NOT verified"}


def upgrade() -> None:
    """The index is built before this (chassis.db.indexes)."""
