"""Adds a second factor at the sign-in: codes of an authenticator app (RFC 6238).

The previous release, which may run beside this one, signs people in with the password alone.
"""

from alembic import op

revision = "0013"
down_revision = "0012"

CHANGES = """
CREATE TABLE totps (
    user_id text PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    id text NOT NULL,
    enabled_at timestamptz,
    last_step bigint NOT NULL DEFAULT 0
);
CREATE TABLE recovery_codes (
    user_id text NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    code_sha256 text NOT NULL,
    PRIMARY KEY (user_id, code_sha256)
);
"""


def upgrade() -> None:
    op.execute(CHANGES)
