"""The services and their RPC surfaces: the one table clients and servers are derived from."""

from contracts.accounts import AccountsApi
from contracts.ai import AiApi
from contracts.media import MediaApi
from contracts.publishing import PublishingApi
from contracts.quota import QuotaApi
from contracts.webhooks import WebhooksApi

SERVICES: dict[str, type] = {
    "accounts": AccountsApi,
    "quota": QuotaApi,
    "publishing": PublishingApi,
    "ai": AiApi,
    "media": MediaApi,
    "webhooks": WebhooksApi,
}
