"""Adds the address to which a linking sends the person back, and when its account was told of a login in another
browser.

Both columns may be null. The previous release ignores them.
"""

from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.execute("ALTER TABLE links ADD COLUMN return_url text")
    op.execute("ALTER TABLE links ADD COLUMN refused_at timestamptz")
