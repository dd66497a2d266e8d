"""Which of a platform's logins a linking uses: LinkedIn has one for members and one for company pages.

A nullable column alone. The release before ignores it, and has one app only.
"""

from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.execute("ALTER TABLE links ADD COLUMN account_type text")
