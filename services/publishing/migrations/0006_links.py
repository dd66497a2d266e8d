"""Adds link sessions, from the login's address until pages are chosen. This is a new table."""

from alembic import op

revision = "0006"
down_revision = "0005"

LINKS = """
CREATE TABLE links (
    id text PRIMARY KEY,
    account_id text NOT NULL,
    brand_id text NOT NULL,
    brand_name text NOT NULL,
    platform text NOT NULL,
    verifier text NOT NULL,
    state text NOT NULL CHECK (state IN ('pending', 'exchanging', 'found', 'refused', 'failed')),
    found text,
    error_code text,
    error_message text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX links_expire ON links (expires_at);
"""


def upgrade() -> None:
    op.execute(LINKS)
