"""Indexes debts, so that reading them does not read other entries. Only ledgers that ever had a debt have rows in the
index.
"""

revision = "0010"
down_revision = "0009"

INDEXES = {"entries_owed": "entries (account_id) INCLUDE (owed) WHERE owed <> 0"}


def upgrade() -> None:
    """Does nothing: the indexes are built before this function is called."""
