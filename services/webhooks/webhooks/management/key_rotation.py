"""Encrypts stored signing secrets with the newest key, so that older keys can be removed."""

from contracts.caller import Caller
from contracts.keys import KeysRotated, RotateKeys
from webhooks.context import AppContext
from webhooks.security.vault import UnreadableSecret
from webhooks.store.subscriptions import Subscriptions

#: Secrets a call: below 5 ms of encryption. Our choice.
_BATCH = 25


def rotate_keys(app: AppContext, caller: Caller, request: RotateKeys) -> KeysRotated:
    """Encrypts the next few secrets again. The secrets stay the same: receivers notice nothing."""
    caller.check_operator()
    rotated, unreadable = 0, []
    with app.database.transaction() as connection:
        subscriptions = Subscriptions(connection)
        batch = subscriptions.stored_secrets(request.after, _BATCH)
        for secret_id, stored in batch:
            try:
                fresh = app.vault.rotate(stored)
            except UnreadableSecret:
                unreadable.append(secret_id)
            else:
                if fresh is not None:
                    subscriptions.replace_secret(secret_id, fresh)
                    rotated += 1
    more = batch[-1][0] if len(batch) == _BATCH else None
    return KeysRotated(rotated=rotated, unreadable=tuple(unreadable), next=more)
