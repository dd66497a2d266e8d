"""When auto-refill was last saved: cards declined before that are not held against the one it names."""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.execute("ALTER TABLE auto_refills ADD COLUMN saved_at timestamptz")
