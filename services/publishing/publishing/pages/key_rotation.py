"""Encrypts stored credentials with the newest key, so that older keys can be removed."""

from contracts.caller import Caller
from contracts.keys import KeysRotated, RotateKeys
from publishing.context import AppContext
from publishing.credentials import UnreadableCredential
from publishing.store.pages import Pages

#: Pages per call: 25 take less than 5 ms of encryption. Our choice.
_BATCH = 25


def rotate_keys(app: AppContext, caller: Caller, request: RotateKeys) -> KeysRotated:
    """Rotates the next pages. A renewal meanwhile uses the newest key itself, and is kept."""
    caller.check_operator()
    rotated, unreadable = 0, []
    with app.database.transaction() as connection:
        pages = Pages(connection)
        batch = pages.stored_credentials(request.after, _BATCH)
        for page_id, stored in batch:
            try:
                fresh = app.vault.rotate(stored)
            except UnreadableCredential:
                unreadable.append(page_id)
            else:
                rotated += fresh is not None and pages.exchange_credentials(page_id, stored, fresh)
    more = batch[-1][0] if len(batch) == _BATCH else None
    return KeysRotated(rotated=rotated, unreadable=tuple(unreadable), next=more)
