"""Adds the position of periodic work: a large bucket is searched in several runs.

The previous release runs beside it and starts anew each time.
"""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute("ALTER TABLE chores ADD COLUMN position text")
