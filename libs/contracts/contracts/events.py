"""Events between services: the record of each event's data, and who sends and receives it.

The table `EVENTS` defines the topology. Every receiver has one durable queue `events.<receiver>`, so that an event
published before the first start of a receiver waits for it. Events that clients see have the names of docs/spec.md,
"Events".
"""

from datetime import datetime

from contracts.ai import AiJob
from contracts.caller import Maker
from contracts.media import Media
from contracts.platforms import PlatformCode
from contracts.publishing import Comment, LostAccess, Page, PostError, Reply, ScheduledPost
from contracts.record import Record


class Event(Record):
    """An event as it is sent. `data` is the record of this kind of event, as JSON.

    `id` (`evt_…`) stays the same when the event is sent again.
    """

    id: str
    event: str
    created_at: datetime
    account_id: str
    brand_id: str | None = None
    data: dict[str, object] = {}
    #: The brands that the token of the resource's maker could access; None: all (decisions "Who sees").
    made_within: tuple[str, ...] | None = None
    #: Which subscriptions get the event of a post that was made at once and whose client was answered with its outcome:
    #: `immediate`: only those that ask for such posts; `others`: only those that do not. Empty: all.
    audience: str = ""


class PostPublished(Record, rename="camel"):
    user_id: str
    brand_id: str
    post: ScheduledPost


class PostFailed(Record, rename="camel"):
    user_id: str
    brand_id: str
    post: ScheduledPost
    error: PostError
    attempts: int


class CommentReceived(Record, rename="camel"):
    user_id: str
    brand_id: str
    page_id: str
    post_id: str
    comment: Comment


class CommentReplied(Record, rename="camel"):
    user_id: str
    brand_id: str
    page_id: str
    post_id: str
    reply: Reply


class FirstCommentFailed(Record, rename="camel"):
    """The first comment of a published post failed, and is not tried again.

    Either the platform refused it, or its answer was lost and the comment was not found on the platform.
    """

    user_id: str
    brand_id: str
    page_id: str
    post_id: str
    error: PostError


class PageExpired(Record, rename="camel"):
    """A page's credentials do not work any more. `error` holds the platform's message and code.

    The codes CREDENTIAL_UNREADABLE and OPERATOR come from Posthaste and not from a platform.
    """

    user_id: str
    brand_id: str
    page: Page
    error: PostError
    reconnect_url: str


class ConnectRefused(Record, rename="camel"):
    """A login at a platform returned in another browser than the one that began it, and was refused.

    Somebody may have been tricked into it.
    """

    user_id: str
    brand_id: str
    session_id: str
    platform: PlatformCode
    error: PostError


class JobCompleted(Record, rename="camel"):
    user_id: str
    brand_id: str | None
    job: AiJob
    media: Media


class JobFailed(Record, rename="camel"):
    user_id: str
    brand_id: str | None
    job: AiJob


class PostMedia(Record):
    """The files that a post holds now. Sent for posts that have, or had, media_ids.

    `revision` is higher in every later event about the post, so that an older event that arrives late is ignored.
    """

    post_id: str
    media_ids: tuple[str, ...]
    #: pending (queued, held or being sent), published, or released (cancelled, failed, files taken away)
    state: str
    revision: int


class QuotaWarning(Record, rename="camel"):
    user_id: str
    bucket: str
    used: int
    limit: int
    percent: int
    resets_at: datetime


class CreditsAdjusted(Record, rename="camel"):
    """A payment's refund or dispute changed an account's bought credits.

    `credits` is negative when they were taken back, positive when a won dispute returned them. `owed`: credits that
    were spent already; they are taken from the next ones bought.
    """

    user_id: str
    #: `refund` or `dispute`
    reason: str
    credits: int
    bonus: int
    owed: int


class CallerChanged(Record):
    """The data of some callers has changed. Each gateway drops the cached callers that have one of these tokens or
    accounts.
    """

    token_ids: tuple[str, ...] = ()
    account_ids: tuple[str, ...] = ()


class AccountChanged(Record):
    """An account's tier changed. Services store the tier for their background work, where no caller tells it."""

    account_id: str
    tier: str


class BrandRenamed(Record):
    """The owner of a brand has set its name. The service `publishing` stores the name with the brand's pages."""

    brand_id: str
    name: str


class AccessRevoked(Record):
    """A person or token lost access to the account. The queued posts made with one of these tokens are held, and the
    subscriptions made with one are disabled.
    """

    #: `token_revoked` or `collaborator_removed`
    reason: str
    #: The revoked token and the tokens that it replaced; for a collaborator, every token ever issued for the brand.
    token_ids: tuple[str, ...]


class PostsHeld(Record, rename="camel"):
    """Queued posts of one brand are held because the person or token that made them lost access. `user_id` is the
    account's.
    """

    user_id: str
    brand_id: str
    #: `token_revoked` or `collaborator_removed`
    reason: LostAccess
    made_by: Maker
    post_ids: tuple[str, ...]


