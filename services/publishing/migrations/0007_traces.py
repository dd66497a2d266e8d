"""Adds the traceparent to the outbox and to posts, so that receivers of events and the sending of a post continue the
trace.
"""

from alembic import op

from chassis.db.schema import trace_outbox

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    trace_outbox(op)
    op.execute("ALTER TABLE posts ADD COLUMN traceparent text")
