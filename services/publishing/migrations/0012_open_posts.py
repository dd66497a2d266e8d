"""Indexes a page's open posts and comment polls, so that they are found without reading its whole history."""

revision = "0012"
down_revision = "0011"

INDEXES = {
    "posts_open_of_page": "posts (page_id) WHERE state IN ('sending', 'unknown')"
    " OR error_code = 'PLATFORM_OUTCOME_UNKNOWN'",
    "comment_polls_of_page": "comment_polls (page_id)",
}


def upgrade() -> None:
    """Does nothing: the indexes are built before this function is called."""
