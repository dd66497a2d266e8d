"""The contract of the webhooks service: subscriptions, their secrets, the delivery log."""

from datetime import datetime
from typing import Annotated, Literal, Protocol

from msgspec import UNSET, Meta, UnsetType

from contracts.caller import Caller
from contracts.keys import KeysRotated, RotateKeys
from contracts.publishing import Limit
from contracts.record import Record
from contracts.senders import called_by

#: Spec "Webhook subscriptions"; first_comment.failed, page.expired, page.connect.refused, account.credits.adjusted,
#: posts.held, webhooks.disabled: decisions "Events".
EventName = Literal[
    "post.published",
    "post.failed",
    "comment.received",
    "comment.replied",
    "first_comment.failed",
    "page.expired",
    "page.connect.refused",
    "account.quota.warning",
    "account.credits.adjusted",
    "ai.job.completed",
    "ai.job.failed",
    "posts.held",
    "webhooks.disabled",
]
#: The event of POST /webhooks/{id}/test (decisions "Test event"). It cannot be subscribed to.
TEST_EVENT = "webhook.test"
#: The URL of a subscription whose deliveries are only logged, as `skipped`: a program reads them from the log, as
#: `posthaste webhooks listen` does (decisions "Subscriptions that are only logged").
LOG_URL = "log:"
#: decisions "Subscriptions per account".
MAX_SUBSCRIPTIONS = 20

Name = Annotated[str, Meta(min_length=1, max_length=80)]
Url = Annotated[str, Meta(min_length=1, max_length=2_048)]
Events = Annotated[tuple[EventName, ...], Meta(min_length=1)]
BrandIds = Annotated[tuple[str, ...], Meta(max_length=100)]


# Described values that are not enforced: another release may know more of them.
SubscriptionStatus = Annotated[str, Meta(extra_json_schema={"enum": ["active", "disabled"]})]
DeliveryStatus = Annotated[
    str, Meta(extra_json_schema={"enum": ["pending", "delivered", "failed", "skipped"]})
]


class Subscription(Record):
    """A webhook subscription (decisions.md, "Webhook record")."""

    id: str
    name: str
    url: str
    events: tuple[str, ...]
    #: Only events about these brands, and events without a brand. Empty: all events.
    brand_ids: tuple[str, ...]
    #: `active` or `disabled`
    status: SubscriptionStatus
    #: `gone` (a 410), `consecutive_failures`, `token_revoked` or `collaborator_removed` (its maker lost access).
    disabled_reason: str | None
    consecutive_failures: int
    #: When the receiver last acknowledged a delivery.
    last_delivery_at: datetime | None
    created_at: datetime
    #: Whether post.published and post.failed tell of posts made at once too, and not only of scheduled ones.
    immediate_posts: bool = False
    #: Since when it is disabled. Null while it is active, and if that was before the server knew this field.
    disabled_at: datetime | None = None


class CreatedSubscription(Subscription, kw_only=True):
    """A new subscription with its signing secret, which is shown only now."""

    secret: str


class CreateSubscription(Record):
    name: Name
    url: Url
    events: Events
    brand_ids: BrandIds = ()
    #: Send post.published and post.failed of posts made at once too, and not only of scheduled ones.
    immediate_posts: bool = False


class EditSubscription(Record):
    """A request to change a subscription. Only fields that are sent change."""

    id: str
    name: Name | UnsetType = UNSET
    url: Url | UnsetType = UNSET
    events: Events | UnsetType = UNSET
    brand_ids: BrandIds | UnsetType = UNSET
    immediate_posts: bool | UnsetType = UNSET


class SubscriptionId(Record):
    id: str


class ListSubscriptions(Record):
    status: Literal["active", "disabled"] | None = None
    limit: Limit = 50
    cursor: str | None = None


class SubscriptionList(Record):
    webhooks: tuple[Subscription, ...]
    next_cursor: str | None = None


