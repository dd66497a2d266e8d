"""Adds the post's revision to attachments. Comparing revisions replaces comparing the clocks of two services."""

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.execute("ALTER TABLE attachments ADD COLUMN revision bigint NOT NULL DEFAULT 0")
