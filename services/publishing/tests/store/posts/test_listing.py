"""Lists of posts: their order, filters and cursors. What a list costs does not depend on the length of the history."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from publishing_kit.refusals import refused
from publishing_kit.world import World
from sqlalchemy import text

from contracts import publishing as api
from contracts.caller import Caller
from publishing.pages import page_list
from publishing.posts import (
    cancellation,
    post_lists,
)
from publishing.rules.filters import STATUSES
from publishing.sending.context import SendingContext
from publishing.store import lists
from publishing.store.lists import Lists

#: Posts that have ended, long before those that are queued.
HISTORY = 6_000
#: What earlier transactions fetched may be in it until it is flushed: a difference counts.
_FETCHED = text("SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'posts'")


@pytest.fixture
def queued(world: World) -> list[str]:
    """The ids of an account's queued posts, the next one first. The account also has a long history."""
    page = world.page()
    posts = world.fill(page, 3)
    world.run(
        """
        INSERT INTO posts (id, account_id, brand_id, page_id, platform, origin, media_ids, media_urls, created_at,
            scheduled_at, state, out_at)
        SELECT 'pst_' || n, 'usr_a', 'brd_a', :page, 'FB', 'scheduled', '{}', '{}', clock_now(), at, state,
            CASE state WHEN 'published' THEN at END
        FROM (SELECT n, clock_now() - make_interval(mins => n) AS at,
            (ARRAY['published', 'published', 'cancelled', 'failed'])[1 + n % 4] AS state
            FROM generate_series(1, :count) AS n) AS made
        """,
        page=page.id,
        count=HISTORY,
    )
    world.run("ANALYZE posts")
    return [post.id for post in posts]


@pytest.mark.parametrize("statuses", [("queued",), ("failed",), ("queued", "failed"), STATUSES])
@pytest.mark.parametrize("after", [None, "the first"])
def test_a_list_reads_what_it_shows(
    world: World, queued: list[str], statuses: tuple[str, ...], after: str | None
) -> None:
    with world.database.transaction() as connection:
        given: dict[str, Any] = {"brand_ids": None, "page_id": None, "statuses": statuses, "limit": 51}
        before = connection.execute(_FETCHED).scalar_one()
        found = Lists(connection).scheduled("usr_a", after=None, **given)
        if after is not None:
            last = (found[0].scheduled_at, found[0].id)
            assert Lists(connection).scheduled("usr_a", after=last, **given)[:50] == found[1:]
        read = connection.execute(_FETCHED).scalar_one() - before
    assert found == sorted(found, key=lambda post: (post.scheduled_at, post.id))
    assert read < 700


def test_a_list_of_several_states_is_one_list(world: World, queued: list[str]) -> None:
    world.run("UPDATE posts SET state = 'sending' WHERE id = :id", id=queued[1])
    world.run("UPDATE posts SET state = 'unknown' WHERE id = :id", id=queued[2])
    shown = post_lists.scheduled(world.app, world.caller(), api.ListScheduledPosts(limit=2))
    assert [post.id for post in shown.scheduled_posts] == queued[:2]
    rest = api.ListScheduledPosts(limit=2, cursor=shown.next_cursor)
    assert [
        post.id for post in post_lists.scheduled(world.app, world.caller(), rest).scheduled_posts
    ] == queued[2:]
    everything = api.ListScheduledPosts(limit=100, status="all")
    found = post_lists.scheduled(world.app, world.caller(), everything).scheduled_posts
    assert [post.id for post in found] == [f"pst_{n}" for n in range(HISTORY, HISTORY - 100, -1)]


