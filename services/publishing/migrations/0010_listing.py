"""Lists of scheduled posts by their state: the default one, of what is queued, read an account's whole history.

The new index is in the old one's place, so that writing costs what it did. The release before this one lists by it as
well, only that it sorts what it finds. The old one goes first: to take the table's lock piece by piece would be a
deadlock. While the new one is built the table is closed; where that is too long, make it by hand before, with
CREATE INDEX CONCURRENTLY, and it is found here. One whose making was cut off answers nothing: it is made anew.
"""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.execute("DROP INDEX posts_scheduled")
    op.execute(
        """
        DO $$ BEGIN
            IF EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass('posts_listed') AND NOT indisvalid) THEN
                DROP INDEX posts_listed;
            END IF;
        END $$
        """
    )
    op.execute(
        "CREATE INDEX IF NOT EXISTS posts_listed ON posts (account_id, state, scheduled_at, id)"
        " WHERE origin = 'scheduled'"
    )
