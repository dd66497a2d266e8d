"""Makes deliveries of the other services' events, in the transaction that also stores the events' ids in the inbox."""

from collections.abc import Sequence

import msgspec

from contracts.events import AccountChanged, Event
from webhooks.events.envelope import body_of, post_of
from webhooks.store import Connection
from webhooks.store.deliveries import Deliveries
from webhooks.store.subscriptions import Subscriptions

#: Set in `connection.info`, so that the commit wakes the dispatcher.
ARRIVED = "deliveries_arrived"


def on_events(connection: Connection, events: Sequence[Event]) -> None:
    """Stores a delivery of each event for each subscription that wants it."""
    new = [(event, body_of(event), post_of(event)) for event in events]
    if Deliveries(connection).arrive(new):
        connection.info[ARRIVED] = True


def on_account_changed(connection: Connection, event: Event) -> None:
    changed = msgspec.convert(event.data, AccountChanged)
    Subscriptions(connection).take_tier(changed.account_id, changed.tier, event.id)
