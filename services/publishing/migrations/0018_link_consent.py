"""A linking waits for the person's consent: which browser it belongs to, and what was found and is not agreed to yet.

Nullable columns alone. The release before ignores them.
"""

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    for column in ("browser", "unconfirmed", "account_name"):
        op.execute(f"ALTER TABLE links ADD COLUMN {column} text")
