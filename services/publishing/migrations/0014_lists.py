"""Indexes posts and pages for lists by page, brand and platform, which then read only the rows that they show.

`posts_published_of_account` replaces `posts_published`, so that writes do not become slower. The previous release uses
it too, and sorts the result.
"""

revision = "0014"
down_revision = "0013"

INDEXES = {
    "posts_published_of_account": "posts (account_id, platform, out_at DESC, id DESC) WHERE state = 'published'",
    "posts_ended_of_page": "posts (page_id, state, scheduled_at, id)"
    " WHERE origin = 'scheduled' AND state IN ('published', 'failed', 'cancelled')",
    "pages_listed_of_account": "pages (account_id, platform, created_at DESC, id DESC) WHERE unlinked_at IS NULL",
    "pages_listed_of_brand": "pages (brand_id, platform, created_at DESC, id DESC) WHERE unlinked_at IS NULL",
}
DROPS = ("posts_published",)


def upgrade() -> None:
    """Does nothing: this migration changes only indexes."""
