"""Disables the subscriptions of a maker who lost access, and tells the owner of the account."""

from itertools import groupby

import msgspec

from chassis.bus.outbox import Staging, stage_all
from contracts.caller import Maker
from contracts.events import AccessRevoked, DisabledWebhook, Event, WebhooksDisabled
from webhooks.records import MadeBy
from webhooks.store import Connection
from webhooks.store.subscriptions import Subscriptions


def on_access_revoked(connection: Connection, event: Event) -> None:
    """Disables the subscriptions that were last created, changed or enabled with the revoked tokens.

    Subscriptions without a known maker stay as they are.
    """
    revoked = msgspec.convert(event.data, AccessRevoked)
    store = Subscriptions(connection)
    store.lock_known_account(event.account_id)
    store.note_revoked(revoked.token_ids)
    found = store.active_of_tokens(event.account_id, revoked.token_ids)
    store.disable([one.id for one in found], revoked.reason)
    stage_all(
        connection,
        [
            Staging(
                "webhooks.disabled",
                WebhooksDisabled(
                    user_id=event.account_id,
                    reason=revoked.reason,
                    made_by=Maker(user_id=user_id, token_id=token_id),
                    webhooks=tuple(DisabledWebhook(id=one.id, name=one.name) for one in group),
                ),
                event.account_id,
                made_within=made_within or None,
            )
            for (user_id, token_id, made_within), group in groupby(sorted(found, key=_event_key), _event_key)
        ],
    )


def _event_key(made: MadeBy) -> tuple[str, str, tuple[str, ...]]:
    """Returns the key by which subscriptions are grouped into one event: those of one maker that are visible to the
    same tokens."""
    return made.maker_user_id or "", made.maker_token_id or "", tuple(made.made_within or ())
