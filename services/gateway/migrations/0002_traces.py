"""The outbox carries trace contexts, so that a trace continues in the event's receiver."""

from alembic import op

from chassis.db.schema import trace_outbox

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    trace_outbox(op)
