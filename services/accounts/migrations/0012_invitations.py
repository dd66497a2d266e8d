"""Adds invitations to a brand by e-mail. The previous release does not read the table."""

from alembic import op

revision = "0012"
down_revision = "0011"

CHANGES = """
CREATE TABLE invitations (
    id text PRIMARY KEY,
    brand_id text NOT NULL REFERENCES brands (id),
    email text NOT NULL,
    role text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    UNIQUE (brand_id, email)
);
"""


def upgrade() -> None:
    op.execute(CHANGES)
