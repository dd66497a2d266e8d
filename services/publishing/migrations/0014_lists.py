"""Lists by page, brand and platform read what they show, not the history of the account, brand or page.

`posts_published_of_account` takes the place of `posts_published`, so that writing costs the same. The release before
this one sorts what it finds by it.
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
    """The indexes are all."""
