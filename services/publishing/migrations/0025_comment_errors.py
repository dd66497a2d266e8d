"""Adds the reason why a first comment failed. The previous release neither reads nor writes the columns."""

from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.execute("ALTER TABLE posts ADD COLUMN comment_error_code text, ADD COLUMN comment_error_message text")
