"""An event knows its post, so that a request of the log leads to its deliveries; a subscription may ask for posts that
were made at once. The release before reads and writes neither column.
"""

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.execute("ALTER TABLE events ADD COLUMN post_id text")
    op.execute("ALTER TABLE subscriptions ADD COLUMN immediate_posts boolean NOT NULL DEFAULT false")
