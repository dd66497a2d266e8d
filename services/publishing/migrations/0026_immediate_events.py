"""Adds the setting whether an account gets events of the posts that it publishes at once. The previous release ignores
it.
"""

from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.execute("CREATE TABLE immediate_accounts (account_id text PRIMARY KEY)")
    op.execute("ALTER TABLE posts ADD COLUMN reports_at_once boolean NOT NULL DEFAULT false")
