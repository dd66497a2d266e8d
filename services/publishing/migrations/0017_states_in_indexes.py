"""What went out of a brand or a page is found without reading the rows of what it has queued.

The state is read in the indexes, which take the places of two without it; the release before this one finds its posts
by them as well.
"""

revision = "0017"
down_revision = "0016"

INDEXES = {
    "posts_of_brand": "posts (brand_id, out_at, state) WHERE out_at IS NOT NULL",
    "posts_of_page": "posts (page_id, out_at, state) WHERE out_at IS NOT NULL",
}
DROPS = ("posts_out_of_brand", "posts_out_of_page")


def upgrade() -> None:
    """The indexes are all."""
