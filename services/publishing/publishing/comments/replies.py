"""Replies to comments: a reply is sent only once, even if the request is repeated. A reply with an unknown outcome is
looked up on the platform."""

from functools import partial
from typing import NamedTuple

import structlog

from chassis.bus import outbox
from chassis.db.leases import local_deadline
from chassis.db.operations import Operations, once
from chassis.runtime.pool import Task
from chassis.telemetry import tracing
from contracts import publishing as api
from contracts.caller import Caller
from contracts.errors import (
    NOT_FOUND,
    PLATFORM_OUTCOME_UNKNOWN,
    POST_IN_PROGRESS,
    UNSUPPORTED_PLATFORM,
    ApiError,
    invalid,
)
from contracts.events import CommentReplied
from contracts.platforms import DAY_SECONDS, PLATFORMS
from publishing.comments.comment_list import _check_platform
from publishing.config import LONGEST_CALL_SECONDS
from publishing.context import AppContext
from publishing.pages.expiry import expire, expiry_in
from publishing.pages.renewal import effective_refusal
from publishing.platforms.base import NotConnected, OpenComment, OutcomeUnknown, PlatformRefusal
from publishing.platforms.http_client import permission_until
from publishing.platforms.limits import comment_length
from publishing.platforms.registry import PLUGINS
from publishing.posts.answers import Answer
from publishing.posts.checks import check_may_comment, check_page
from publishing.posts.publish_now import rejected
from publishing.records import Expired, PageRow, Post, reached
from publishing.rules.content import check_text
from publishing.sending.reconciliation_waits import wait_after_failure, wait_before_next_look_up
from publishing.store import Connection
from publishing.store.comments import CommentRow, Comments, ReplyRow
from publishing.store.pages import Pages
from publishing.store.posts import Posts

log = structlog.get_logger()

#: The part of a reply's lease beyond its calls, for the database. A reply whose process died is looked up when its
#: lease ends.
_ROOM_SECONDS = 20.0
_LOOK_LEASE_SECONDS = 60.0


class _Sent(NamedTuple):
    """The outcome of a reply's call: done, failed (with the error for the client) or unknown."""

    state: str
    remote_id: str | None = None
    error: ApiError | None = None
    #: Set if the call showed that the page has expired.
    expired: Expired | None = None


def reply(
    app: AppContext, caller: Caller, request: api.ReplyToComment, answer: Answer | None = None
) -> api.Reply:
    """Replies to a comment, only once even if the request is repeated. Returns when the platform has answered. If that
    takes longer than `answer` allows, the call goes on, but the client gets PLATFORM_OUTCOME_UNKNOWN
    (`posts/answers.py`).

    Before anything is sent, raises NOT_FOUND, UNSUPPORTED_PLATFORM, VALIDATION_ERROR, PAGE_EXPIRED or
    PAGE_PERMISSION_MISSING. After the call of the platform, raises PLATFORM_REJECTED or PLATFORM_OUTCOME_UNKNOWN.
    Raises POST_IN_PROGRESS while the reply of an earlier request of the operation is being sent or looked up.
    """
    work = partial(_reply, app, caller, request, answer or Answer())
    return once(app.database, caller, work, partial(_repeat, app, caller))


def _reply(app: AppContext, caller: Caller, request: api.ReplyToComment, answer: Answer) -> api.Reply:
    with app.database.reading() as connection:
        page = reached(caller, Pages(connection).get(request.page_id))
        comment = Comments(connection).get(request.comment_id)
        post = Posts(connection).get(comment.post_id) if comment else None
    _check_platform(page)
    if comment is None or post is None or post.page_id != page.id:
        raise ApiError(NOT_FOUND, field="comment_id")
    _check_message(page, request.message)
    check_page(app, page)
    check_may_comment(app, page, "page_id")
    lease = _ROOM_SECONDS + LONGEST_CALL_SECONDS * PLUGINS[page.platform].reply_calls
    deadline = local_deadline(lease)
    with app.database.transaction() as connection:
        page, row = _begin(app, connection, caller, request, comment, lease)
    answer.post_id = post.id
    sent = _send(app, page, comment, row, deadline)
    ended = _record(app, page, post, row, sent)
    if sent.error is not None:
        raise sent.error
    if ended is None or sent.state == "unknown":
        raise ApiError(PLATFORM_OUTCOME_UNKNOWN, post_id=post.id)
    return _view(ended)


def look_up_replies(app: AppContext) -> int:
    """Starts looking up replies whose outcome is unknown. Returns how many look-ups it started."""
    return app.side.fill("replies", partial(_claim_replies, app))


def _claim_replies(app: AppContext, places: int) -> list[Task]:
    with app.database.transaction() as connection:
        claimed = Comments(connection).claim_replies(places, _LOOK_LEASE_SECONDS)
    return [partial(look_up, app, row) for row in claimed]


def look_up(app: AppContext, row: ReplyRow) -> None:
    """Looks for one reply under its comment on the platform, and stores the outcome.

    The reply has failed if it is not there after the settle time, or if look-ups still fail after a day. A repeated
    request may then send it again.
    """
    with tracing.working("look up reply", row.traceparent, "publishing", post_id=row.post_id):
        _look_up(app, row)


