"""Adds a row for each write operation. Tries of one operation lock it, and a refused try stores nothing later.

The previous release creates posts and replies without such a row. Their operation ids stay unique in their own tables,
where a repeated request finds them.
"""

from alembic import op

from chassis.db.operations import create_operations

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    create_operations(op)
