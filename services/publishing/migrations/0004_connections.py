"""Adds the renewal of page credentials, with its time and its claim, and the unlinking of pages.

All columns have defaults. The previous release writes on, and the pages that it links are not renewed.
"""

from alembic import op

revision = "0004"
down_revision = "0003"

PAGES = """
ALTER TABLE pages
    ADD COLUMN unlinked_at timestamptz,
    ADD COLUMN grant_id text,
    ADD COLUMN renew_at timestamptz,
    ADD COLUMN renew_lease_until timestamptz,
    ADD COLUMN renew_fence bigint NOT NULL DEFAULT 0,
    ADD COLUMN renew_tries integer NOT NULL DEFAULT 0;
CREATE INDEX pages_to_renew ON pages (renew_at) WHERE renew_at IS NOT NULL;
CREATE INDEX pages_of_grant ON pages (grant_id) WHERE grant_id IS NOT NULL;
"""


def upgrade() -> None:
    op.execute(PAGES)
