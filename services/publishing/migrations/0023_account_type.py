"""Adds to link sessions the login that they use: LinkedIn has one for members and one for company pages.

The column may be null. The previous release ignores it, and has only one app.
"""

from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.execute("ALTER TABLE links ADD COLUMN account_type text")
