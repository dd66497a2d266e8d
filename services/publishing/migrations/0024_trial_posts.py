"""Adds the test posts of `posthaste platform check --post`. The previous release does not know the table."""

from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.execute("""
        CREATE TABLE trial_posts (
            page_id text PRIMARY KEY REFERENCES pages (id),
            text text NOT NULL,
            began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            checkpoint jsonb,
            remote_id text
        )
    """)
