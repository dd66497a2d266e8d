"""Claims walk the due posts in their order and pass over busy pages and locked brands without reading the posts.

The new index is in the old one's place; the release before this one finds its due posts by it as well.
"""

revision = "0016"
down_revision = "0015"

INDEXES = {"posts_due_of_pages": "posts (out_at) INCLUDE (page_id, brand_id) WHERE state = 'queued'"}
DROPS = ("posts_due",)


def upgrade() -> None:
    """The indexes are all."""
