"""Adds the position of a periodic search, because the search of a large bucket takes several runs.

The previous release runs beside it and begins at the first object each time.
"""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute("ALTER TABLE chores ADD COLUMN position text")
