"""Adds the time at which auto-refill was last saved. Declines before that time do not count against the saved card.

Neither do declines before this migration, which were not attributed to a card. The default is computed once for all
existing rows, and applies to rows that the previous release adds.
"""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.execute("ALTER TABLE auto_refills ADD COLUMN saved_at timestamptz DEFAULT clock_now()")
