"""Indexes the request log's writes by request id. Reads, of which there are many more, are not in the index."""

revision = "0005"
down_revision = "0004"

INDEXES = {"request_log_writes": "request_log (request_id) WHERE operation_id IS NOT NULL"}


def upgrade() -> None:
    """Does nothing: the indexes are built before this function is called."""
