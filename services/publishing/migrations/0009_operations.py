"""Adds the operation that last changed a post or that unlinked a page: the same operation is then answered again and
not refused.
"""

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.execute("ALTER TABLE posts ADD COLUMN last_operation_id text")
    op.execute("ALTER TABLE pages ADD COLUMN unlink_operation_id text")
