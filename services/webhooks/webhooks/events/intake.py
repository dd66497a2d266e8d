"""Events from the other services: written down for whoever subscribed, in the transaction of the inbox."""

from collections.abc import Sequence

import msgspec

from contracts.events import AccountChanged, Event
from webhooks.events.envelope import body_of
from webhooks.store import Connection
from webhooks.store.deliveries import Deliveries
from webhooks.store.subscriptions import Subscriptions

#: Set in `connection.info`, so that the commit wakes the office.
ARRIVED = "deliveries_arrived"


def on_events(connection: Connection, events: Sequence[Event]) -> None:
    """One delivery for each subscription that wants an event."""
    if Deliveries(connection).arrive([(event, body_of(event)) for event in events]):
        connection.info[ARRIVED] = True


def on_account_changed(connection: Connection, event: Event) -> None:
    changed = msgspec.convert(event.data, AccountChanged)
    Subscriptions(connection).take_tier(changed.account_id, changed.tier, event.id)
