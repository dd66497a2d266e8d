"""Stored signing secrets put under the newest key, so that an older one can go."""

from contracts.caller import Caller
from contracts.keys import KeysRotated, RotateKeys
from webhooks.context import House
from webhooks.security.vault import UnreadableSecret
from webhooks.store.subscriptions import Subscriptions

#: Below 5 ms of encryption for each call. Our choice.
_BATCH = 25


def rotate_keys(house: House, caller: Caller, request: RotateKeys) -> KeysRotated:
    """The next few secrets. What they sign with stays the same: receivers notice nothing."""
    caller.check_operator()
    rotated, unreadable = 0, []
    with house.database.transaction() as connection:
        subscriptions = Subscriptions(connection)
        batch = subscriptions.stored_secrets(request.after, _BATCH)
        for secret_id, stored in batch:
            try:
                fresh = house.vault.rotate(stored)
            except UnreadableSecret:
                unreadable.append(secret_id)
            else:
                if fresh is not None:
                    subscriptions.replace_secret(secret_id, fresh)
                    rotated += 1
    more = batch[-1][0] if len(batch) == _BATCH else None
    return KeysRotated(rotated=rotated, unreadable=tuple(unreadable), next=more)
