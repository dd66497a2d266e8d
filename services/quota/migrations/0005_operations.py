"""Operations of the operator's calls: a repeat finds that its value was set before."""

from alembic import op

from chassis.db.operations import create_operations

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    create_operations(op)
