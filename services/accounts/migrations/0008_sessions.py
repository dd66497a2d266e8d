"""Adds sessions, which are the tokens of people who signed in with a password, and links that reset a password.

Gateways of the previous release refuse the tokens of sessions because of their prefix.
"""

from alembic import op

revision = "0008"
down_revision = "0007"

CHANGES = """
ALTER TABLE tokens ADD COLUMN session boolean NOT NULL DEFAULT false;
ALTER TABLE tokens ADD COLUMN client_address text;
CREATE TABLE password_resets (
    email text PRIMARY KEY,
    id text NOT NULL,
    expires_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz
);
"""


def upgrade() -> None:
    op.execute(CHANGES)
