"""Adds when the newest comment of a visitor was received. The previous release neither reads nor writes it.

Of comments which that release has received, it is stored when they are next read from the platform: within a day if the
post is polled.
"""

from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.execute("ALTER TABLE posts ADD COLUMN commented_at timestamptz")