class SubscriptionDeleted(Record):
    success: bool
    id: str


class RotatedSecret(Record):
    """A subscription's new secret, shown only now.

    Until `previous_secret_expires_at`, deliveries are signed with the old secret too.
    """

    id: str
    secret: str
    previous_secret_expires_at: datetime


class Attempt(Record):
    """One attempt to deliver an event (decisions.md, "Delivery row").

    `error`: `status` (no 2xx), `timeout`, `refused`, `unreachable`, `unknown_host`, `private_address`, `tls`,
    `disconnected` or `protocol`.
    """

    at: datetime
    status_code: int | None
    duration_ms: int
    error: str | None
    #: The first 1 KiB of the receiver's answer; null for a receiver outside the public internet.
    answer: str | None = None


class Delivery(Record):
    """One event that is sent to one subscription (decisions.md, "Delivery row")."""

    id: str
    event_id: str
    event: str
    #: `pending`, `delivered`, `failed` or `skipped`
    status: DeliveryStatus
    attempts: tuple[Attempt, ...]
    next_attempt_at: datetime | None
    created_at: datetime


class DeliveryContent(Delivery, kw_only=True):
    """A delivery, with the exact body that its receiver gets, and headers signed at this moment."""

    body: str
    headers: dict[str, str]


class FindDeliveries(Record):
    """A request for the deliveries about these posts, and for the tests and replays that these operations requested."""

    post_ids: tuple[str, ...]
    operation_ids: tuple[str, ...]


class FoundDelivery(Delivery, kw_only=True):
    """A delivery and the id of its subscription."""

    webhook_id: str


class FoundDeliveries(Record):
    """The answer to `FindDeliveries`: at most 100 deliveries, oldest first."""

    deliveries: tuple[FoundDelivery, ...]


class DeliveryPath(Record):
    id: str
    delivery_id: str


class ListDeliveries(Record):
    id: str
    status: Literal["pending", "delivered", "failed", "skipped"] | None = None
    limit: Limit = 50
    cursor: str | None = None


class DeliveryList(Record):
    deliveries: tuple[Delivery, ...]
    next_cursor: str | None = None


class ReplayDelivery(Record):
    id: str
    delivery_id: str


@called_by(
    gateway=(
        "create_subscription list_subscriptions get_subscription edit_subscription delete_subscription"
        " enable_subscription rotate_secret send_test list_deliveries get_delivery replay_delivery"
        " find_deliveries"
    ),
    ctl="enable_subscription rotate_keys",
)
class WebhooksApi(Protocol):
    """The RPC methods of the webhooks service. The operator may call `enable_subscription` for any account."""

    def create_subscription(self, caller: Caller, request: CreateSubscription) -> CreatedSubscription: ...
    def list_subscriptions(self, caller: Caller, request: ListSubscriptions) -> SubscriptionList: ...
    def get_subscription(self, caller: Caller, request: SubscriptionId) -> Subscription: ...
    def edit_subscription(self, caller: Caller, request: EditSubscription) -> Subscription: ...
    def delete_subscription(self, caller: Caller, request: SubscriptionId) -> SubscriptionDeleted: ...
    def enable_subscription(self, caller: Caller, request: SubscriptionId) -> Subscription: ...
    def rotate_secret(self, caller: Caller, request: SubscriptionId) -> RotatedSecret: ...
    def send_test(self, caller: Caller, request: SubscriptionId) -> Delivery: ...
    def list_deliveries(self, caller: Caller, request: ListDeliveries) -> DeliveryList: ...
    def get_delivery(self, caller: Caller, request: DeliveryPath) -> DeliveryContent: ...
    def find_deliveries(self, caller: Caller, request: FindDeliveries) -> FoundDeliveries: ...
    def replay_delivery(self, caller: Caller, request: ReplayDelivery) -> Delivery: ...
    def rotate_keys(self, caller: Caller, request: RotateKeys) -> KeysRotated: ...
