"""The worker loop for due posts: claims the due posts of pages, sends them in order and records the outcomes.

Each page is a queue: one worker at a time sends its posts, in scheduled order. Any replica may claim any queue.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

import structlog
from msgspec.structs import replace

from chassis.db import clock
from chassis.telemetry import tracing
from contracts.errors import PAGE_EXPIRED, ApiError
from publishing import post_events
from publishing.context import DUE_POSTS
from publishing.records import PageRow, Post
from publishing.rules.guardrails import Plan, plan_queue
from publishing.sending import metrics
from publishing.sending.context import SendingContext
from publishing.sending.delivery import RECONNECT, deliver
from publishing.store import Connection
from publishing.store.page_queues import DueQueue, Locked, PageQueues
from publishing.store.sending import AttemptOutcome, Claim, Sending

log = structlog.get_logger()

#: Our code (decisions "A post found due more than 24 h late").
PUBLISH_WINDOW_MISSED = "PUBLISH_WINDOW_MISSED"
_MISSED = "The post was found due too late to be sent. Retry the post to send it now, or schedule it anew."
#: How long a tick waits for a third of the pool to be free, so that one claim serves many pages, and then for any
#: place. The first is a tenth of the second within which posts should go out; the second bounds an idle tick.
_GATHER_SECONDS, _TICK_SECONDS = 0.1, 2.0
#: How much longer than a lease an outage of the database may last until an outcome is given up and has to be looked up.
#: Waiting costs nothing: no client waits, and the claim holds until another process reaps this one. Our choice.
_OUTAGE_SECONDS = 100.0
#: How long a task waits for the lock of one brand: a schedule call holds it for milliseconds. Other brands are not
#: delayed.
_BRAND_SECONDS = 1.0


def publish_due_posts(app: SendingContext) -> int:
    """Claims the due posts of as many pages as the pool has free tasks, and starts sending them. Returns how many posts
    it claimed, put off or gave up; 1 if no task became free, so that the loop runs again at once.

    First waits for up to 0.1 s until a third of the pool is free, so that one claim serves many pages. If another
    transaction has locked a brand, a separate task claims the brand's posts as soon as the lock is free.
    """
    if not app.page_queues.wait_free(
        app.page_queues.size // 3, _GATHER_SECONDS
    ) and not app.page_queues.wait_free(1, _TICK_SECONDS):
        return 1
    claimed, settled, contended = _claim_due(app, app.page_queues.free)
    _start(app, claimed)
    for brand_id, page_ids in app.contended.in_turn(contended):
        if not app.is_stopping and app.brands.free and app.contended.begin(brand_id):
            app.brands.start(partial(_claim_contended, app, brand_id, page_ids))
    return sum(len(posts) for _, posts in claimed) + settled


#: A page, and its claimed posts in the order in which they are sent.
ClaimedQueue = tuple[PageRow, list[Post]]
#: Locks pages with due posts, in the transaction that claims the posts.
Lock = Callable[[PageQueues], Locked]


def claim_queues(app: SendingContext, count: int) -> tuple[list[ClaimedQueue], int]:
    """Claims the due posts of up to `count` pages, in one transaction. Pages of brands that another transaction has
    locked are skipped.

    Returns the claimed pages with their posts, and how many posts it put off or gave up.
    """
    claimed, settled, _ = _claim_due(app, count)
    return claimed, settled


def _claim_due(app: SendingContext, count: int) -> tuple[list[ClaimedQueue], int, dict[str, list[str]]]:
    """Claims the due posts of up to `count` pages. Returns the pages with their claimed posts, the number of posts put
    off or given up, and, by brand, the ids of the pages that were left out because another transaction locked the
    brand."""
    per_queue = app.settings.posts_per_queue
    return _claim(app, lambda queues: queues.lock_due(count, per_queue))


def _claim_contended(app: SendingContext, brand_id: str, page_ids: Sequence[str]) -> None:
    """Claims the due posts of a brand as soon as the brand's lock is free, so that frequent schedule calls do not keep
    the brand from sending. Waits for the lock for a second at most.

    If the lock or a task of the pool is not free by then, nothing is claimed; the loop tries the brand again.
    """

    def lock(queues: PageQueues) -> Locked:
        queues.wait_for_brand(brand_id, _BRAND_SECONDS)
        free = app.page_queues.free
        return queues.lock_pages(page_ids, min(max(free // 4, 1), free), app.settings.posts_per_queue)

    try:
        claimed, _, _ = _claim(app, lock)
        _start(app, claimed)
    except ApiError as error:
        log.warning("brand_is_locked", brand_id=brand_id, pages=len(page_ids), reason=error.message)
    finally:
        app.contended.end(brand_id)


def _start(app: SendingContext, claimed: Sequence[ClaimedQueue]) -> None:
    for page, posts in claimed:
        app.page_queues.start(partial(send_queue, app, page, posts))


def _claim(app: SendingContext, lock: Lock) -> tuple[list[ClaimedQueue], int, dict[str, list[str]]]:
    """Claims the due posts of the pages that `lock` finds and locks. Returns the same values as `_claim_due`."""
    with app.outcomes.claiming() as (connection, note):
        due, contended = lock(PageQueues(connection))
        if not due:
            return [], 0, contended
        now = clock.now(connection)
        plans = _plan(app, PageQueues(connection), due, now)
        _settle(connection, due, plans)
        sent = [post_id for plan in plans.values() for post_id in plan.send]
        found = Sending(connection).take(sent, app.lease.lock(connection))
        taken = [post for post in found if post.state == "sending"]
        if len(taken) < len(found):
            post_events.stage_held(connection, [post for post in found if post.state == "held"])
        note(*(Claim(post.id, post.fence) for post in taken))
        metrics.note_taken(due, taken, now)
        queue_of: dict[str, list[Post]] = {}
        for post in sorted(taken, key=lambda post: (post.scheduled_at, post.id)):
            queue_of.setdefault(post.page_id, []).append(post)
        claimed = [(queue.page, queue_of[queue.page.id]) for queue in due if queue.page.id in queue_of]
    return claimed, sum(len(queue.due) for queue in due) - len(taken), contended


def send_queue(app: SendingContext, page: PageRow, posts: Sequence[Post]) -> None:
    """Sends a page's claimed posts in order, and returns to the queue those that were not begun.

    Stops when the page expires or takes no more posts for now, and when the service stops.
    """
    outcomes, claims = app.outcomes, [Claim(post.id, post.fence) for post in posts]
    waiting = list(claims)
    done: AttemptOutcome | None = None
    try:
        for post in posts:
            if app.is_stopping:
                break
            written, done = outcomes.write(done, waiting.pop(0), more_seconds=_OUTAGE_SECONDS), None
            if written.has_begun:
                done = _deliver(app, page, replace(post, attempts=post.attempts + 1))
            if done is not None and (done.expired or done.rest_seconds):
                break
        if done is not None:
            outcomes.write(done, more_seconds=_OUTAGE_SECONDS)
    finally:
        outcomes.let_go(*claims)
        try:
            outcomes.release(*waiting)
        finally:  # also while the database is away
            if done is not None and done.rest_seconds:
                _rest(app, page, done.rest_seconds)
            DUE_POSTS.wake()  # the page may have more due posts


def _rest(app: SendingContext, page: PageRow, seconds: float) -> None:
    """Puts off the page's other posts for as long as the platform asks. If they were sent now, each would be refused
    and lose an attempt."""
    with app.database.transaction() as connection:
        waiting = Sending(connection).put_off_page(page.id, seconds)
    log.info("page_rests", page_id=page.id, wait_seconds=seconds, posts=waiting)


def _deliver(app: SendingContext, page: PageRow, post: Post) -> AttemptOutcome:
    named: dict[str, str | int] = {"post_id": post.id, "platform": post.platform, "attempt": post.attempts}
    with tracing.working("publish post", post.traceparent, "publishing", post.account_id, **named):
        return deliver(app, page, post)


def _plan(app: SendingContext, queues: PageQueues, due: Sequence[DueQueue], now: datetime) -> dict[str, Plan]:
    """Returns a plan for each due queue whose page has not expired, by page id."""
    alive = [queue for queue in due if not queue.page.expired]
    pages = queues.went_out_of_pages([queue.page.id for queue in alive])
    brands = queues.went_out_of_brands({queue.page.brand_id for queue in alive})
    return {
        queue.page.id: plan_queue(
            now,
            queue.due,
            queue.page.platform,
            page=pages.get(queue.page.id, []),
            brand=brands.setdefault(queue.page.brand_id, []),
            window_seconds=app.settings.publish_window_seconds,
        )
        for queue in alive
    }


def _settle(connection: Connection, due: Sequence[DueQueue], plans: dict[str, Plan]) -> None:
    """Puts off the posts that must wait. Fails those that are too late, and those whose page has expired."""
    store = Sending(connection)
    store.put_off({post_id: at for plan in plans.values() for post_id, at in plan.put_off.items()})
    missed = [post_id for plan in plans.values() for post_id in plan.missed]
    ended = store.fail_unsent(missed, PUBLISH_WINDOW_MISSED, _MISSED)
    expired = [post_id for queue in due if queue.page.expired for post_id, _ in queue.due]
    ended += store.fail_unsent(expired, PAGE_EXPIRED.code, f"{PAGE_EXPIRED.message} {RECONNECT}")
    post_events.stage_ended(connection, ended)
