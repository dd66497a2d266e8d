"""An entry knows the operation it was written by: what leaves nothing else behind is answered again from it."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute("ALTER TABLE audit_entries ADD COLUMN operation_id text")
