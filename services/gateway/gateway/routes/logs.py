"""The request log of an account, and its number of requests per day. Both are stored by the gateway."""

from datetime import datetime
from operator import attrgetter
from typing import Annotated, Literal

from msgspec import Meta

from chassis.cursor import decode_position, one_page
from contracts import publishing, webhooks
from contracts.errors import BRAND_NOT_AUTHORIZED, NOT_FOUND, ApiError
from contracts.publishing import Limit
from contracts.record import Record
from gateway.endpoint import endpoint
from gateway.exchange import Exchange
from gateway.request_log.store import Criteria, Found

Word = Annotated[str, Meta(min_length=1, max_length=128)]
#: Requests with the same id that are shown together: a client that repeats a request with its id.
_MOST_ENTRIES = 20


class LogQuery(Record):
    #: Requests made with this token.
    token_id: Word | None = None
    #: The operationId, such as publishPost.
    operation: Word | None = None
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] | None = None
    status: Annotated[int, Meta(ge=100, le=599)] | None = None
    #: The code of the error, such as RATE_LIMITED.
    code: Word | None = None
    #: The X-Request-Id of the answer.
    request_id: Word | None = None
    #: Only requests that were refused or failed: with a status of 400 or more.
    errors_only: bool = False
    #: Without the requests of people who are signed in, such as those of the dashboard.
    tokens_only: bool = False
    #: Not before this time.
    since: datetime | None = None
    #: Before this time.
    until: datetime | None = None
    limit: Limit = 50
    cursor: str | None = None


class LogEntry(Record):
    id: str
    #: When the request was answered.
    created_at: datetime
    token_id: str
    method: str
    #: The path with placeholders instead of ids.
    path: str
    #: The operationId, such as publishPost.
    operation: str
    status: int
    #: The code of the error, if the request was refused or failed.
    code: str | None
    request_id: str
    #: Milliseconds from the request's head to its answer.
    duration_ms: int
    #: Whether the answer was that of an earlier request with the same Idempotency-Key.
    replayed: bool


class RequestLogList(Record):
    entries: tuple[LogEntry, ...]
    next_cursor: str | None


class RequestPath(Record):
    request_id: Word


class RequestDetails(Record):
    """The requests that were sent with one request id, and the posts and webhook deliveries that followed."""

    #: Newest first, at most 20: one, unless the client sent the same X-Request-Id again.
    entries: tuple[LogEntry, ...]
    #: The posts that the requests made, changed, retried or replied to, newest first and at most 100. Null for a token
    #: without read:posts.
    posts: tuple[publishing.PostOfRequest, ...] | None
    #: The webhook deliveries of these posts' events, and the tests and replays that the requests asked for, oldest
    #: first and at most 100. Null for a token without manage:webhooks.
    deliveries: tuple[webhooks.FoundDelivery, ...] | None


class UsageQuery(Record):
    #: How many days, today included.
    days: Annotated[int, Meta(ge=1, le=366)] = 30


class DayOfUse(Record):
    #: The UTC day, such as 2026-11-26.
    date: str
    #: All requests with a valid token, refused ones too.
    requests: int
    reads: int
    writes: int
    #: Accepted requests that published or scheduled.
    publishes: int
    #: Accepted replies to comments.
    replies: int
    #: Requests that were answered with 4xx.
    refused: int
    #: Requests that were answered with 5xx.
    failed: int


class DailyUsage(Record):
    days: tuple[DayOfUse, ...]


@endpoint("GET", "/account/usage", scope="read:account", meter="reads", errors=(BRAND_NOT_AUTHORIZED,))
def get_usage(exchange: Exchange, request: UsageQuery) -> DailyUsage:
    """Get the number of requests of each day, today first; days are in UTC."""
    _check_reach(exchange)
    days = exchange.services.request_log.days(exchange.caller.account_id, request.days)
    return DailyUsage(days=tuple(DayOfUse.made_from(day, date=day.day.isoformat()) for day in days))


@endpoint(
    "GET", "/logs", scope="read:account", meter="reads", errors=(BRAND_NOT_AUTHORIZED,), is_logged=False
)
def list_logs(exchange: Exchange, request: LogQuery) -> RequestLogList:
    """List the requests of the account, newest first."""
    _check_reach(exchange)
    found = exchange.services.request_log.page(
        exchange.caller.account_id,
        Criteria.made_from(request),
        before=decode_position(request.cursor),
        limit=request.limit + 1,
    )
    shown, cursor = one_page(found, request.limit, attrgetter("at", "id"))
    return RequestLogList(entries=tuple(map(_entry, shown)), next_cursor=cursor)


@endpoint(
    "GET", "/logs/{request_id}", scope="read:account", meter="reads", errors=(NOT_FOUND, BRAND_NOT_AUTHORIZED),
    is_logged=False,
)  # fmt: skip
def get_log(exchange: Exchange, request: RequestPath) -> RequestDetails:
    """Get a request by its X-Request-Id, with its posts, their attempts and the webhook deliveries that followed."""
    _check_reach(exchange)
    caller, services = exchange.caller, exchange.services
    lines = services.request_log.of_request(caller.account_id, request.request_id, limit=_MOST_ENTRIES)
    if not lines:
        raise ApiError(NOT_FOUND)
    operation_ids = tuple({line.operation_id for line in lines if line.operation_id is not None})
    posts: tuple[publishing.PostOfRequest, ...] = ()
    deliveries: tuple[webhooks.FoundDelivery, ...] = ()
    sees_posts, sees_deliveries = caller.has_scope("read:posts"), caller.has_scope("manage:webhooks")
    if operation_ids and (sees_posts or sees_deliveries):
        asked = publishing.FindPosts(operation_ids=operation_ids)
        posts = exchange.ask(services.publishing.find_posts, asked).posts
        wanted = webhooks.FindDeliveries(
            post_ids=tuple(post.id for post in posts), operation_ids=operation_ids
        )
        if sees_deliveries:
            deliveries = exchange.ask(services.webhooks.find_deliveries, wanted).deliveries
    return RequestDetails(
        entries=tuple(map(_entry, lines)),
        posts=posts if sees_posts else None,
        deliveries=deliveries if sees_deliveries else None,
    )


def _entry(line: Found) -> LogEntry:
    return LogEntry.made_from(line, created_at=line.at)


def _check_reach(exchange: Exchange) -> None:
    """Raises BRAND_NOT_AUTHORIZED for a token limited to some brands: the log has the requests of all brands and
    tokens."""
    if exchange.caller.brand_ids is not None:
        raise ApiError(BRAND_NOT_AUTHORIZED)
