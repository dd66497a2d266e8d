"""The first comment under a post of ours: a step of its own that never fails the post and is never doubled.

claim → begin → call → record, like a post: a call whose outcome is unknown is looked up under the post before it is
repeated.
"""

from functools import partial

import structlog

from chassis.db.leases import local_deadline
from chassis.telemetry import tracing
from contracts.platforms import DAY_SECONDS
from publishing.config import LONGEST_CALL_SECONDS
from publishing.context import House
from publishing.pages.connection import connection_to
from publishing.pages.renewal import softened
from publishing.platforms.base import NotConnected, OpenComment, OutcomeUnknown, PlatformRefusal
from publishing.platforms.permission import permission_until
from publishing.records import PageRow, Post
from publishing.rules.retries import wait_before_next
from publishing.sending.reconciliation_waits import look_failed, next_look
from publishing.store.comments import Comments, FirstComment
from publishing.store.pages import Pages
from publishing.task_pool import Task

log = structlog.get_logger()

#: Longer than a first comment or a look for it takes: at most two calls. Our choice.
_LEASE_SECONDS = 2 * LONGEST_CALL_SECONDS + 20.0


def send_first_comments(house: House) -> int:
    """One tick: claims first comments and starts them; how many."""
    return house.side.fill("first comments", partial(_claim, house))


def _claim(house: House, places: int) -> list[Task]:
    with house.database.transaction() as connection:
        claimed = Comments(connection).claim_first_comments(places, _LEASE_SECONDS)
        pages = Pages(connection).many([first.post.page_id for first in claimed])
    return [partial(run, house, pages[first.post.page_id], first) for first in claimed]


def run(house: House, page: PageRow, first: FirstComment) -> None:
    """Makes or looks up one first comment and records the outcome."""
    post = first.post
    deadline = local_deadline(_LEASE_SECONDS)
    if post.comment_state == "sending":
        begun = _begin(house, post)
        if begun is None:
            log.warning("claim_lost", post_id=post.id)
            return
        page = begun
    named = {"post_id": post.id, "platform": post.platform}
    with tracing.working("first comment", post.traceparent, "publishing", post.account_id, **named):
        state, wait = (
            _make(house, page, post, deadline)
            if post.comment_state == "sending"
            else _look(house, page, first)
        )
        with house.database.transaction() as connection:
            Comments(connection).end_first_comment(post, state, wait)
    log.info("first_comment", post_id=post.id, state=state)


def _begin(house: House, post: Post) -> PageRow | None:
    """The page as it is now: nobody unlinks it before the outcome is recorded. None when the claim is over.

    The call has its whole lease before it, however late it comes.
    """
    with house.database.transaction() as connection:
        page, _ = Pages(connection).lock_with_time(post.page_id)
        return page if Comments(connection).begin_first_comment(post, _LEASE_SECONDS) else None


def _make(house: House, page: PageRow, post: Post, deadline: float) -> tuple[str, float]:
    """(state, wait) after the one call, which is not sent past the deadline. A page that was unlinked gets none."""
    if page.unlinked_at is not None:
        return "failed", 0.0
    try:
        connector, account = connection_to(house, page)
        with permission_until(deadline):
            connector.comment(account, post.remote_id or "", post.first_comment or "")
    except PlatformRefusal as first:
        refusal = softened(house, page, first)
        wait = wait_before_next(post.comment_attempts, refusal.wait_seconds) if refusal.retryable else None
        log.warning("first_comment_refused", post_id=post.id, code=refusal.code, wait_seconds=wait)
        return ("failed", 0.0) if wait is None else ("due", wait)
    except NotConnected:
        return "failed", 0.0
    except OutcomeUnknown:
        return "unknown", house.settings.reconcile_first_seconds
    except Exception:
        log.exception("first_comment_failed_unforeseen", post_id=post.id)
        return "unknown", house.settings.reconcile_first_seconds
    return "done", 0.0


def _look(house: House, page: PageRow, first: FirstComment) -> tuple[str, float]:
    """(state, wait) after a look under the post. Not there once settled: it may be made again."""
    post = first.post
    assert post.comment_began_at is not None
    try:
        connector, account = connection_to(house, page)
        found = connector.find_comment(
            OpenComment(account, post.remote_id or "", post.first_comment or "", post.comment_began_at)
        )
    except Exception as problem:  # noqa: BLE001 - `look_failed` logs it
        wait = look_failed(house, page, problem, first.began_seconds, post_id=post.id)
        return ("failed", 0.0) if first.began_seconds > DAY_SECONDS else ("unknown", wait)
    if found is not None:
        return "done", 0.0
    if first.began_seconds < house.settings.reconcile_settle_seconds:
        return "unknown", next_look(house, first.began_seconds)
    again = wait_before_next(post.comment_attempts)
    return ("failed", 0.0) if again is None else ("due", 0.0)
