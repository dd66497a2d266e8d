"""Periodic clean-up in small batches: deliveries of disabled subscriptions, and rows past their retention."""

from collections.abc import Callable
from datetime import timedelta

from webhooks.context import AppContext
from webhooks.store.retention import Retention

#: Rows in one transaction, which bounds how long they are locked: an update fails a delivery quickly, a removal also
#: deletes its attempts.
_FAILED_BATCH, _REMOVED_BATCH = 5_000, 500
#: Bodies, operations and deleted subscriptions are kept this much longer than the log, for a replay on its last day.
_EXTRA = timedelta(days=1)


def end_deliveries(app: AppContext) -> int:
    """Marks waiting deliveries of disabled subscriptions as failed, up to a limit. Leaves out tests and replays: they
    are sent even if the subscription is disabled. Returns how many it marked. Owners can replay them.

    Uses no transaction: it would lock deliveries before subscriptions, but a replay locks subscriptions first, so the
    two could deadlock.
    """
    with app.database.reading() as connection:
        return Retention(connection).fail_of_disabled(_FAILED_BATCH)


def remove_old(app: AppContext) -> int:
    """Removes one batch of each kind of old rows. Returns how many rows it removed."""
    kept = timedelta(days=app.settings.log_kept_days)
    steps: tuple[Callable[[Retention], int], ...] = (
        lambda store: store.remove_of_deleted(_REMOVED_BATCH),
        lambda store: store.remove_deliveries(kept, _REMOVED_BATCH),
        lambda store: store.remove_events(kept + _EXTRA, _REMOVED_BATCH),
        lambda store: store.remove_asks(kept + _EXTRA, _REMOVED_BATCH),
        lambda store: store.remove_secrets(kept + _EXTRA, _REMOVED_BATCH),
        lambda store: store.remove_subscriptions(kept + _EXTRA, _REMOVED_BATCH),
        lambda store: store.remove_revoked_tokens(_REMOVED_BATCH),
    )
    count = 0
    for step in steps:
        with app.database.transaction() as connection:
            count += step(Retention(connection))
    return count
