"""The check that 0020 added is validated: the table is read once, while everybody goes on reading and writing it."""

from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.execute("ALTER TABLE posts VALIDATE CONSTRAINT posts_state_check")
