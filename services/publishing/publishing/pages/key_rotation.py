"""Encrypts stored credentials with the newest key, so that older keys can be removed."""

from chassis.vault import ROTATED_AT_ONCE
from contracts.caller import Caller
from contracts.keys import KeysRotated, RotateKeys
from publishing.context import AppContext
from publishing.store.pages import Pages


def rotate_keys(app: AppContext, caller: Caller, request: RotateKeys) -> KeysRotated:
    """Rotates the credentials of the next pages. Credentials that are renewed meanwhile use the newest key already, and
    are kept.
    """
    caller.check_operator()
    with app.database.transaction() as connection:
        pages = Pages(connection)
        batch = pages.stored_credentials(request.after, ROTATED_AT_ONCE)
        return app.vault.rotate_batch(batch, pages.exchange_credentials)
