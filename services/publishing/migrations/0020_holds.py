"""Adds the maker of a post, and the state `held` for posts whose maker has lost access.

The new check is NOT VALID: it replaces the old one without reading the table, which would lock it. The next migration
validates it. The previous release stores no maker and lists held posts as `held`. Its worker may still send one post
whose maker has lost access.
"""

from alembic import op

revision = "0020"
down_revision = "0019"

INDEXES = {"posts_on_hold": "posts (page_id, scheduled_at, id) WHERE state = 'held'"}


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE posts
            ADD COLUMN maker_user_id text,
            ADD COLUMN maker_token_id text,
            ADD COLUMN held_at timestamptz,
            ADD COLUMN hold_reason text,
            DROP CONSTRAINT posts_state_check,
            ADD CONSTRAINT posts_state_check CHECK (state IN
                ('queued', 'held', 'sending', 'unknown', 'published', 'failed', 'cancelled')) NOT VALID
        """
    )
    op.execute(
        """
        CREATE TABLE post_holds (
            id text PRIMARY KEY,
            account_id text NOT NULL,
            reason text NOT NULL,
            token_ids text[] NOT NULL,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            wake_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )
        """
    )
    op.execute("CREATE INDEX post_holds_due ON post_holds (wake_at)")
