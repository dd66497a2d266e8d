"""Indexes scheduled posts by state. Without the state, the default list, of queued posts, read the account's whole
history.

The new index replaces one without the state, so that writes do not become slower. The previous release uses it too, and
sorts the result.
"""

revision = "0010"
down_revision = "0009"

INDEXES = {"posts_listed": "posts (account_id, state, scheduled_at, id) WHERE origin = 'scheduled'"}
DROPS = ("posts_scheduled",)


def upgrade() -> None:
    """Does nothing: this migration changes only indexes."""