def test_scheduled_posts_are_listed_soonest_first_page_by_page(world: World, app: SendingContext) -> None:
    page, other = world.page(), world.page(brand="brd_b")
    made = [world.schedule(page, world.in_minutes(40 - 2 * n)) for n in range(5)]
    elsewhere = world.schedule(other, world.in_minutes(100))
    found: list[api.ScheduledPost] = []
    cursor = None
    while True:
        request = api.ListScheduledPosts(limit=2, cursor=cursor)
        answer = post_lists.scheduled(app, world.caller(), request)
        found += answer.scheduled_posts
        cursor = answer.next_cursor
        if cursor is None:
            break
    assert [post.id for post in found] == [post.id for post in [*reversed(made), elsewhere]]
    narrow = Caller(account_id="usr_a", user_id="usr_a", brand_ids=("brd_b",))
    assert post_lists.scheduled(app, narrow, api.ListScheduledPosts()).scheduled_posts == (elsewhere,)
    cancellation.cancel(app, world.caller(), api.PostId(id=made[0].id))
    statuses = {"queued": 5, "cancelled": 1, "queued,cancelled": 6, "all": 6, "failed": 0}
    for status, count in statuses.items():
        answer = post_lists.scheduled(app, world.caller(), api.ListScheduledPosts(status=status))
        assert len(answer.scheduled_posts) == count


def calendar(world: World, **more: Any) -> api.CalendarPosts:
    """Lists the posts of the hours around now."""
    span = {"since": world.in_minutes(-60), "until": world.in_minutes(60)}
    return post_lists.calendar(world.app, world.caller(), api.ListCalendarPosts(**span | more))


def went_out(world: World, post: api.ScheduledPost, at: datetime) -> None:
    world.run("UPDATE posts SET state = 'published', out_at = :at WHERE id = :id", at=at, id=post.id)


def test_a_calendar_has_what_is_out_and_what_is_planned_in_brief_and_in_order(world: World) -> None:
    page, out_at = world.page(), world.in_minutes(-7)
    made = [world.schedule(page, world.in_minutes(20 + 5 * n), "x" * 300) for n in range(3)]
    world.schedule(page, world.in_minutes(70))
    cancellation.cancel(world.app, world.caller(), api.PostId(id=made[2].id))
    went_out(world, made[1], out_at)
    found = calendar(world)
    assert [(it.id, it.at, it.status) for it in found.posts] == [
        (made[1].id, out_at, "published"),
        (made[0].id, made[0].scheduled_at, "queued"),
    ]
    assert {it.message for it in found.posts} == {"x" * 280}
    assert (found.complete_since, found.complete_until) == (None, None)
    assert [it.id for it in calendar(world, status="published").posts] == [made[1].id]
    assert [it.id for it in calendar(world, status="queued,failed").posts] == [made[0].id]
    assert [it.id for it in calendar(world, since=out_at, until=made[0].scheduled_at).posts] == [made[1].id]
    assert calendar(world, platform="IG").posts == ()


def test_a_calendar_that_is_cut_says_which_part_of_it_is_complete(world: World) -> None:
    page, now = world.page(), world.in_minutes(0)
    made = [world.schedule(page, now + timedelta(minutes=20 + n)) for n in range(6)]
    for minutes, post in enumerate(made[3:], 1):
        went_out(world, post, now - timedelta(minutes=minutes))
    found = calendar(world, limit=2)
    assert [it.id for it in found.posts] == [made[4].id, made[3].id, made[0].id, made[1].id]
    assert found.complete_since == now - timedelta(minutes=2)
    assert found.complete_until == made[1].scheduled_at


def test_a_list_of_scheduled_posts_begins_at_the_given_time(world: World, app: SendingContext) -> None:
    page = world.page()
    made = [world.schedule(page, world.in_minutes(30 + 2 * n)) for n in range(4)]
    at = made[1].scheduled_at
    first = post_lists.scheduled(app, world.caller(), api.ListScheduledPosts(since=at, limit=2))
    assert [post.id for post in first.scheduled_posts] == [made[1].id, made[2].id]
    rest = api.ListScheduledPosts(since=at, limit=2, cursor=first.next_cursor)
    assert [post.id for post in post_lists.scheduled(app, world.caller(), rest).scheduled_posts] == [
        made[3].id
    ]


def ids(answer: api.ScheduledPostList | api.PublishedPostList) -> list[str]:
    posts = answer.scheduled_posts if isinstance(answer, api.ScheduledPostList) else answer.published_posts
    return [post.id for post in posts]


