"""Adds the post of an event, so that an entry of the request log leads to its deliveries. Adds to subscriptions the
setting whether they get events of posts that were published at once.

The previous release neither reads nor writes the columns.
"""

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.execute("ALTER TABLE events ADD COLUMN post_id text")
    op.execute("ALTER TABLE subscriptions ADD COLUMN immediate_posts boolean NOT NULL DEFAULT false")
