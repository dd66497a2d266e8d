"""Stored credentials put under the newest key, so that an older one can go."""

from contracts.caller import Caller
from contracts.keys import KeysRotated, RotateKeys
from publishing.context import House
from publishing.credentials import UnreadableCredential
from publishing.store.pages import Pages

#: Below 5 ms of encryption for each call. Our choice.
_BATCH = 25


def rotate_keys(house: House, caller: Caller, request: RotateKeys) -> KeysRotated:
    """The next few pages. A renewal that comes between writes under the newest key itself, and wins."""
    caller.check_operator()
    rotated, unreadable = 0, []
    with house.database.transaction() as connection:
        pages = Pages(connection)
        batch = pages.stored_credentials(request.after, _BATCH)
        for page_id, stored in batch:
            try:
                fresh = house.vault.rotate(stored)
            except UnreadableCredential:
                unreadable.append(page_id)
            else:
                rotated += fresh is not None and pages.exchange_credentials(page_id, stored, fresh)
    more = batch[-1][0] if len(batch) == _BATCH else None
    return KeysRotated(rotated=rotated, unreadable=tuple(unreadable), next=more)
