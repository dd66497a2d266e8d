"""Adds brand sessions: a collaborator's session on a brand, which ends with the collaborator's own session.

The previous release refuses brand sessions of limited collaborators. It treats those of full collaborators as tokens
that the collaborators have issued.
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
