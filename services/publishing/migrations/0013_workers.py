"""Claims name their worker process, whose one lease is renewed in their place (`chassis.db.leases`).

Beside the release before this one: its claims have no worker and lapse by their `lease_until`; the new ones have
`infinity` there, which that release never takes for passed. Going back to it, what a killed process of this release had
claimed is given back by hand (docs/operations.md, "Upgrade without downtime").
"""

from alembic import op

from chassis.db.leases import create_workers

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    create_workers(op)
    op.execute("ALTER TABLE posts ADD COLUMN worker_id text")
