"""Indexes the posts with comments of visitors, the newest comment first. No post has an entry before its first
comment, so that publishing does not become slower.
"""

revision = "0029"
down_revision = "0028"

INDEXES = {
    "posts_commented_of_account": "posts (account_id, platform, commented_at DESC, id DESC)"
    " WHERE commented_at IS NOT NULL",
    "posts_commented_of_page": "posts (page_id, commented_at DESC, id DESC) WHERE commented_at IS NOT NULL",
}


def upgrade() -> None:
    """Does nothing: this migration changes only indexes."""
