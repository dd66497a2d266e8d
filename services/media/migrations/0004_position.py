"""How far a chore has come: a large bucket is looked through in several goes.

The release before this one writes on beside it, and begins anew each time.
"""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute("ALTER TABLE chores ADD COLUMN position text")
