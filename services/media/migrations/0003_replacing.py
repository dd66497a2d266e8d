"""Adds the size of an image's replacement, noted before the object is replaced, for a commit after a crash.

The previous release runs beside it and does not note the size.
"""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute("ALTER TABLE uploads ADD COLUMN replaced_bytes bigint")
