"""Adds the size of the file that will replace an uploaded one, so that a commit can continue after a crash."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute("ALTER TABLE uploads ADD COLUMN replaced_bytes bigint")
