"""Adds one queue for mails of every kind, except verification mails and reset links, which keep their own queues.

The previous release does not read it.
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
