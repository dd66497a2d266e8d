"""Adds the operation id to audit entries. A call that stores nothing else finds by it that an earlier try has
succeeded.
"""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute("ALTER TABLE audit_entries ADD COLUMN operation_id text")
