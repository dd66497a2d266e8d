"""Ends claims that no task works on any more: claims of dead processes, and lost claims of this process.

Their posts return to the queue. If an attempt was open, its outcome is looked up instead.
"""

import structlog

from publishing.sending.context import SendingContext
from publishing.store.reconciliation import Reconciliation

log = structlog.get_logger()


def recover_claims(app: SendingContext) -> int:
    """Ends the claims of dead processes and returns how many.

    A post without an open attempt returns to the queue; the outcome of an open attempt becomes unknown.
    """
    first_look = app.settings.reconcile_first_seconds
    return app.lease.reap(
        lambda connection, worker_id: Reconciliation(connection).lapse_of_worker(worker_id, first_look)
    )


def recover_lost_claims(app: SendingContext) -> int:
    """Ends the claims of this process on which none of its tasks works, and returns how many.

    Such a claim is left over when the answer to its commit was lost, or when its task ended without an outcome.
    """
    worker_id = app.lease.worker_id
    if worker_id is None:
        return 0
    with app.database.transaction() as connection:
        looks = Reconciliation(connection)
        # Claims are noted before they are committed: one that is read here and not noted never will be.
        lost = [claim for claim in looks.claims_of(worker_id) if not app.outcomes.holds(claim)]
        count = looks.lapse_claims(lost, app.settings.reconcile_first_seconds)
    if count:
        log.warning("claims_lost_sight_of", posts=count)
    return count
