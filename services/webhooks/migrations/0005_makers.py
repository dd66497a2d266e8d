"""Adds the brands of the token that made a subscription. They do not follow from the brands whose events it gets."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.execute("ALTER TABLE subscriptions ADD COLUMN made_within text[]")
