"""The due worker: claims lanes of due posts, sends each in order, records what became of them.

A lane is a page: one worker at a time, in scheduled order. Unclaimed work is any replica's.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

import structlog
from msgspec.structs import replace

from chassis.db import clock
from chassis.runtime.loops import wake
from chassis.telemetry import tracing
from contracts.errors import PAGE_EXPIRED, ApiError
from publishing import post_events
from publishing.context import House
from publishing.records import PageRow, Post
from publishing.rules.planning import Plan, plan_lane
from publishing.sending import metrics
from publishing.sending.delivery import RECONNECT, Delivered, deliver
from publishing.store import Connection
from publishing.store.page_queues import DueLane, Locked, PageQueues
from publishing.store.pages import Pages
from publishing.store.sending import Claim, Sending

log = structlog.get_logger()

#: Our code (decisions "A post found due more than 24 h late").
PUBLISH_WINDOW_MISSED = "PUBLISH_WINDOW_MISSED"
_MISSED = "The post was found due too late to be sent. Retry the post to send it now, or schedule it anew."
#: How long a tick waits for many places in the pool, and then for any at all. Our choice.
_GATHER_SECONDS, _TICK_SECONDS = 0.1, 2.0
#: How much longer than a lease an outage of the database may last until the outcome of a call is given up, and has to
#: be looked up: nobody waits for it, and the claim holds as long as nobody reaps the process. Our choice.
_OUTAGE_SECONDS = 100.0
#: How long the lock of one brand is waited for, where that delays no other brand. Our choice.
_BRAND_SECONDS = 1.0


def publish_due_posts(house: House) -> int:
    """One tick: as many lanes as there are places for; how many posts were claimed, put off or given up.

    Waits a moment for a good part of the pool to be free, so that claims are made for many pages at once. What is due
    of a brand whose lock somebody holds is claimed by itself, as soon as the lock is free.
    """
    if not house.lanes.wait_free(house.lanes.size // 3, _GATHER_SECONDS) and not house.lanes.wait_free(
        1, _TICK_SECONDS
    ):
        return 1
    claimed, settled, contended = _claim_due(house, house.lanes.free)
    _start(house, claimed)
    for brand_id, page_ids in house.contended.in_turn(contended):
        if not house.is_stopping and house.brands.free and house.contended.begin(brand_id):
            house.brands.start(partial(_claim_contended, house, brand_id, page_ids))
    return sum(len(posts) for _, posts in claimed) + settled


#: A page with its posts to send.
Lane = tuple[PageRow, list[Post]]
#: Locks due lanes, in the transaction that claims them.
Lock = Callable[[PageQueues], Locked]


def claim_lanes(house: House, lanes: int) -> tuple[list[Lane], int]:
    """Claims up to so many lanes in one transaction: (page with its posts to send, posts settled without sending).

    Waits for no brand's lock.
    """
    claimed, settled, _ = _claim_due(house, lanes)
    return claimed, settled


def _claim_due(house: House, lanes: int) -> tuple[list[Lane], int, dict[str, list[str]]]:
    """The same, and the pages that were left out for their brands' locks, by brand."""
    per_lane = house.settings.posts_per_lane
    return _claim(house, lambda queues: queues.lock_due(lanes, per_lane))


