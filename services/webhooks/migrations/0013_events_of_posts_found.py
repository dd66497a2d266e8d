"""Indexes the events of a post."""

revision = "0013"
down_revision = "0012"

INDEXES = {"events_of_post": "events (post_id) WHERE post_id IS NOT NULL"}


def upgrade() -> None:
    """Does nothing: the indexes are built before this function is called."""
