"""A post knows its maker, and is held when the maker loses access.

Nullable columns, a table, a state more. The new check replaces the old one without reading the table (NOT VALID), which
would close it meanwhile; the next revision validates it. Beside the release before this one, which notes no maker and
shows held posts as `held`: its worker may still send a post whose maker has lost access, once.
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
