"""How far a person has read the comments of each brand."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from publishing_kit.refusals import refused
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import Caller
from publishing.comments import read_marks
from publishing.posts import post_lists


def somebody(world: World, **fields: Any) -> Caller:
    return msgspec.structs.replace(world.caller(), **fields)


def mark(world: World, at: datetime, caller: Caller | None = None, **where: Any) -> dict[str, datetime]:
    request = api.MarkCommentsRead(read_until=at, **where)
    answer = read_marks.mark(world.app, caller or world.caller(), request)
    return {it.brand_id: it.read_until for it in answer.brands}


def shown(world: World, caller: Caller | None = None, **given: Any) -> dict[str, datetime | None]:
    request = api.ListPublishedPosts(**{"with_comments": True, **given})
    posts = post_lists.published(world.app, caller or world.caller(), request).published_posts
    return {it.brand_id: it.comments_read_until for it in posts}


@pytest.fixture
def now(world: World) -> datetime:
    """The present time, in an account with a post of each of two brands."""
    for brand in ("brd_a", "brd_b"):
        world.published(world.page(brand=brand))
    return world.now()


@pytest.mark.parametrize("sort", ["published", "activity"])
def test_the_list_of_posts_says_how_far_the_comments_of_each_brand_are_read(
    world: World, now: datetime, sort: str
) -> None:
    at, later = now - timedelta(minutes=9), now - timedelta(minutes=2)
    assert shown(world, sort=sort) == {"brd_a": None, "brd_b": None}
    assert mark(world, at) == {"brd_a": at, "brd_b": at}
    assert mark(world, later, brand_id="brd_b") == {"brd_b": later}
    assert shown(world, sort=sort) == {"brd_a": at, "brd_b": later}
    assert shown(world, sort=sort, with_comments=False) == {"brd_a": None, "brd_b": None}


def test_a_late_request_moves_no_mark_back_and_none_moves_it_into_the_future(
    world: World, now: datetime
) -> None:
    at = now - timedelta(minutes=2)
    mark(world, at)
    assert mark(world, at - timedelta(hours=1)) == {"brd_a": at, "brd_b": at}
    moved = mark(world, now + timedelta(days=400))
    assert all(now <= it <= world.now() for it in moved.values())
    assert shown(world) == moved


def test_each_person_has_a_mark_of_their_own(world: World, now: datetime) -> None:
    colleague = somebody(world, user_id="usr_c", brand_ids=("brd_a",))
    assert mark(world, now, colleague) == {"brd_a": now}
    assert shown(world) == {"brd_a": None, "brd_b": None}
    assert shown(world, colleague) == {"brd_a": now}
    mark(world, now - timedelta(minutes=1))
    assert shown(world, colleague) == {"brd_a": now}


def test_a_token_marks_no_brand_beyond_its_own(world: World, now: datetime) -> None:
    limited = somebody(world, brand_ids=("brd_a",))
    assert refused(mark, world, now, limited, brand_id="brd_b").code == "BRAND_NOT_AUTHORIZED"
    assert mark(world, now, limited) == {"brd_a": now}
    assert mark(world, now, somebody(world, account_id="usr_b", user_id="usr_b")) == {}


def test_a_time_without_a_zone_is_refused(world: World, now: datetime) -> None:
    error = refused(mark, world, now.replace(tzinfo=None))
    assert (error.code, error.extras["field"]) == ("INVALID_DATE", "read_until")
