"""Encrypts stored signing secrets with the newest key, so that older keys can be removed."""

from chassis.vault import ROTATED_AT_ONCE
from contracts.caller import Caller
from contracts.keys import KeysRotated, RotateKeys
from webhooks.context import AppContext
from webhooks.store.subscriptions import Subscriptions


def rotate_keys(app: AppContext, caller: Caller, request: RotateKeys) -> KeysRotated:
    """Encrypts the next few secrets with the newest key. The secrets themselves stay the same, so receivers notice
    nothing."""
    caller.check_operator()
    with app.database.transaction() as connection:
        store = Subscriptions(connection)
        batch = store.stored_secrets(request.after, ROTATED_AT_ONCE)
        return app.vault.rotate_batch(batch, store.replace_secret)
