"""Claims that lapsed: their posts go back to the queue, or are looked up."""

import structlog

from publishing.context import House
from publishing.store.reconciliation import Looks

log = structlog.get_logger()


def recover_claims(house: House) -> int:
    """Lapses what dead processes had claimed: not begun, a post is queued again; begun, it is unknown. How many."""
    first_look = house.settings.reconcile_first_seconds
    lapsed = house.lease.reap(
        lambda connection, worker_id: Looks(connection).lapse_of_worker(worker_id, first_look)
    )
    with house.database.transaction() as connection:
        return lapsed + Looks(connection).lapse_unrenewed(first_look)


def recover_lost_claims(house: House) -> int:
    """Lapses claims of this process that nobody here works on: their commit's answer was lost, or their work ended
    without an outcome. How many."""
    worker_id = house.lease.worker_id
    if worker_id is None:
        return 0
    with house.database.transaction() as connection:
        looks = Looks(connection)
        # Noted before they are committed: what is read here and not noted now will not be.
        lost = [claim for claim in looks.claims_of(worker_id) if not house.scribe.holds(claim)]
        count = looks.lapse_claims(lost, house.settings.reconcile_first_seconds)
    if count:
        log.warning("claims_lost_sight_of", posts=count)
    return count
