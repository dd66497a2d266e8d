"""Adds to each claim its worker process. The worker renews one lease for all its claims (`chassis.db.leases`).

Claims of the previous release have no worker, and lapse at their `lease_until`. New claims have `infinity` there, which
the previous release never counts as lapsed. After a return to that release, the operator gives back the posts that a
killed process of this release had claimed (docs/operations.md, "Upgrade without downtime").
"""

from alembic import op

from chassis.db.leases import create_workers

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    create_workers(op)
    op.execute("ALTER TABLE posts ADD COLUMN worker_id text")
