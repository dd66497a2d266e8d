"""A collaborator works on a brand with a session of its own, which ends with the person's.

Beside the release before this one, which refuses such sessions of limited collaborators, and takes those of full ones
for tokens that they issued.
"""

from alembic import op

revision = "0014"
down_revision = "0013"

CHANGES = """
ALTER TABLE tokens ADD COLUMN parent_id text;
CREATE INDEX tokens_of_parent ON tokens (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX collaborators_of_user ON collaborators (user_id, created_at, brand_id);
"""


def upgrade() -> None:
    op.execute(CHANGES)
