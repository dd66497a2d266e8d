"""Adds the state to two indexes, so that the posts that a brand or page has sent are found without reading its queued
posts.

The new indexes replace two without the state. The previous release finds its posts by them too.
"""

revision = "0017"
down_revision = "0016"

INDEXES = {
    "posts_of_brand": "posts (brand_id, out_at, state) WHERE out_at IS NOT NULL",
    "posts_of_page": "posts (page_id, out_at, state) WHERE out_at IS NOT NULL",
}
DROPS = ("posts_out_of_brand", "posts_out_of_page")


def upgrade() -> None:
    """Does nothing: this migration changes only indexes."""
