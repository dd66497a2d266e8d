"""Writes are found by their request id. Reads, which are many more, have no entry in the index."""

revision = "0005"
down_revision = "0004"

INDEXES = {"request_log_writes": "request_log (request_id) WHERE operation_id IS NOT NULL"}


def upgrade() -> None:
    """Does nothing: INDEXES are built before it."""
