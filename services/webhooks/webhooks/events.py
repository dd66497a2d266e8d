"""Handles events from the bus: stores their deliveries, and disables subscriptions when the person or token that made
them lost access.

Each handler runs in the transaction that also stores the event's id in the inbox.
"""

import re
from collections.abc import Sequence
from itertools import groupby

import msgspec

from chassis.bus.outbox import Staging, stage_all
from contracts.caller import Maker
from contracts.events import AccessRevoked, AccountChanged, DisabledWebhook, Event, WebhooksDisabled
from webhooks.records import MadeBy
from webhooks.store import Connection
from webhooks.store.deliveries import Deliveries
from webhooks.store.subscriptions import Subscriptions

#: Set in `connection.info`, so that the commit wakes the dispatcher.
ARRIVED = "deliveries_arrived"
#: The last three digits of `…_at`, `…At`, `…_time` and `at`: msgspec writes microseconds, our times have milliseconds.
#: A quotation mark inside a text is escaped, so that only keys match.
_MICROSECONDS = re.compile(rb'((?:_at|At|_time|"at)":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})000(?=Z")')


def on_events(connection: Connection, events: Sequence[Event]) -> None:
    """Stores a delivery of each event for every active subscription that asks for such events. An event that no
    subscription asks for is not stored.
    """
    new = [(event, body_of(event), post_of(event)) for event in events]
    if Deliveries(connection).arrive(new):
        connection.info[ARRIVED] = True


def on_account_changed(connection: Connection, event: Event) -> None:
    changed = msgspec.convert(event.data, AccountChanged)
    Subscriptions(connection).take_tier(changed.account_id, changed.tier, event.id)


def on_access_revoked(connection: Connection, event: Event) -> None:
    """Disables the subscriptions that were last created, changed or enabled with the revoked tokens, and stages the
    events `webhooks.disabled`.

    Subscriptions of which no token is stored stay as they are.
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
    """Returns the key by which disabled subscriptions are grouped into events: the user and the token that made them,
    and the brands that this token could use.
    """
    return made.maker_user_id or "", made.maker_token_id or "", tuple(made.made_within or ())


def body_of(event: Event) -> bytes:
    """Returns the body of an event's deliveries (docs/decisions.md, "Events"): the same bytes are signed, stored and
    sent at every attempt.
    """
    created_at = event.created_at.replace(microsecond=event.created_at.microsecond // 1000 * 1000)
    envelope = {"id": event.id, "event": event.event, "created_at": created_at, "data": event.data}
    return _MICROSECONDS.sub(rb"\1", msgspec.json.encode(envelope))


def post_of(event: Event) -> str | None:
    """Returns the id of the post that the event is about; None for other events."""
    post = event.data.get("post")
    found = post.get("id") if isinstance(post, dict) else event.data.get("postId")
    return found if isinstance(found, str) else None
