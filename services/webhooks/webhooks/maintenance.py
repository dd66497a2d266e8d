"""What is done now and then, in small batches: the end of deliveries nobody will try, and of an old log."""

from collections.abc import Callable
from datetime import timedelta

from webhooks.context import House
from webhooks.store.retention import Log

#: Rows in one transaction. Our choice.
_ENDED_AT_ONCE, _REMOVED_AT_ONCE = 5_000, 500
#: Bodies outlive the log by what a replay on its last day may take; operations and deleted subscriptions stay as long.
_ROOM = timedelta(days=1)


def end_deliveries(house: House) -> int:
    """What waits for a disabled subscription has failed; it can be replayed."""
    with house.database.transaction() as connection:
        return Log(connection).fail_of_disabled(_ENDED_AT_ONCE)


def remove_old(house: House) -> int:
    """One batch of each kind; how many rows."""
    kept = timedelta(days=house.settings.log_kept_days)
    steps: tuple[Callable[[Log], int], ...] = (
        lambda log: log.remove_of_deleted(_REMOVED_AT_ONCE),
        lambda log: log.remove_deliveries(kept, _REMOVED_AT_ONCE),
        lambda log: log.remove_events(kept + _ROOM, _REMOVED_AT_ONCE),
        lambda log: log.remove_asks(kept + _ROOM, _REMOVED_AT_ONCE),
        lambda log: log.remove_secrets(kept + _ROOM, _REMOVED_AT_ONCE),
        lambda log: log.remove_subscriptions(kept + _ROOM, _REMOVED_AT_ONCE),
        lambda log: log.remove_revoked_tokens(_REMOVED_AT_ONCE),
    )
    count = 0
    for step in steps:
        with house.database.transaction() as connection:
            count += step(Log(connection))
    return count
