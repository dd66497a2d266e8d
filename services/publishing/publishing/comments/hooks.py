"""Receives the platforms' webhooks about new comments: checks them, stores their comments, then answers.

If a webhook leaves a detail out (Instagram omits the time), a worker loop first reads the comment from the platform,
and then sends the event comment.received. If the platform does not answer soon, or no longer knows the comment, the
event has only what the webhook contained.
"""

import hmac
import zlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from chassis.runtime.pool import Task
from chassis.telemetry import tracing
from contracts import publishing as api
from contracts.errors import HOOK_REFUSED, INVALID_JSON, NOT_FOUND, PAYLOAD_TOO_LARGE, ApiError
from contracts.record import Nothing
from publishing.comments.received import store_comments
from publishing.context import COMMENT_DETAILS, AppContext
from publishing.pages.refusals import note_refusal
from publishing.platforms.base import NotConnected, PlatformRefusal, Refusal, RemoteComment
from publishing.platforms.hooks import HookComment, Hooks, NoHook
from publishing.platforms.registry import PLUGINS, PUSHED
from publishing.records import PageRow, Post
from publishing.store import Connection
from publishing.store.pages import Pages
from publishing.store.posts import Posts
from publishing.store.received import Received, WaitingComment

log = structlog.get_logger()

#: Waits between tries to read a comment. After the last one the event is sent with what the webhook said, so the waits
#: bound the event's delay.
_LOOK_WAITS_SECONDS = (2.0, 10.0, 30.0)
#: Longer than one call to the platform takes: connect 5 s, read 30 s.
_LEASE_SECONDS = 60.0


def verify(app: AppContext, request: api.VerifyHook) -> Nothing:
    """Confirms a platform's subscription to the webhook address. Raises NOT_FOUND for an unknown platform, and
    HOOK_REFUSED for a wrong token, or if no token is configured.
    """
    hooks, settings = _hooks(app, _platform(request.platform))
    expected = hooks.verify_token(settings)
    fits = hmac.compare_digest(request.token.encode("utf-8", "replace"), expected.encode())
    if request.mode != "subscribe" or not expected or not fits:
        raise ApiError(HOOK_REFUSED)
    return Nothing()


def receive(app: AppContext, request: api.ReceiveHook) -> Nothing:
    """Checks a platform's webhook and stores its comments.

    Raises NOT_FOUND for an unknown platform, HOOK_REFUSED for a wrong signature, and INVALID_JSON or PAYLOAD_TOO_LARGE
    for a bad body.
    """
    platform = _platform(request.platform)
    body = _inflated(request.deflated_body)
    hooks, settings = _hooks(app, platform)
    if not hooks.is_signed(settings, body, request.signature):
        raise ApiError(HOOK_REFUSED)
    try:
        told = hooks.comments_in(body)
    except NoHook as error:
        raise ApiError(INVALID_JSON) from error
    if told:
        _store(app, platform, told)
    return Nothing()


def finish_comments(app: AppContext) -> int:
    """Claims comments whose webhook left a detail out, and starts reading them from the platform. Returns how many it
    claimed.
    """
    return app.polling.fill("waiting comments", partial(_claim, app))


def _claim(app: AppContext, places: int) -> list[Task]:
    with app.database.transaction() as connection:
        waiting = Received(connection).claim_waiting(places, _LEASE_SECONDS)
        posts = Posts(connection).many([row.post_id for row in waiting])
        pages = Pages(connection).many([post.page_id for post in posts.values()])
    rows = [(posts[row.post_id], row) for row in waiting]
    return [partial(finish, app, pages[post.page_id], post, row) for post, row in rows]


def finish(app: AppContext, page: PageRow, post: Post, row: WaitingComment) -> None:
    """Reads the details of one comment from the platform and stages the event comment.received. After a temporary
    failure stores when to try again."""
    with tracing.working("finish comment", row.traceparent, "publishing", page.account_id, post_id=post.id):
        comment, wait_seconds = _look(app, page, row)
        with app.database.transaction() as connection:
            if wait_seconds is None:
                store_comments(connection, page, post, [comment])
            else:
                Received(connection).put_off(row.id, wait_seconds)
    COMMENT_DETAILS.wake()  # more may wait than could be claimed


def _platform(name: str) -> str:
    if name not in PUSHED:
        raise ApiError(NOT_FOUND)
    return PUSHED[name]


def _hooks(app: AppContext, platform: str) -> tuple[Hooks, Any]:
    """Returns the functions that read a platform's webhooks, and the platform's settings."""
    hooks = PLUGINS[platform].hooks
    assert hooks is not None
    return hooks, app.settings.platforms[platform]


def _inflated(deflated: bytes) -> bytes:
    """Decompresses the body of a webhook. Raises INVALID_JSON if it is damaged, and PAYLOAD_TOO_LARGE if it is too
    long.
    """
    stream = zlib.decompressobj()
    try:
        body = stream.decompress(deflated, api.MAX_HOOK_BYTES + 1)
    except zlib.error as error:
        raise ApiError(INVALID_JSON) from error
    if len(body) > api.MAX_HOOK_BYTES:
        raise ApiError(PAYLOAD_TOO_LARGE)
    return body


def _store(app: AppContext, platform: str, told: Iterable[HookComment]) -> None:
    """Stores the comments of one webhook in one transaction. Ignores comments on posts that Posthaste did not make."""
    places: defaultdict[tuple[str, str], dict[str, HookComment]] = defaultdict(dict)
    for one in told:
        places[one.account_id, one.post_id].setdefault(one.comment.id, one)
    with app.database.transaction() as connection:
        posts = Received(connection).posts_of(platform, places)
        pages = Pages(connection).many([post.page_id for post in posts])
        for post in posts:
            page = pages[post.page_id]
            _take(connection, page, post, places[page.remote_account_id, post.remote_id or ""].values())
    log.info("hook_received", platform=platform, comments=sum(map(len, places.values())), posts=len(posts))
    COMMENT_DETAILS.wake()


def _take(connection: Connection, page: PageRow, post: Post, told: Iterable[HookComment]) -> None:
    whole: list[RemoteComment] = []
    partly: list[RemoteComment] = []
    for one in told:
        # The page's own comments have no event, so their details do not matter.
        is_enough = one.is_whole or one.comment.author_id == page.remote_account_id
        (whole if is_enough else partly).append(one.comment)
    Received(connection).wait(post.id, partly)
    store_comments(connection, page, post, whole)


def _look(app: AppContext, page: PageRow, row: WaitingComment) -> tuple[RemoteComment, float | None]:
    """Reads a comment's details from the platform. Returns the comment for its event, and the seconds until another
    try.

    The seconds are None if no other try follows: after a success, or if another try would not help. After a failure the
    comment is as its webhook described it.
    """
    said = row.comment
    if row.is_closed:
        return said, None
    try:
        connector, account = app.connection_to(page)
        found = connector.read_comment(account, row.remote_id)
    except PlatformRefusal as refusal:
        note_refusal(app, page, refusal)
        # Only a temporary failure is tried again: events do not wait for a timestamp while the page is rate-limited.
        return said, _wait_after(row.looks) if refusal.kind is Refusal.TRANSIENT else None
    except NotConnected:
        return said, None
    except Exception:
        log.exception("comment_look_failed_unforeseen", comment_id=row.id)
        return said, _wait_after(row.looks)
    named = found if found.author_id else replace(found, author_id=said.author_id)
    return named, None


def _wait_after(looks: int) -> float | None:
    return _LOOK_WAITS_SECONDS[looks - 1] if looks <= len(_LOOK_WAITS_SECONDS) else None
