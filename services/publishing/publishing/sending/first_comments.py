"""Makes first comments after their post is published, once each. If one fails, its post stays published.

A first comment takes the same steps as a post: claim, begin, call, record. If its outcome is unknown, it is looked up
under the post before another try.
"""

from functools import partial
from typing import NamedTuple

import structlog

from chassis.bus import outbox
from chassis.db.leases import local_deadline
from chassis.runtime.pool import Task
from chassis.telemetry import tracing
from contracts.errors import (
    NOT_FOUND,
    PAGE_EXPIRED,
    PLATFORM_ERROR,
    PLATFORM_OUTCOME_UNKNOWN,
    PLATFORM_REJECTED,
    UNSUPPORTED_PLATFORM,
)
from contracts.events import FirstCommentFailed
from contracts.platforms import DAY_SECONDS
from contracts.publishing import PostError
from publishing.config import LONGEST_CALL_SECONDS
from publishing.context import AppContext
from publishing.pages.renewal import effective_refusal
from publishing.platforms.base import NotConnected, OpenComment, OutcomeUnknown, PlatformRefusal, Refusal
from publishing.platforms.http_client import permission_until
from publishing.records import PageRow, Post
from publishing.rules.content import storable
from publishing.rules.retries import wait_before_next
from publishing.sending.reconciliation_waits import wait_after_failure, wait_before_next_look_up
from publishing.store.comments import Comments, FirstComment
from publishing.store.pages import Pages

log = structlog.get_logger()

#: The two calls that a first comment or its look-up takes at most, and 20 s for the database.
_LEASE_SECONDS = 2 * LONGEST_CALL_SECONDS + 20.0
_UNLINKED = PostError(
    code=NOT_FOUND.code, message="The page was unlinked before the first comment was written."
)
_NOT_THERE = PostError(
    code=PLATFORM_ERROR.code,
    message="The platform gave no usable answer, and the comment is not under the post. Write it yourself.",
)
_UNKNOWN = PostError(
    code=PLATFORM_OUTCOME_UNKNOWN.code,
    message="The platform has not shown for a day whether the comment was written. Look under the post.",
)


class _Step(NamedTuple):
    """The next state of a first comment, the seconds until it is handled again, and the error if it failed."""

    state: str
    wait_seconds: float = 0.0
    error: PostError | None = None


def send_first_comments(app: AppContext) -> int:
    """Claims due first comments and starts making them. Returns how many it claimed."""
    return app.side.fill("first comments", partial(_claim, app))


def _claim(app: AppContext, places: int) -> list[Task]:
    with app.database.transaction() as connection:
        claimed = Comments(connection).claim_first_comments(places, _LEASE_SECONDS)
        pages = Pages(connection).many([first.post.page_id for first in claimed])
    return [partial(run, app, pages[first.post.page_id], first) for first in claimed]


def run(app: AppContext, page: PageRow, first: FirstComment) -> None:
    """Makes one first comment, or looks it up, and stores the outcome."""
    post = first.post
    deadline = local_deadline(_LEASE_SECONDS)
    if post.comment_state == "sending":
        begun = _begin(app, post)
        if begun is None:
            log.warning("claim_lost", post_id=post.id)
            return
        page = begun
    named = {"post_id": post.id, "platform": post.platform}
    with tracing.working("first comment", post.traceparent, "publishing", post.account_id, **named):
        step = (
            _make(app, page, post, deadline) if post.comment_state == "sending" else _look(app, page, first)
        )
        with app.database.transaction() as connection:
            is_ours = Comments(connection).end_first_comment(post, *step)
            if is_ours and step.error is not None:
                outbox.stage(
                    connection,
                    "first_comment.failed",
                    FirstCommentFailed(
                        user_id=post.account_id,
                        brand_id=post.brand_id,
                        page_id=post.page_id,
                        post_id=post.id,
                        error=step.error,
                    ),
                    account_id=post.account_id,
                    brand_id=post.brand_id,
                )
    log.info("first_comment", post_id=post.id, state=step.state)


def _begin(app: AppContext, post: Post) -> PageRow | None:
    """Stores that the call for a first comment begins. Returns the page as it is now; it cannot be unlinked before
    the outcome is stored.

    The lease starts anew here. Returns None when the claim was lost.
    """
    with app.database.transaction() as connection:
        page, _ = Pages(connection).lock_with_time(post.page_id)
        return page if Comments(connection).begin_first_comment(post, _LEASE_SECONDS) else None


def _make(app: AppContext, page: PageRow, post: Post, deadline: float) -> _Step:
    """Makes the first comment, unless the deadline has passed or the page is unlinked."""
    if page.unlinked_at is not None:
        return _Step("failed", error=_UNLINKED)
    try:
        connector, account = app.connection_to(page)
        with permission_until(deadline):
            connector.comment(account, post.remote_id or "", post.first_comment or "")
    except PlatformRefusal as first:
        refusal = effective_refusal(app, page, first)
        wait = wait_before_next(post.comment_attempts, refusal.wait_seconds) if refusal.retryable else None
        log.warning("first_comment_refused", post_id=post.id, code=refusal.code, wait_seconds=wait)
        return _Step("failed", error=_refused(refusal)) if wait is None else _Step("due", wait)
    except NotConnected as problem:
        return _Step("failed", error=PostError(code=UNSUPPORTED_PLATFORM.code, message=str(problem)))
    except OutcomeUnknown:
        return _Step("unknown", app.settings.reconcile_first_seconds)
    except Exception:
        log.exception("first_comment_failed_unforeseen", post_id=post.id)
        return _Step("unknown", app.settings.reconcile_first_seconds)
    return _Step("done")


def _refused(refusal: PlatformRefusal) -> PostError:
    code = PAGE_EXPIRED if refusal.kind is Refusal.EXPIRED else PLATFORM_REJECTED
    return PostError(code=code.code, message=storable(f"{refusal.message} ({refusal.code})"))


def _look(app: AppContext, page: PageRow, first: FirstComment) -> _Step:
    """Looks for the first comment under its post.

    If the comment is not there after the settle time, it may be made again.
    """
    post = first.post
    assert post.comment_began_at is not None
    try:
        connector, account = app.connection_to(page)
        found = connector.find_comment(
            OpenComment(account, post.remote_id or "", post.first_comment or "", post.comment_began_at)
        )
    except Exception as problem:  # noqa: BLE001 - `wait_after_failure` logs it
        wait = wait_after_failure(app, page, problem, first.began_seconds, post_id=post.id)
        is_over = first.began_seconds > DAY_SECONDS
        return _Step("failed", error=_UNKNOWN) if is_over else _Step("unknown", wait)
    if found is not None:
        return _Step("done")
    if first.began_seconds < app.settings.reconcile_settle_seconds:
        return _Step("unknown", wait_before_next_look_up(app, first.began_seconds))
    again = wait_before_next(post.comment_attempts)
    return _Step("failed", error=_NOT_THERE) if again is None else _Step("due")
