"""Validates the check that 0020 added. This reads the whole table once, while other transactions read and write it."""

from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.execute("ALTER TABLE posts VALIDATE CONSTRAINT posts_state_check")
