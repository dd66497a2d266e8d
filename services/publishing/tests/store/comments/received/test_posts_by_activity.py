"""The list of published posts by activity: a new comment of a visitor moves its post up, however old the post is."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from publishing_kit.fake_platform import Wall
from publishing_kit.received import hook, send
from publishing_kit.refusals import refused
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import Caller
from publishing.comments import comment_list
from publishing.posts import activity, post_lists
from publishing.sending.context import SendingContext


@pytest.fixture
def posts(world: World) -> list[api.PublishResult]:
    """Four posts, the newest first, an hour apart, each on a page of its own. The third is of another brand."""
    made = []
    for brand in ("brd_a", "brd_b", "brd_a", "brd_a"):
        made.append(world.published(world.page(brand=brand)))
        world.shift(3_600)
    return made[::-1]


def comes(world: World, wall: Wall, post: api.PublishResult, **comment: Any) -> None:
    """A webhook brings a comment on the post."""
    send(world.app, "FB", hook(world, post, wall.write(**comment)))


def page_of(world: World, caller: Caller | None = None, **given: Any) -> api.PublishedPostList:
    request = api.ListPublishedPosts(sort="activity", **given)
    return post_lists.published(world.app, caller or world.caller(), request)


def listed(world: World, caller: Caller | None = None, **given: Any) -> list[str]:
    return [post.id for post in page_of(world, caller, **given).published_posts]


def ids(posts: list[api.PublishResult], *numbers: int) -> list[str]:
    return [posts[number].post_id for number in numbers]


def all_pages(world: World, limit: int) -> list[list[str]]:
    pages, cursor = list[list[str]](), None
    while True:
        found = page_of(world, limit=limit, cursor=cursor)
        pages.append([post.id for post in found.published_posts])
        if (cursor := found.next_cursor) is None:
            return pages


def test_a_comment_moves_its_post_up_and_the_list_says_when_it_came(
    world: World, wall: Wall, posts: list[api.PublishResult]
) -> None:
    assert listed(world) == ids(posts, 0, 1, 2, 3)
    before = world.now()
    comes(world, wall, posts[3])
    world.shift(60)
    comes(world, wall, posts[1])
    found = page_of(world).published_posts
    assert [post.id for post in found] == ids(posts, 1, 3, 0, 2)
    first, second, third, _ = (post.last_comment_at for post in found)
    assert first is not None
    assert second is not None
    assert first > second >= before
    assert third is None
    by_publishing = post_lists.published(world.app, world.caller(), api.ListPublishedPosts()).published_posts
    assert [post.id for post in by_publishing] == ids(posts, 0, 1, 2, 3)
    assert by_publishing[1].last_comment_at == first


def test_a_comment_that_is_seen_again_or_that_the_page_wrote_moves_nothing(
    world: World, wall: Wall, posts: list[api.PublishResult]
) -> None:
    made = wall.write()
    send(world.app, "FB", hook(world, posts[3], made))
    world.shift(60)
    comes(world, wall, posts[2])
    send(world.app, "FB", hook(world, posts[3], made))
    [account] = world.ask("SELECT remote_account_id FROM pages WHERE id = :id", id=posts[1].page_id)
    comes(world, wall, posts[1], author_id=account[0])
    assert listed(world) == ids(posts, 2, 3, 0, 1)


def test_a_read_with_a_sandbox_token_moves_nothing_and_the_next_one_does(
    world: World, wall: Wall, posts: list[api.PublishResult]
) -> None:
    wall.write()
    caller = msgspec.structs.replace(world.caller(), sandbox=True)
    comment_list.show_list(world.app, caller, api.ListComments(post_id=posts[3].post_id))
    assert listed(world) == ids(posts, 0, 1, 2, 3)
    comment_list.show_list(world.app, world.caller(), api.ListComments(post_id=posts[3].post_id))
    assert listed(world) == ids(posts, 3, 0, 1, 2)


def test_comments_received_before_1_4_0_count_once_they_are_read_again(
    world: World, wall: Wall, posts: list[api.PublishResult]
) -> None:
    comes(world, wall, posts[3])
    comes(world, wall, posts[3])
    received_at = page_of(world).published_posts[0].last_comment_at
    assert received_at is not None
    world.run("UPDATE posts SET commented_at = NULL")
    world.shift(600)
    assert listed(world) == ids(posts, 0, 1, 2, 3)
    sandbox = msgspec.structs.replace(world.caller(), sandbox=True)
    comment_list.show_list(world.app, sandbox, api.ListComments(post_id=posts[3].post_id))
    assert listed(world) == ids(posts, 0, 1, 2, 3)
    comment_list.show_list(world.app, world.caller(), api.ListComments(post_id=posts[3].post_id))
    assert listed(world) == ids(posts, 3, 0, 1, 2)
    stored_at = page_of(world).published_posts[0].last_comment_at
    assert stored_at is not None
    assert abs(stored_at - received_at) < timedelta(seconds=60)
    assert len(world.told()) == 2


def test_it_is_filtered_by_page_brand_and_platform_and_shows_only_brands_of_the_token(
    world: World, wall: Wall, posts: list[api.PublishResult]
) -> None:
    for number in (1, 2, 3):
        comes(world, wall, posts[number])
        world.shift(60)
    assert listed(world) == ids(posts, 3, 2, 1, 0)
    narrow = msgspec.structs.replace(world.caller(), brand_ids=("brd_a",))
    assert listed(world, narrow) == listed(world, brand_id="brd_a") == ids(posts, 3, 1, 0)
    assert listed(world, narrow, platform="FB", with_comments=True) == ids(posts, 3, 1, 0)
    assert listed(world, brand_id="brd_b") == ids(posts, 2)
    assert listed(world, page_id=posts[2].page_id) == ids(posts, 2)
    assert listed(world, platform="IG") == []
    stranger = Caller(account_id="usr_x", user_id="usr_x")
    assert listed(world, stranger) == []
    error = refused(
        post_lists.published, world.app, narrow, api.ListPublishedPosts(sort="activity", brand_id="brd_b")
    )
    assert error.code == "BRAND_NOT_AUTHORIZED"


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
@pytest.mark.parametrize("commented", [(), (3,), (2, 3), (0, 1, 2, 3)])
def test_page_by_page_each_post_comes_once(
    world: World, wall: Wall, posts: list[api.PublishResult], limit: int, commented: tuple[int, ...]
) -> None:
    for number in commented:
        comes(world, wall, posts[number])
        world.shift(60)
    pages = all_pages(world, limit)
    shown = [post_id for page in pages for post_id in page]
    assert shown == ids(posts, *reversed(commented), *(it for it in range(4) if it not in commented))
    assert {len(page) for page in pages[:-1]} <= {limit}


def test_a_page_that_would_take_too_long_to_fill_is_short_and_goes_on(
    world: World, wall: Wall, posts: list[api.PublishResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "_MOST_ROUNDS", 1)
    for number in (0, 1, 2):
        comes(world, wall, posts[number])
        world.shift(60)
    pages = all_pages(world, 2)
    assert pages == [ids(posts, 2, 1), ids(posts, 0), ids(posts, 3)]


def test_a_first_comment_that_comes_while_the_list_is_read_does_not_hide_its_post(
    world: World, wall: Wall, posts: list[api.PublishResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = activity.Lists.published

    def read_and_comment(*given: Any, **more: Any) -> Any:
        found = read(*given, **more)
        monkeypatch.setattr(activity.Lists, "published", read)
        comes(world, wall, posts[2])
        return found

    monkeypatch.setattr(activity.Lists, "published", read_and_comment)
    assert listed(world) == ids(posts, 2, 0, 1, 3)


@pytest.mark.parametrize("other", ["since", "until", "search"])
def test_filters_by_the_time_of_publishing_and_by_text_are_refused(
    world: World, app: SendingContext, other: str
) -> None:
    given: dict[str, Any] = {other: "bread" if other == "search" else world.now()}
    error = refused(
        post_lists.published, app, world.caller(), api.ListPublishedPosts(sort="activity", **given)
    )
    assert (error.code, error.extras["errors"][0]["field"]) == ("VALIDATION_ERROR", other)
