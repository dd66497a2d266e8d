"""Webhook subscriptions, their secrets and their deliveries."""

from msgspec import UNSET, UnsetType

from contracts import webhooks as api
from contracts.errors import BRAND_NOT_AUTHORIZED, LIMIT_REACHED, NOT_FOUND
from contracts.record import Nothing
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.routes.filters import check_brands

_SCOPE = "manage:webhooks"
_REACH = (NOT_FOUND, BRAND_NOT_AUTHORIZED)


@endpoint("GET", "/webhooks", scope=_SCOPE, meter="reads")
def list_webhooks(exchange: Exchange, request: api.ListSubscriptions) -> api.SubscriptionList:
    """List the subscriptions that the token may use, newest first."""
    return exchange.relay(exchange.services.webhooks.list_subscriptions, request)


@endpoint(
    "POST", "/webhooks", scope=_SCOPE, meter="writes", status=201, errors=(*_REACH, LIMIT_REACHED),
    shows_secret=True,
)  # fmt: skip
def create_webhook(exchange: Exchange, request: api.CreateSubscription) -> api.CreatedSubscription:
    """Subscribe a URL to events; the signing secret is shown only in this answer."""
    check_brands(exchange, request.brand_ids)
    _report_immediate_posts(exchange, request.immediate_posts)
    return exchange.relay(exchange.services.webhooks.create_subscription, request)


@endpoint("GET", "/webhooks/{id}", scope=_SCOPE, meter="reads", errors=_REACH)
def get_webhook(exchange: Exchange, request: api.SubscriptionId) -> api.Subscription:
    """Get a subscription."""
    return exchange.relay(exchange.services.webhooks.get_subscription, request)


@endpoint("PATCH", "/webhooks/{id}", scope=_SCOPE, meter="writes", errors=_REACH)
def edit_webhook(exchange: Exchange, request: api.EditSubscription) -> api.Subscription:
    """Change a subscription; fields that are not sent keep their value."""
    if request.brand_ids is not UNSET:
        check_brands(exchange, request.brand_ids)
    _report_immediate_posts(exchange, request.immediate_posts)
    return exchange.relay(exchange.services.webhooks.edit_subscription, request)


@endpoint("DELETE", "/webhooks/{id}", scope=_SCOPE, meter="writes", errors=_REACH)
def delete_webhook(exchange: Exchange, request: api.SubscriptionId) -> api.SubscriptionDeleted:
    """Delete a subscription; its waiting deliveries are dropped."""
    return exchange.relay(exchange.services.webhooks.delete_subscription, request)


@endpoint("POST", "/webhooks/{id}/enable", scope=_SCOPE, meter="writes", errors=_REACH)
def enable_webhook(exchange: Exchange, request: api.SubscriptionId) -> api.Subscription:
    """Enable a subscription that was disabled after failures."""
    return exchange.relay(exchange.services.webhooks.enable_subscription, request)


@endpoint("POST", "/webhooks/{id}/test", scope=_SCOPE, meter="writes", status=202, errors=_REACH)
def send_test_event(exchange: Exchange, request: api.SubscriptionId) -> api.Delivery:
    """Deliver a test event, `webhook.test`, which is not counted."""
    return exchange.relay(exchange.services.webhooks.send_test, request)


@endpoint(
    "POST", "/webhooks/{id}/rotate-secret", scope=_SCOPE, meter="writes", errors=_REACH, shows_secret=True
)
def rotate_webhook_secret(exchange: Exchange, request: api.SubscriptionId) -> api.RotatedSecret:
    """Replace the signing secret by one shown only in this answer; for 24 hours deliveries are signed with both."""
    return exchange.relay(exchange.services.webhooks.rotate_secret, request)


@endpoint("GET", "/webhooks/{id}/deliveries", scope=_SCOPE, meter="reads", errors=_REACH)
def list_deliveries(exchange: Exchange, request: api.ListDeliveries) -> api.DeliveryList:
    """List the deliveries of the last 30 days with their attempts, newest first."""
    return exchange.relay(exchange.services.webhooks.list_deliveries, request)


@endpoint("GET", "/webhooks/{id}/deliveries/{delivery_id}", scope=_SCOPE, meter="reads", errors=_REACH)
def get_delivery(exchange: Exchange, request: api.DeliveryPath) -> api.DeliveryContent:
    """Get a delivery with its body and newly signed headers, to hand it to a receiver yourself."""
    return exchange.relay(exchange.services.webhooks.get_delivery, request)


@endpoint(
    "POST", "/webhooks/{id}/deliveries/{delivery_id}/replay", scope=_SCOPE, meter="writes", status=202,
    errors=_REACH,
)  # fmt: skip
def replay_delivery(exchange: Exchange, request: api.ReplayDelivery) -> api.Delivery:
    """Deliver an event again, with the same event id."""
    return exchange.relay(exchange.services.webhooks.replay_delivery, request)


def _report_immediate_posts(exchange: Exchange, is_asked: bool | UnsetType) -> None:
    """Makes the service `publishing` report posts that are published at once, if a subscription asks for them
    (`is_asked`).

    Call it before the subscription is stored. Then the subscription gets every such post whose publishing begins after
    the answer.
    """
    if is_asked is True:
        exchange.ask(exchange.services.publishing.report_posts_made_at_once, Nothing())
