"""Debts are read without the other entries: only ledgers that ever had one have rows in this index."""

revision = "0010"
down_revision = "0009"

INDEXES = {"entries_owed": "entries (account_id) INCLUDE (owed) WHERE owed <> 0"}


def upgrade() -> None:
    """The index is all."""