def _look_up(app: AppContext, row: ReplyRow) -> None:
    unknown_seconds = row.unknown_seconds or 0.0
    with app.database.reading() as connection:
        comments = Comments(connection)
        comment, post = comments.get(row.comment_id), Posts(connection).get(row.post_id)
        assert comment is not None
        assert post is not None
        page, known = Pages(connection).get(post.page_id), comments.remote_ids_of_replies(comment.id)
    assert page is not None
    state, remote_id, wait = "unknown", None, wait_before_next_look_up(app, unknown_seconds)
    try:
        connector, account = app.connection_to(page)
        remote_id = connector.find_reply(
            OpenComment(account, comment.remote_id, row.message, row.began_at, known)
        )
        if remote_id is not None:
            state = "done"
        elif unknown_seconds >= app.settings.reconcile_settle_seconds:
            state = "failed"
    except Exception as problem:  # noqa: BLE001 - `wait_after_failure` logs it
        state = "failed" if unknown_seconds >= DAY_SECONDS else "unknown"
        wait = wait_after_failure(app, page, problem, unknown_seconds, reply_id=row.id)
    with app.database.transaction() as connection:
        ended = Comments(connection).end_reply(row, state, remote_id=remote_id, wait_seconds=wait)
        if ended is not None and state == "done":
            _tell(connection, page, post, ended)


def _send(app: AppContext, page: PageRow, comment: CommentRow, row: ReplyRow, deadline: float) -> _Sent:
    """Sends the reply to the platform, unless the deadline has passed. Returns the outcome."""
    try:
        connector, account = app.connection_to(page)
        with permission_until(deadline):
            return _Sent("done", connector.reply(account, comment.remote_id, row.message))
    except NotConnected as problem:
        return _Sent("failed", error=ApiError(UNSUPPORTED_PLATFORM, str(problem), platform=page.platform))
    except PlatformRefusal as first:
        refusal = effective_refusal(app, page, first)
        expired = expiry_in(app, page, refusal)
        return _Sent("failed", None, app.expired(page.id) if expired else rejected(page, refusal), expired)
    except Exception as problem:
        if not isinstance(problem, OutcomeUnknown):
            log.exception("reply_failed_unforeseen", reply_id=row.id)
        return _Sent("unknown")


def _record(app: AppContext, page: PageRow, post: Post, row: ReplyRow, sent: _Sent) -> ReplyRow | None:
    """Stores the outcome of a reply with its event and returns the reply; None if the claim was lost.

    If the database is down, returns None, because a look-up finds the outcome later. Raises SERVICE_UNAVAILABLE instead
    if the reply was certainly not sent.
    """
    first, is_failed = app.settings.reconcile_first_seconds, sent.state == "failed"
    try:
        with app.database.transaction() as connection:
            ended = Comments(connection).end_reply(
                row, sent.state, remote_id=sent.remote_id, wait_seconds=first
            )
            if ended is not None and sent.state == "done":
                _tell(connection, page, post, ended)
            if sent.expired is not None:
                expire(connection, sent.expired)
    except ApiError:
        if is_failed:
            raise
        return None
    return ended


def _begin(
    app: AppContext,
    connection: Connection,
    caller: Caller,
    request: api.ReplyToComment,
    comment: CommentRow,
    lease_seconds: float,
) -> tuple[PageRow, ReplyRow]:
    """Stores the reply as claimed by this try. If an earlier reply of the operation has failed, claims that one
    instead. Returns the page and the reply.

    Raises Done if the operation has already made a reply, IDEMPOTENCY_IN_PROGRESS if this try may not write any more,
    NOT_FOUND for an unlinked page, and PAGE_EXPIRED for an expired one.
    """
    operations, comments = Operations(connection), Comments(connection)
    operation = operations.lock(caller)
    made = comments.get_reply(operation.result) if operation.result is not None else None
    operation.check(own=made.id if made is not None and made.state == "failed" else None)
    found, _ = Pages(connection).lock_with_time(request.page_id)
    page = reached(caller, found)
    check_page(app, page)
    row = comments.begin_reply(comment, request.message, caller.operation_id, lease_seconds)
    assert row is not None, "a reply that is being sent or done is the operation's result"
    operations.end(caller, row.id)
    return page, row


def _repeat(app: AppContext, caller: Caller, reply_id: str) -> api.Reply | None:
    """Returns the reply that an earlier request of the operation made; None if that reply has failed, so that it may be
    sent again. Raises POST_IN_PROGRESS while it is being sent or looked up."""
    with app.database.reading() as connection:
        row = Comments(connection).get_reply(reply_id)
        post = Posts(connection).get(row.post_id) if row is not None else None
    assert row is not None
    assert post is not None
    caller.check_reach(post.account_id, post.brand_id)
    if row.state == "done":
        return _view(row)
    if row.state == "failed":
        return None
    raise ApiError(POST_IN_PROGRESS, post_id=row.post_id)


def _view(row: ReplyRow) -> api.Reply:
    return api.Reply(id=row.id, parent_id=row.comment_id, message=row.message, created_at=row.created_at)


def _tell(connection: Connection, page: PageRow, post: Post, row: ReplyRow) -> None:
    data = CommentReplied(
        user_id=page.account_id, brand_id=page.brand_id, page_id=page.id, post_id=post.id, reply=_view(row)
    )
    outbox.stage(connection, "comment.replied", data, account_id=page.account_id, brand_id=page.brand_id)


def _check_message(page: PageRow, message: str) -> None:
    """Raises VALIDATION_ERROR if a reply is empty or longer than the platform allows."""
    check_text(message, "message")
    if not message.strip():
        raise invalid("message", "must not be empty")
    platform = PLATFORMS[page.platform]
    count = comment_length(platform.code, message)
    if count > platform.comment_limit:
        limit = f"at most {platform.comment_limit} characters"
        raise invalid("message", f"{platform.title} takes {limit}, these are {count}")
