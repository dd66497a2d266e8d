"""What is traced goes on in whoever receives an event, and in a post's sending."""

from alembic import op

from chassis.db.schema import trace_outbox

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    trace_outbox(op)
    op.execute("ALTER TABLE posts ADD COLUMN traceparent text")
