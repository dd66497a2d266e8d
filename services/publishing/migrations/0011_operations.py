"""A row for each write operation: it serialises the operation's tries, and a refused one stores nothing later.

The release before this one makes posts and replies without such a row: their operation ids stay unique in their own
tables, and a repetition finds them there.
"""

from alembic import op

from chassis.db.operations import create_operations

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    create_operations(op)
