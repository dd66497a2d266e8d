"""Indexes refused posts by page; no other post has an entry. Of each page, the failed scheduled post with the latest
time counts as refused when its last attempt ended.
"""

from alembic import op

revision = "0032"
down_revision = "0031"

INDEXES = {
    "posts_refused_of_page": "posts (page_id, refused_at) WHERE state = 'failed' AND refused_at IS NOT NULL",
}


def upgrade() -> None:
    """Reads one entry of `posts_ended_of_page` for each page, and locks at most one failed post of each."""
    op.execute(
        """
        UPDATE posts SET refused_at = a.ended_at
        FROM pages g CROSS JOIN LATERAL (
            SELECT id, attempts FROM posts
            WHERE page_id = g.id AND origin = 'scheduled' AND state = 'failed'
            ORDER BY scheduled_at DESC, id DESC LIMIT 1
        ) AS newest JOIN attempts a ON a.post_id = newest.id AND a.number = newest.attempts
        WHERE posts.id = newest.id AND posts.state = 'failed' AND a.outcome IN ('refused', 'not_published')
            AND g.unlinked_at IS NULL
        """
    )