@pytest.fixture
def mixed(world: World) -> dict[str, str]:
    """The ids of posts of two brands and platforms, by their texts."""
    pages = (world.page(), world.page("LN"), world.page("LN", brand="brd_b"))
    texts = ("Rye 100% bread", "rye_bread", "RYE BREAD", "Wheat")
    made = {}
    for number, message in enumerate(texts):
        page = pages[min(number, 2)]
        made[message] = world.schedule(page, world.in_minutes(20 + 40 * number), message).id
    return made


CASES: tuple[tuple[dict[str, str], list[str]], ...] = (
    ({"search": "rye"}, ["Rye 100% bread", "rye_bread", "RYE BREAD"]),
    ({"search": "0%"}, ["Rye 100% bread"]),
    ({"search": "e_b"}, ["rye_bread"]),
    ({"search": "\\r"}, []),
    ({"platform": "FB"}, ["Rye 100% bread"]),
    ({"platform": "LinkedIn"}, ["rye_bread", "RYE BREAD", "Wheat"]),
    ({"brand_id": "brd_b"}, ["RYE BREAD", "Wheat"]),
    ({"brand_id": "brd_b", "platform": "LN", "search": "wheat"}, ["Wheat"]),
    ({"brand_id": "brd_b", "platform": "FB"}, []),
)


@pytest.mark.parametrize(("filters", "texts"), CASES)
def test_posts_are_found_by_text_platform_and_brand_before_and_after_they_are_out(
    world: World, app: SendingContext, mixed: dict[str, str], filters: dict[str, str], texts: list[str]
) -> None:
    wanted = [mixed[it] for it in texts]
    scheduled = post_lists.scheduled(app, world.caller(), api.ListScheduledPosts(**filters))
    assert ids(scheduled) == wanted
    world.shift(4 * 3600)
    world.send()
    published = post_lists.published(app, world.caller(), api.ListPublishedPosts(**filters))
    assert sorted(ids(published)) == sorted(wanted)


def test_scheduled_posts_are_counted_by_state_page_brand_and_platform(
    world: World, app: SendingContext, mixed: dict[str, str]
) -> None:
    def counts(**filters: str) -> tuple[int, int, int]:
        found = post_lists.count(app, world.caller(), api.CountScheduledPosts(**filters))
        return found.queued, found.held, found.failed

    for message, changes in (
        ("RYE BREAD", "state = 'held', hold_reason = 'token_revoked', held_at = clock_now()"),
        ("Wheat", "state = 'failed', out_at = NULL"),
    ):
        world.run(f"UPDATE posts SET {changes} WHERE id = :id", id=mixed[message])
    assert counts() == (2, 1, 1)
    assert counts(platform="LinkedIn") == (1, 1, 1)
    assert counts(brand_id="brd_b") == (0, 1, 1)
    assert counts(brand_id="brd_b", platform="FB") == (0, 0, 0)
    narrow = msgspec.structs.replace(world.caller(), brand_ids=("brd_a",))
    assert post_lists.count(app, narrow, api.CountScheduledPosts()).held == 0
    error = refused(post_lists.count, app, world.caller(), api.CountScheduledPosts(page_id="pag_x"))
    assert error.code == "NOT_FOUND"


