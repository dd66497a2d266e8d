"""Where a linking brings the person back to, and that its account was told of another browser.

Nullable columns alone. The release before ignores them.
"""

from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.execute("ALTER TABLE links ADD COLUMN return_url text")
    op.execute("ALTER TABLE links ADD COLUMN refused_at timestamptz")
