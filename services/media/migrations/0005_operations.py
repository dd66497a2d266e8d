"""Adds the operation that attached a file, so that a try that stored no post does not keep the file attached."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.execute("ALTER TABLE attachments ADD COLUMN operation_id text")
    op.execute("CREATE INDEX attachments_of_operation ON attachments (operation_id) WHERE NOT confirmed")
