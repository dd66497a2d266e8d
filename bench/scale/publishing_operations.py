"""The measured operations of the service publishing: lists, schedules, links, claims of due posts, reconciliation."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from bench.scale.comparing import Operation
from bench.scale.publishing_rows import Pages
from bench.scale.publishing_world import Publishing
from chassis.ids import new_id
from contracts import publishing as api
from contracts.caller import operator
from publishing.pages import linked_pages, page_list, unlinking
from publishing.posts import cancellation, full_posts, post_lists, publish_now, schedule, validation
from publishing.sending import claim_recovery, due_posts, reconciliation
from publishing.store.page_queues import MOST_COUNTED, PageQueues
from publishing.store.polls import Polls

_LIMIT = 25
#: Number of posts of each kind for which the dashboard's calendar asks.
_MONTH = 300
_NOWHERE = "zebra"
QUEUES = 48
#: Number of runs. The small set has enough due pages for twice as many.
_CLAIMS = 11
Op = Operation[Publishing]
Run = Callable[[Publishing, int], object]


def lists() -> list[Op]:
    return [
        Op("GET /pages, account with 50,000 pages", _pages()),
        Op("GET /pages, its next page", _next_pages),
        Op("GET /brands: pages counted for one brand of it", _count_pages),
        Op("GET /posts/scheduled, the same account", _scheduled()),
        Op("GET /posts/scheduled, status=all", _scheduled(status="all")),
        Op("GET /posts/scheduled, one of its pages", _scheduled(of_page=True)),
        Op("GET /posts/calendar, two weeks around now", _calendar(Pages.QUIET, days=7, limit=_LIMIT)),
        Op(
            "GET /posts/calendar, six weeks around now, as a month",
            _calendar(Pages.LONG, days=21, limit=_MONTH),
        ),
        Op("GET /posts of ten ids, after a list that names them", _by_ids),
        Op("GET /posts/published, the same account", _published()),
        Op("GET /posts/published, its quiet page", _published(page=Pages.QUIET)),
        Op("GET /posts/published, a token of one brand", _published(of_brand=True)),
        Op("GET /posts/published, one platform", _published(platform="TW")),
        Op("GET /posts/published, by activity", _published(sort="activity")),
        Op("GET /posts/published, page with 200,000 posts", _published(page=Pages.LONG, owner=Pages.LONG)),
        # No post has this text, so the search reads as many posts as it may for one page of results.
        Op("GET /posts/published, search, 200,000 posts", _published(owner=Pages.LONG, search=_NOWHERE)),
        Op(
            "GET /posts/published, search, page with 200,000 posts",
            _published(page=Pages.LONG, owner=Pages.LONG, search=_NOWHERE),
        ),
        Op("GET /posts/scheduled, search, queued ones", _scheduled(owner=Pages.LONG, search=_NOWHERE)),
        Op(
            "GET /posts/scheduled, search, status=all, 200,000 posts",
            _scheduled(owner=Pages.LONG, status="all", search=_NOWHERE),
        ),
    ]


def writes() -> list[Op]:
    return [
        Op("POST /posts/validate, page with 200,000 posts", _validate(lambda world, n: Pages.LONG)),
        Op("POST /posts/validate, any page", _validate(_idle)),
        Op("POST /posts/schedule, page with 200,000 posts", _schedule(lambda world, n: Pages.LONG)),
        Op("POST /posts/schedule, any page", schedule_any),
        Op("POST /posts/publish, any page", _publish),
        Op("DELETE /posts/scheduled/ID", _cancel, before=_schedule_one),
        Op("link a new page", _link_new),
        Op("link page with 200,000 posts again", _link_again),
        Op("unlink page with 200,000 posts", _unlink(lambda world, n: Pages.LONG), before=_relink_long),
        Op("unlink a page with queued posts", _unlink(_busy)),
        Op("look-up of an unknown outcome, page with 200,000 posts", _look_up, before=_make_unknown),
    ]


def loops() -> list[Op]:
    return [
        # Runs before the claims, which leave fewer due posts in the small set.
        Op("count of the posts that are due (metric)", _backlog, rounds=11),
        Op(f"due claim, {QUEUES} pages", _claim, after=lambda world, n: world.end_sending(), rounds=_CLAIMS),
        Op("recover lapsed claims, none", lambda world, n: claim_recovery.recover_claims(world.app)),
        Op("claim polls, 16 due", _claim_polls, before=_wake_polls),
    ]


def _idle(world: Publishing, number: int) -> int:
    return world.pages.idle(number)


def _busy(world: Publishing, number: int) -> int:
    """Returns the number of a page with due posts, one of the last, because the claims take the first."""
    return world.pages.first_idle - 1 - number


def _pages(**filters: Any) -> Run:
    request = api.ListPages(limit=_LIMIT, **filters)
    return lambda world, n: page_list.show_list(world.app, world.caller(Pages.QUIET), request)


def _next_pages(world: Publishing, number: int) -> object:
    first = page_list.show_list(world.app, world.caller(Pages.QUIET), api.ListPages(limit=_LIMIT))
    request = api.ListPages(limit=_LIMIT, cursor=first.next_cursor)
    return page_list.show_list(world.app, world.caller(Pages.QUIET), request)


def _count_pages(world: Publishing, number: int) -> object:
    request = api.CountPages(brand_ids=(world.pages.brand_id(Pages.QUIET),))
    return page_list.count(world.app, world.caller(Pages.QUIET), request)


def _scheduled(*, of_page: bool = False, owner: int = Pages.QUIET, **filters: Any) -> Run:
    def run(world: Publishing, number: int) -> object:
        page_id = world.pages.id(world.pages.first_due) if of_page else None
        request = api.ListScheduledPosts(limit=_LIMIT, page_id=page_id, **filters)
        return post_lists.scheduled(world.app, world.caller(owner), request)

    return run


def _published(
    *, page: int | None = None, owner: int = Pages.QUIET, of_brand: bool = False, **filters: Any
) -> Run:
    def run(world: Publishing, number: int) -> object:
        caller = world.caller(owner)
        if of_brand:
            caller = replace(caller, brand_ids=(world.pages.brand_id(Pages.QUIET),))
        page_id = None if page is None else world.pages.id(page)
        request = api.ListPublishedPosts(limit=_LIMIT, page_id=page_id, **filters)
        return post_lists.published(world.app, caller, request)

    return run


def _calendar(owner: int, *, days: int, limit: int) -> Run:
    def run(world: Publishing, number: int) -> object:
        now, around = datetime.now(UTC), timedelta(days=days)
        request = api.ListCalendarPosts(since=now - around, until=now + around, limit=limit)
        return post_lists.calendar(world.app, world.caller(owner), request)

    return run


def _by_ids(world: Publishing, number: int) -> object:
    caller = world.caller(Pages.LONG)
    named = post_lists.published(world.app, caller, api.ListPublishedPosts(limit=10)).published_posts
    found = full_posts.show_list(world.app, caller, api.ListPosts(post_ids=",".join(it.id for it in named)))
    assert len(found.posts) == 10
    return found


def _validate(page_of: Callable[[Publishing, int], int]) -> Run:
    def run(world: Publishing, number: int) -> object:
        planned = world.schedule_request(page_of(world, number), number)
        request = api.ValidatePost(
            page_id=planned.page_id, message=planned.message, scheduled_at=planned.scheduled_at
        )
        return validation.validate(world.app, world.caller(page_of(world, number)), request)

    return run


def _schedule(page_of: Callable[[Publishing, int], int]) -> Run:
    def run(world: Publishing, number: int) -> object:
        page = page_of(world, number)
        return schedule.schedule(world.app, world.caller(page), world.schedule_request(page, number))

    return run


schedule_any = _schedule(_idle)


def _publish(world: Publishing, number: int) -> object:
    page = world.pages.idle(number + 100)
    request = api.PublishPost(page_id=world.pages.id(page), message="At once")
    return publish_now.publish(world.app, world.caller(page), request)


def _schedule_one(world: Publishing, number: int) -> None:
    page = world.pages.idle(number)
    planned = world.schedule_request(page, number)
    later = replace(planned, scheduled_at=planned.scheduled_at + timedelta(hours=1))
    world.scheduled_id = schedule.schedule(world.app, world.caller(page), later).id


def _cancel(world: Publishing, number: int) -> object:
    caller = world.caller(world.pages.idle(number))
    return cancellation.cancel(world.app, caller, api.PostId(id=world.scheduled_id))


def _link(world: Publishing, page: int, remote_id: str) -> object:
    request = api.LinkPage(
        owner_account_id=world.pages.account_id(page),
        brand_id=world.pages.brand_id(page),
        brand_name="Brand",
        platform=world.pages.platform(page),
        remote_account_id=remote_id,
        access_token="token",  # noqa: S106
        name="Page",
    )
    return linked_pages.link(world.app, operator(), request)


def _link_new(world: Publishing, number: int) -> object:
    return _link(world, world.pages.idle(number), new_id("remote"))


def _link_again(world: Publishing, number: int) -> object:
    return _link(world, Pages.LONG, f"remote{Pages.LONG}")


def _relink_long(world: Publishing, number: int) -> None:
    """Links the page with the long history again, and cancels its scheduled posts."""
    page_id = world.pages.id(Pages.LONG)
    world.run_sql(f"UPDATE pages SET unlinked_at = NULL WHERE id = '{page_id}'")
    world.run_sql(
        f"UPDATE posts SET state = 'cancelled', out_at = NULL WHERE page_id = '{page_id}' AND state = 'queued'"
    )


def _unlink(page_of: Callable[[Publishing, int], int]) -> Run:
    def run(world: Publishing, number: int) -> object:
        page = page_of(world, number)
        request = api.UnlinkPage(id=world.pages.id(page), cancel_queued=True)
        return unlinking.unlink(world.app, world.caller(page), request)

    return run


def _make_unknown(world: Publishing, number: int) -> None:
    """Gives one of the newest posts of the page with the long history an unknown outcome.

    The condition `out_at IS NOT NULL` lets PostgreSQL use the index `posts_of_page`. Without it this preparation would
    read the page's whole history. That takes a second and empties the processor's caches, which would slow the
    measured look-up, on the full set only.
    """
    page_id = world.pages.id(Pages.LONG)
    world.run_sql(
        "WITH lost AS (UPDATE posts SET state = 'unknown', lease_until = clock_timestamp(), out_at = clock_now(),"
        "  unknown_since = clock_timestamp(), remote_id = NULL, attempts = attempts + 1 WHERE id = ("
        f"  SELECT id FROM posts WHERE page_id = '{page_id}' AND state = 'published'"
        "  AND out_at IS NOT NULL ORDER BY out_at DESC OFFSET 20 LIMIT 1) RETURNING id, attempts, fence)"
        " INSERT INTO attempts (post_id, number, fence, began_at)"
        " SELECT id, attempts, fence, clock_timestamp() FROM lost"
    )


def _look_up(world: Publishing, number: int) -> object:
    found = reconciliation.look_up_posts(world.app)
    world.wait_side()
    assert found == 1
    return found


def _claim(world: Publishing, number: int) -> object:
    claimed, _ = due_posts.claim_queues(world.app, QUEUES)
    assert len(claimed) == QUEUES
    return claimed


def _wake_polls(world: Publishing, number: int) -> None:
    world.run_sql(
        "UPDATE comment_polls SET wake_at = clock_timestamp() WHERE post_id IN ("
        " SELECT post_id FROM comment_polls ORDER BY wake_at LIMIT 16)"
    )


def _claim_polls(world: Publishing, number: int) -> object:
    with world.database.transaction() as connection:
        claimed = Polls(connection).claim(16, 5_400.0)
    assert len(claimed) == 16
    return claimed


def _backlog(world: Publishing, number: int) -> object:
    with world.database.reading() as connection:
        count, seconds = PageQueues(connection).backlog()
    assert count == MOST_COUNTED
    return count, seconds
