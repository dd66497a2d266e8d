"""What is traced goes on in whoever receives an event."""

from alembic import op

from chassis.db.schema import trace_outbox

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    trace_outbox(op)
