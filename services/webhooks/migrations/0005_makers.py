"""A subscription carries the brands of the token that made it: whose it is does not follow from what it is sent."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.execute("ALTER TABLE subscriptions ADD COLUMN made_within text[]")
