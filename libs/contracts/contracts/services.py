"""The table of all services and their Protocols. Clients and servers are built from it."""

from contracts.accounts import AccountsApi
from contracts.ai import AiApi
from contracts.events import EVENTS
from contracts.media import MediaApi
from contracts.publishing import PublishingApi
from contracts.quota import QuotaApi
from contracts.senders import CTL, GATEWAY, callers_of
from contracts.webhooks import WebhooksApi

SERVICES: dict[str, type] = {
    "accounts": AccountsApi,
    "quota": QuotaApi,
    "publishing": PublishingApi,
    "ai": AiApi,
    "media": MediaApi,
    "webhooks": WebhooksApi,
}

#: Every process name that sends or receives messages.
NAMES = (GATEWAY, CTL, *SERVICES)


def receivers_of(sender: str) -> frozenset[str]:
    """Returns the services that `sender` sends messages to: those it may call, and those that receive its events."""
    called = {name for name, api in SERVICES.items() if any(sender in it for it in callers_of(api).values())}
    notified = {
        receiver for route in EVENTS.values() if route.sender == sender for receiver in route.receivers
    }
    return frozenset(called | notified)
