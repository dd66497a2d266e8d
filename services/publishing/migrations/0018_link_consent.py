"""Adds a person's consent to a linking: the browser that began it, and the accounts that were found but not agreed to.

All columns may be null. The previous release ignores them.
"""

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    for column in ("browser", "unconfirmed", "account_name"):
        op.execute(f"ALTER TABLE links ADD COLUMN {column} text")
