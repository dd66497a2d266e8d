"""Indexes files without a thumbnail, so that the loop that makes thumbnails reads only those."""

revision = "0012"
down_revision = "0011"

INDEXES = {"media_without_thumbnail": "media (thumbnail_due_at) WHERE thumbnail_size_bytes IS NULL"}


def upgrade() -> None:
    """Does nothing: the indexes are built before this function is called."""