def _claim_contended(house: House, brand_id: str, page_ids: Sequence[str]) -> None:
    """Claims what a brand has due once its lock is free, so that its own schedule calls do not keep it from sending.

    If all places are taken by then it claims nothing: the next tick comes back to the brand.
    """

    def lock(queues: PageQueues) -> Locked:
        queues.wait_for_brand(brand_id, _BRAND_SECONDS)
        free = house.lanes.free
        return queues.lock_pages(page_ids, min(max(free // 4, 1), free), house.settings.posts_per_lane)

    try:
        claimed, _, _ = _claim(house, lock)
        _start(house, claimed)
    except ApiError as error:
        log.warning("brand_is_locked", brand_id=brand_id, pages=len(page_ids), reason=error.message)
    finally:
        house.contended.end(brand_id)


def _start(house: House, claimed: Sequence[Lane]) -> None:
    for page, posts in claimed:
        house.lanes.start(partial(run_lane, house, page, posts))


def _claim(house: House, lock: Lock) -> tuple[list[Lane], int, dict[str, list[str]]]:
    """What `claim_lanes` gives, and the pages that were left out for their brands' locks, by brand."""
    with house.scribe.claiming() as (connection, note):
        due, contended = lock(PageQueues(connection))
        if not due:
            return [], 0, contended
        now = clock.now(connection)
        plans = _plan(house, PageQueues(connection), due, now)
        _settle(connection, due, plans)
        sent = [post_id for plan in plans.values() for post_id in plan.send]
        found = Sending(connection).take(sent, house.lease.lock(connection))
        taken = [post for post in found if post.state == "sending"]
        if len(taken) < len(found):
            post_events.tell_held(connection, [post for post in found if post.state == "held"])
        note(*(Claim(post.id, post.fence) for post in taken))
        pages = Pages(connection).many([lane.page_id for lane in due])
        metrics.note_taken(due, taken, now)
        lanes_of: dict[str, list[Post]] = {}
        for post in sorted(taken, key=lambda post: (post.scheduled_at, post.id)):
            lanes_of.setdefault(post.page_id, []).append(post)
        claimed = [(pages[page_id], posts) for page_id, posts in lanes_of.items()]
    return claimed, sum(len(lane.due) for lane in due) - len(taken), contended


def run_lane(house: House, page: PageRow, posts: Sequence[Post]) -> None:
    """Sends a lane's posts in order; whatever is not begun is given back."""
    scribe, claims = house.scribe, [Claim(post.id, post.fence) for post in posts]
    waiting = list(claims)
    done: Delivered | None = None
    try:
        for post in posts:
            if house.is_stopping:
                break
            record = done.record if done is not None else None
            written, done = scribe.write(record, waiting.pop(0), more_seconds=_OUTAGE_SECONDS), None
            if written.has_begun:
                done = _deliver(house, page, replace(post, attempts=post.attempts + 1))
            if done is not None and (done.is_expired or done.rest_seconds):
                break
        if done is not None:
            expired = house.found_expired(page, done.refusal)
            scribe.write(done.record, expired=expired, more_seconds=_OUTAGE_SECONDS)
    finally:
        scribe.let_go(*claims)
        try:
            scribe.release(*waiting)
        finally:  # also while the database is away
            if done is not None and done.rest_seconds:
                _rest(house, page, done.rest_seconds)
            wake("publish_due_posts")  # the page may have more


def _rest(house: House, page: PageRow, seconds: float) -> None:
    """The page's other posts wait as long as the platform says: they would only be refused, and use up attempts."""
    with house.database.transaction() as connection:
        waiting = Sending(connection).put_off_page(page.id, seconds)
    log.info("page_rests", page_id=page.id, wait_seconds=seconds, posts=waiting)


def _deliver(house: House, page: PageRow, post: Post) -> Delivered:
    named: dict[str, str | int] = {"post_id": post.id, "platform": post.platform, "attempt": post.attempts}
    with tracing.working("publish post", post.traceparent, "publishing", post.account_id, **named):
        return deliver(house, page, post)


def _plan(house: House, queues: PageQueues, due: Sequence[DueLane], now: datetime) -> dict[str, Plan]:
    """A plan for each lane whose page is connected."""
    alive = [lane for lane in due if not lane.expired]
    pages = queues.went_out_of_pages([lane.page_id for lane in alive])
    brands = queues.went_out_of_brands({lane.brand_id for lane in alive})
    return {
        lane.page_id: plan_lane(
            now,
            lane.due,
            lane.platform,
            page=pages.get(lane.page_id, []),
            brand=brands.setdefault(lane.brand_id, []),
            window_seconds=house.settings.publish_window_seconds,
        )
        for lane in alive
    }


def _settle(connection: Connection, due: Sequence[DueLane], plans: dict[str, Plan]) -> None:
    """Puts off what must wait, and fails what is not to be sent."""
    store = Sending(connection)
    store.put_off({post_id: at for plan in plans.values() for post_id, at in plan.put_off.items()})
    missed = [post_id for plan in plans.values() for post_id in plan.missed]
    ended = store.fail_unsent(missed, PUBLISH_WINDOW_MISSED, _MISSED)
    expired = [post_id for lane in due if lane.expired for post_id, _ in lane.due]
    ended += store.fail_unsent(expired, PAGE_EXPIRED.code, f"{PAGE_EXPIRED.message} {RECONNECT}")
    post_events.tell(connection, ended)
