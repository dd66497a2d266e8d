"""Adds changes of an account's e-mail address. The previous release does not read the table."""

from alembic import op

revision = "0016"
down_revision = "0015"

CHANGES = """
CREATE TABLE email_changes (
    user_id text PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    id text NOT NULL UNIQUE,
    email text NOT NULL,
    expires_at timestamptz NOT NULL
);
"""


def upgrade() -> None:
    op.execute(CHANGES)
