"""Platforms' own calls about new comments: checked, taken in, and answered once they are stored.

What a call leaves out (Instagram does not say when) is asked for later, by a loop: the row waits. A platform that does
not answer, or no longer knows the comment, is not waited for long: it is told as the call said.
"""

import hmac
import zlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from chassis.runtime.loops import wake
from chassis.telemetry import tracing
from contracts import publishing as api
from contracts.errors import HOOK_REFUSED, INVALID_JSON, NOT_FOUND, PAYLOAD_TOO_LARGE, ApiError
from contracts.record import Nothing
from publishing.comments.received import take_in
from publishing.context import House
from publishing.pages.connection import connection_to
from publishing.pages.refusals import note_refusal
from publishing.platforms.base import NotConnected, PlatformRefusal, Refusal, RemoteComment
from publishing.platforms.hooks import HookComment, Hooks, NoHook
from publishing.platforms.registry import PLUGINS, PUSHED
from publishing.records import PageRow, Post
from publishing.store import Connection
from publishing.store.pages import Pages
from publishing.store.posts import Posts
from publishing.store.received import Received, WaitingComment
from publishing.task_pool import Task

log = structlog.get_logger()

#: Waits between looks at a comment whose platform fails; after the last it is told as the call said. Our choice.
_LOOK_WAITS_SECONDS = (2.0, 10.0, 30.0)
#: Longer than one call to the platform can take: connect 5 s, read 30 s. Our choice.
_LEASE_SECONDS = 60.0


def verify(house: House, request: api.VerifyHook) -> Nothing:
    """A platform asks whether the address is ours. Raises NOT_FOUND, HOOK_REFUSED."""
    hooks, settings = _hooks(house, _platform(request.platform))
    expected = hooks.verify_token(settings)
    fits = hmac.compare_digest(request.token.encode("utf-8", "replace"), expected.encode())
    if request.mode != "subscribe" or not expected or not fits:
        raise ApiError(HOOK_REFUSED)
    return Nothing()


def receive(house: House, request: api.ReceiveHook) -> Nothing:
    """Takes in a call: everything in it is stored when this returns. Raises NOT_FOUND, HOOK_REFUSED, INVALID_JSON."""
    platform = _platform(request.platform)
    body = _inflated(request.deflated_body)
    hooks, settings = _hooks(house, platform)
    if not hooks.is_signed(settings, body, request.signature):
        raise ApiError(HOOK_REFUSED)
    try:
        told = hooks.comments_in(body)
    except NoHook as error:
        raise ApiError(INVALID_JSON) from error
    if told:
        _store(house, platform, told)
    return Nothing()


def finish_comments(house: House) -> int:
    """One tick: claims comments that wait for the rest of what is to be told, and starts asking; how many."""
    return house.polling.fill("waiting comments", partial(_claim, house))


def _claim(house: House, places: int) -> list[Task]:
    with house.database.transaction() as connection:
        waiting = Received(connection).claim_waiting(places, _LEASE_SECONDS)
        posts = Posts(connection).many([row.post_id for row in waiting])
        pages = Pages(connection).many([post.page_id for post in posts.values()])
    rows = [(posts[row.post_id], row) for row in waiting]
    return [partial(finish, house, pages[post.page_id], post, row) for post, row in rows]


def finish(house: House, page: PageRow, post: Post, row: WaitingComment) -> None:
    """Asks for one comment and tells of it."""
    with tracing.working("finish comment", row.traceparent, "publishing", page.account_id, post_id=post.id):
        comment, wait_seconds = _look(house, page, row)
        with house.database.transaction() as connection:
            if wait_seconds is None:
                take_in(connection, page, post, [comment])
            else:
                Received(connection).put_off(row.id, wait_seconds)
    wake("finish_comments")  # there may be more than could be claimed


def _platform(name: str) -> str:
    if name not in PUSHED:
        raise ApiError(NOT_FOUND)
    return PUSHED[name]


def _hooks(house: House, platform: str) -> tuple[Hooks, Any]:
    """A platform's, and its settings."""
    hooks = PLUGINS[platform].hooks
    assert hooks is not None
    return hooks, house.settings.platforms[platform]


def _inflated(deflated: bytes) -> bytes:
    """Raises ApiError INVALID_JSON, PAYLOAD_TOO_LARGE."""
    stream = zlib.decompressobj()
    try:
        body = stream.decompress(deflated, api.MAX_HOOK_BYTES + 1)
    except zlib.error as error:
        raise ApiError(INVALID_JSON) from error
    if len(body) > api.MAX_HOOK_BYTES:
        raise ApiError(PAYLOAD_TOO_LARGE)
    return body


def _store(house: House, platform: str, told: Iterable[HookComment]) -> None:
    """All of it in one transaction; posts that are not ours are passed over."""
    places: defaultdict[tuple[str, str], dict[str, HookComment]] = defaultdict(dict)
    for one in told:
        places[one.account_id, one.post_id].setdefault(one.comment.id, one)
    with house.database.transaction() as connection:
        posts = Received(connection).posts_of(platform, places)
        pages = Pages(connection).many([post.page_id for post in posts])
        for post in posts:
            page = pages[post.page_id]
            _take(connection, page, post, places[page.remote_account_id, post.remote_id or ""].values())
    log.info("hook_received", platform=platform, comments=sum(map(len, places.values())), posts=len(posts))
    wake("finish_comments")


def _take(connection: Connection, page: PageRow, post: Post, told: Iterable[HookComment]) -> None:
    whole: list[RemoteComment] = []
    partly: list[RemoteComment] = []
    for one in told:
        # Of the page's own nothing is told: nothing more need be known.
        is_enough = one.is_whole or one.comment.author_id == page.remote_account_id
        (whole if is_enough else partly).append(one.comment)
    Received(connection).wait(post.id, partly)
    take_in(connection, page, post, whole)


def _look(house: House, page: PageRow, row: WaitingComment) -> tuple[RemoteComment, float | None]:
    """The comment as it is to be told; or how long to wait before the next look."""
    said = row.comment
    if row.is_closed:
        return said, None
    try:
        connector, account = connection_to(house, page)
        found = connector.read_comment(account, row.remote_id)
    except PlatformRefusal as refusal:
        note_refusal(house, page, refusal)
        # A page that is limited is left alone, and its visitors' words are not held back for a timestamp.
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
