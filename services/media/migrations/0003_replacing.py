"""Adds the size of the file that will replace an uploaded image. It is stored before the replacement, so that a commit
can continue after a crash.

The previous release runs beside it and does not store the size.
"""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute("ALTER TABLE uploads ADD COLUMN replaced_bytes bigint")
