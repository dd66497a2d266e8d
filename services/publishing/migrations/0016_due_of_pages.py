"""Replaces the index of due posts by one that also holds page and brand.

With it a claim skips the posts of busy pages and locked brands without reading their rows. The release before this one
finds due posts by the new index too.
"""

revision = "0016"
down_revision = "0015"

INDEXES = {"posts_due_of_pages": "posts (out_at) INCLUDE (page_id, brand_id) WHERE state = 'queued'"}
DROPS = ("posts_due",)


def upgrade() -> None:
    """Does nothing: this migration changes only indexes."""
