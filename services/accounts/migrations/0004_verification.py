"""Adds the verification of e-mail addresses, invites that permit a sign-up, and rate limits of sign-up over all
processes.

Existing users count as verified. So do users that the previous release adds while it still runs beside this one.
"""

from alembic import op

revision = "0004"
down_revision = "0003"

CHANGES = """
ALTER TABLE users ADD COLUMN verified boolean NOT NULL DEFAULT true;
CREATE TABLE verification_mails (
    user_id text PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    attempts integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL
);
CREATE TABLE invites (
    email text PRIMARY KEY,
    id text NOT NULL,
    expires_at timestamptz NOT NULL,
    operation_id text
);
CREATE TABLE sign_up_tries (
    subject text NOT NULL,
    ends_at timestamptz NOT NULL,
    tries integer NOT NULL,
    PRIMARY KEY (subject, ends_at)
);
"""


def upgrade() -> None:
    op.execute(CHANGES)
