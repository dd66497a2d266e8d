"""Numbers outcomes, so that an older outcome does not change the count of failures after a newer one was recorded."""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.execute("ALTER TABLE lanes ADD COLUMN outcome_number bigint NOT NULL DEFAULT 0")
    op.execute("ALTER TABLE lanes ADD COLUMN enabled_count integer NOT NULL DEFAULT 0")
