"""Adds operations of the operator's calls, by which a repeated call finds that an earlier try has set its value."""

from alembic import op

from chassis.db.operations import create_operations

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    create_operations(op)
