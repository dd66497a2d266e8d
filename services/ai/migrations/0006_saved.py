"""When auto-refill was last saved: cards declined before that are not held against the one it names.

Nor is what was declined before this: nobody wrote down then what was the card's fault. The default is reckoned once
for all rows there are, and holds for those that an older release adds.
"""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.execute("ALTER TABLE auto_refills ADD COLUMN saved_at timestamptz DEFAULT clock_now()")