def test_posts_beyond_a_thousand_are_not_counted(
    world: World, app: SendingContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(post_lists, "_MOST_COUNTED", 3)
    world.fill(world.page(), 5)
    assert post_lists.count(app, world.caller(), api.CountScheduledPosts()).queued == 3


def test_posts_of_platforms_whose_comments_are_not_listed_can_be_left_out(
    world: World, app: SendingContext
) -> None:
    pages = {code: world.page(code) for code in ("FB", "TT")}
    made, photo = {}, ("https://photos.example/a.jpg",)
    for number, code in enumerate(pages):
        made[code] = world.schedule(pages[code], world.in_minutes(20 + 5 * number), media_urls=photo).id
        world.run("UPDATE posts SET state = 'published', out_at = clock_now() WHERE id = :id", id=made[code])

    def listed(caller: Caller | None = None, **filters: str) -> list[str]:
        request = api.ListPublishedPosts(with_comments=True, **filters)
        return ids(post_lists.published(app, caller or world.caller(), request))

    assert listed() == [made["FB"]]
    assert listed(msgspec.structs.replace(world.caller(), brand_ids=("brd_a",))) == [made["FB"]]
    assert listed(page_id=pages["FB"].id) == [made["FB"]]
    assert listed(platform="TT") == listed(page_id=pages["TT"].id) == []


def test_a_search_that_stops_before_the_end_goes_on_with_its_cursor(
    world: World, app: SendingContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "_READ", 6)
    pages = (world.page(), world.page("LN"), world.page(brand="brd_b"))
    found_in = (0, 1, 11, 12, 23)
    made = [
        world.schedule(
            pages[number % 3], world.in_minutes(20 + 30 * number), "rye" if number in found_in else "oat"
        )
        for number in range(24)
    ]
    wanted = [made[number].id for number in found_in]

    def search(listed: Any, request: Any) -> tuple[list[str], list[int]]:
        found: list[str] = []
        counts, cursor = list[int](), None
        while True:
            answer = listed(app, world.caller(), request(search="RYE", limit=2, cursor=cursor))
            found += ids(answer)
            counts.append(len(ids(answer)))
            if (cursor := answer.next_cursor) is None:
                return found, counts

    found, counts = search(post_lists.scheduled, api.ListScheduledPosts)
    assert found == wanted
    assert 0 in counts, "a page may have no posts and still a cursor"
    assert max(counts) <= 2
    world.run(
        "UPDATE posts SET state = 'published', out_at = scheduled_at - interval '3 days', remote_id = id"
    )
    published, counts = search(post_lists.published, api.ListPublishedPosts)
    assert published == wanted[::-1]
    assert len(counts) > 2


def test_a_search_goes_on_past_posts_that_went_out_at_the_same_moment(
    world: World, app: SendingContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "_READ", 2)
    page = world.page()
    made = [world.schedule(page, world.in_minutes(20 + 30 * number), "rye").id for number in range(12)]
    world.run("UPDATE posts SET state = 'published', out_at = clock_now() - interval '1 day', remote_id = id")
    found, cursors = list[str](), list[str]()
    while True:
        request = api.ListPublishedPosts(search="RYE", limit=3, cursor=cursors[-1] if cursors else None)
        answer = post_lists.published(app, world.caller(), request)
        found += ids(answer)
        if answer.next_cursor is None:
            break
        assert answer.next_cursor not in cursors
        cursors.append(answer.next_cursor)
    assert sorted(found) == sorted(made)


@pytest.mark.parametrize("statuses", [("published",), STATUSES])
def test_a_page_of_a_search_reads_no_more_texts_than_its_bound(
    world: World, queued: list[str], monkeypatch: pytest.MonkeyPatch, statuses: tuple[str, ...]
) -> None:
    monkeypatch.setattr(lists, "_READ", 400)
    ranges: tuple[dict[str, Any], ...] = (
        {"brand_ids": None, "page_id": None},
        {"brand_ids": ("brd_a",), "page_id": None},
    )
    with world.database.transaction() as connection:
        found = Lists(connection)
        for where in ranges:
            listed = (
                (found.scheduled, found.scheduled_end, {"statuses": statuses, "after": None}),
                (found.published, found.published_end, {"platform": None, "since": None, "before": None}),
            )
            for read, ends, more in listed:
                before = connection.execute(_FETCHED).scalar_one()
                end = ends("usr_a", **where, **more)
                assert end is not None
                assert read("usr_a", **where, **more, search="no such text", end=end, limit=26) == []
                assert connection.execute(_FETCHED).scalar_one() - before < 2.5 * 400 * len(statuses)


def test_a_page_of_another_brand_or_platform_has_no_posts_in_the_list(
    world: World, app: SendingContext
) -> None:
    page = world.page()
    world.schedule(page, world.in_minutes(20))
    for other in ({"brand_id": "brd_b"}, {"platform": "LN"}):
        asked = api.ListScheduledPosts(page_id=page.id, **other)
        assert ids(post_lists.scheduled(app, world.caller(), asked)) == []


def test_a_token_that_is_limited_to_brands_lists_no_other_by_name(world: World, app: SendingContext) -> None:
    narrow = Caller(account_id="usr_a", user_id="usr_a", brand_ids=("brd_b",))
    for call, request in (
        (post_lists.scheduled, api.ListScheduledPosts(brand_id="brd_a")),
        (post_lists.published, api.ListPublishedPosts(brand_id="brd_a")),
    ):
        assert refused(call, app, narrow, request).code == "BRAND_NOT_AUTHORIZED"


def test_a_list_of_scheduled_posts_ends_before_the_given_time(world: World, app: SendingContext) -> None:
    page = world.page()
    made = [world.schedule(page, world.in_minutes(30 + 2 * n)) for n in range(4)]
    asked = api.ListScheduledPosts(since=made[1].scheduled_at, until=made[3].scheduled_at)
    assert ids(post_lists.scheduled(app, world.caller(), asked)) == [made[1].id, made[2].id]


@pytest.mark.parametrize("name", ["since", "until"])
def test_a_bound_without_a_zone_is_refused(world: World, app: SendingContext, name: str) -> None:
    naive = datetime(2026, 12, 1)
    request = api.ListPublishedPosts(**{name: naive})
    error = refused(post_lists.published, app, world.caller(), request)
    assert (error.code, error.extras) == ("INVALID_DATE", {"field": name})


@pytest.mark.parametrize("cursor", ["nonsense", "", "WyJhIiwiYiJd", "WzEsMl0", "é"])
def test_a_made_up_cursor_is_refused(world: World, app: SendingContext, cursor: str) -> None:
    for call, request in (
        (post_lists.scheduled, api.ListScheduledPosts(cursor=cursor)),
        (post_lists.published, api.ListPublishedPosts(cursor=cursor)),
        (page_list.show_list, api.ListPages(cursor=cursor)),
    ):
        assert refused(call, app, world.caller(), request).code == "VALIDATION_ERROR"


def test_published_posts_are_listed_newest_first_and_filtered(world: World, app: SendingContext) -> None:
    facebook, instagram = world.page(), world.page("LN")
    world.fill(facebook, 3)
    world.schedule(instagram, world.in_minutes(11), "on ln")
    world.shift(3600)
    world.send()
    answer = post_lists.published(app, world.caller(), api.ListPublishedPosts())
    times = [post.published_at for post in answer.published_posts]
    assert len(times) == 4
    assert times == sorted(times, reverse=True)
    by_platform = post_lists.published(app, world.caller(), api.ListPublishedPosts(platform="LinkedIn"))
    assert [post.message for post in by_platform.published_posts] == ["on ln"]
    by_page = post_lists.published(app, world.caller(), api.ListPublishedPosts(page_id=facebook.id, limit=2))
    assert [post.message for post in by_page.published_posts] == [f"{facebook.id} 2", f"{facebook.id} 1"]
    since = post_lists.published(app, world.caller(), api.ListPublishedPosts(since=times[1]))
    assert len(since.published_posts) == 1
    between = api.ListPublishedPosts(since=times[3], until=times[1], limit=1)
    shown = post_lists.published(app, world.caller(), between)
    assert [post.published_at for post in shown.published_posts] == [times[2]]
    assert shown.next_cursor is None
    error = refused(post_lists.published, app, world.caller(), api.ListPublishedPosts(page_id="pag_x"))
    assert (error.code, error.extras) == ("NOT_FOUND", {"field": "page_id"})
    error = refused(post_lists.published, app, world.caller(), api.ListPublishedPosts(platform="myspace"))
    assert error.code == "VALIDATION_ERROR"
