"""Adds the user and the token that made a subscription, and keeps tokens that lost access for a day.

The previous release stores no maker. Subscriptions that it creates are not disabled when their maker loses access.
"""

from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.execute("ALTER TABLE subscriptions ADD COLUMN maker_user_id text")
    op.execute("ALTER TABLE subscriptions ADD COLUMN maker_token_id text")
    op.execute(
        "CREATE TABLE revoked_tokens (token_id text PRIMARY KEY,"
        " revoked_at timestamptz NOT NULL DEFAULT clock_timestamp())"
    )
    op.execute("CREATE INDEX revoked_tokens_oldest ON revoked_tokens (revoked_at)")
