"""Operations of the calls that set a value: a repeat finds that its value was set before."""

from alembic import op

from chassis.db.operations import create_operations

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    create_operations(op)
