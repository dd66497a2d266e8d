"""Encrypts stored page credentials with the newest key, so that older keys can be removed."""

from chassis.vault import ROTATED_AT_ONCE
from contracts.caller import Caller
from contracts.keys import KeysRotated, RotateKeys
from publishing.context import AppContext
from publishing.store.pages import Pages


def rotate_keys(app: AppContext, caller: Caller, request: RotateKeys) -> KeysRotated:
    """Encrypts the credentials of the next pages with the newest key. Leaves credentials alone that are renewed
    meanwhile, because they use that key already."""
    caller.check_operator()
    with app.database.transaction() as connection:
        pages = Pages(connection)
        batch = pages.stored_credentials(request.after, ROTATED_AT_ONCE)
        return app.vault.rotate_batch(batch, pages.exchange_credentials)