class HoldEnded(Record):
    """Somebody released or cancelled held posts of one brand, which had all been made by the same person or token. The
    event is for the brand's audit log.
    """

    brand_id: str
    #: released or cancelled
    outcome: str
    by: Maker
    #: Who made the posts before they were held.
    made_by: Maker
    post_ids: tuple[str, ...]


class DisabledWebhook(Record):
    id: str
    name: str


class WebhooksDisabled(Record, rename="camel"):
    """Subscriptions were disabled because the person or token that made them lost access.

    `user_id` is the account's.
    """

    user_id: str
    #: `token_revoked` or `collaborator_removed`
    reason: LostAccess
    made_by: Maker
    webhooks: tuple[DisabledWebhook, ...]


class WebhookTest(Record, rename="camel"):
    """The test event of POST /webhooks/{id}/test."""

    user_id: str
    webhook_id: str


class UnitReturned(Record):
    """An operation gets back the unit of a monthly counter that it was charged, because its tries up to `try_number`
    had no effect and never will have one.
    """

    operation_id: str
    try_number: int = 1


class UnconfirmedUnit(Record):
    """A unit of a monthly counter that was charged to an operation. `try_number`: the number of the last try that was
    charged.
    """

    account_id: str
    operation_id: str
    try_number: int


class UnitsUnconfirmed(Record):
    """Units of monthly counters that were charged for calls which must have ended by now. The publishing service finds
    out which of the operations had no effect, and has their units refunded.
    """

    charges: tuple[UnconfirmedUnit, ...]


class UnitsUndecided(Record):
    """The answer to `UnitsUnconfirmed` about operations whose post or reply is still being sent or reconciled.

    The quota service asks about their units again later.
    """

    charges: tuple[UnconfirmedUnit, ...]


class Route(Record):
    """The sender and receivers of an event. A broadcast goes to every running gateway process and is not stored."""

    sender: str
    receivers: tuple[str, ...] = ()
    broadcast: bool = False
    #: The event is sent straight to the receivers' queues, through the default exchange. For an event that the previous
    #: release does not know: during an upgrade the broker has no binding for it yet, and the sender no permission.
    #: Remove the mark in the next release.
    straight: bool = False


EVENTS: dict[str, Route] = {
    "post.published": Route(sender="publishing", receivers=("webhooks",)),
    "post.failed": Route(sender="publishing", receivers=("webhooks",)),
    "comment.received": Route(sender="publishing", receivers=("webhooks",)),
    "comment.replied": Route(sender="publishing", receivers=("webhooks",)),
    "first_comment.failed": Route(sender="publishing", receivers=("webhooks",)),
    "page.expired": Route(sender="publishing", receivers=("webhooks",)),
    "page.connect.refused": Route(sender="publishing", receivers=("webhooks", "accounts")),
    "account.quota.warning": Route(sender="quota", receivers=("webhooks",)),
    "account.credits.adjusted": Route(sender="ai", receivers=("webhooks",)),
    "post.media": Route(sender="publishing", receivers=("media",)),
    "ai.job.completed": Route(sender="ai", receivers=("webhooks",)),
    "ai.job.failed": Route(sender="ai", receivers=("webhooks",)),
    "unit.returned": Route(sender="publishing", receivers=("quota",)),
    "units.unconfirmed": Route(sender="quota", receivers=("publishing",)),
    "units.undecided": Route(sender="publishing", receivers=("quota",)),
    "account.changed": Route(sender="accounts", receivers=("webhooks",)),
    "access.revoked": Route(sender="accounts", receivers=("publishing", "webhooks")),
    "brand.renamed": Route(sender="accounts", receivers=("publishing",), straight=True),
    "posts.held": Route(sender="publishing", receivers=("webhooks", "accounts")),
    "posts.hold.ended": Route(sender="publishing", receivers=("accounts",)),
    "webhooks.disabled": Route(sender="webhooks", receivers=("webhooks", "accounts")),
    "caller.changed": Route(sender="accounts", broadcast=True),
}

#: What `data` holds in the events that clients receive.
CLIENT_EVENTS: dict[str, type[Record]] = {
    "post.published": PostPublished,
    "post.failed": PostFailed,
    "comment.received": CommentReceived,
    "comment.replied": CommentReplied,
    "first_comment.failed": FirstCommentFailed,
    "page.expired": PageExpired,
    "page.connect.refused": ConnectRefused,
    "account.quota.warning": QuotaWarning,
    "account.credits.adjusted": CreditsAdjusted,
    "ai.job.completed": JobCompleted,
    "ai.job.failed": JobFailed,
    "posts.held": PostsHeld,
    "webhooks.disabled": WebhooksDisabled,
    "webhook.test": WebhookTest,
}
