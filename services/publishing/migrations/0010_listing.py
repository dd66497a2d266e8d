"""Lists of scheduled posts by their state: the default one, of what is queued, read an account's whole history.

The new index is in the old one's place, so that writing costs what it did. The release before this one lists by it as
well, only that it sorts what it finds.
"""

revision = "0010"
down_revision = "0009"

INDEXES = {"posts_listed": "posts (account_id, state, scheduled_at, id) WHERE origin = 'scheduled'"}
DROPS = ("posts_scheduled",)


def upgrade() -> None:
    """The indexes are all."""
