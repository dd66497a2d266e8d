"""Mails wait in one queue, whatever they are about. The release before this one does not read it.

Verification mails and reset links keep their own queues.
"""

from alembic import op

revision = "0011"
down_revision = "0010"

CHANGES = """
CREATE TABLE mails (
    id text PRIMARY KEY,
    kind text NOT NULL,
    email text NOT NULL,
    details jsonb NOT NULL,
    expires_at timestamptz NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL
);
"""


def upgrade() -> None:
    op.execute(CHANGES)
