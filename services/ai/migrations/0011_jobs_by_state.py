"""Indexes jobs by kind and state, so that a list of the jobs in one state does not read the others. The previous
release has no such list.
"""

revision = "0011"
down_revision = "0010"

INDEXES = {
    "jobs_of_state": "jobs (account_id, kind, state, created_at DESC, id DESC) WHERE kind <> 'caption'",
    "jobs_of_state_restricted": "jobs (account_id, token_brand_ids, kind, state, created_at DESC, id DESC)"
    " WHERE kind <> 'caption' AND token_brand_ids IS NOT NULL",
}


def upgrade() -> None:
    """Does nothing: the indexes are built before this function is called."""
