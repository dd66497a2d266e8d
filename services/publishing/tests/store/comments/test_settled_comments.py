"""Comments that need no reply: what is stored of them, and who may say so."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from publishing_kit.fake_platform import Wall
from publishing_kit.refusals import refused
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import Caller
from publishing.comments import comment_list, settlement


def settle(world: World, comment_id: str, caller: Caller | None = None) -> datetime | None:
    asked = api.CommentId(id=comment_id)
    return settlement.settle(world.app, caller or world.caller(), asked).settled_at


def reopen(world: World, comment_id: str, caller: Caller | None = None) -> datetime | None:
    asked = api.CommentId(id=comment_id)
    return settlement.reopen(world.app, caller or world.caller(), asked).settled_at


def listed(world: World, post: api.PublishResult) -> tuple[api.Comment, ...]:
    return comment_list.show_list(world.app, world.caller(), api.ListComments(post_id=post.post_id)).comments


def shown(world: World, post: Any) -> dict[str, datetime | None]:
    return {it.text: it.settled_at for it in listed(world, post)}


@pytest.fixture
def post(world: World, wall: Wall) -> api.PublishResult:
    """A post with two comments of visitors."""
    wall.write("great!")
    wall.write("Open on Sunday?")
    return world.published()  # type: ignore[no-any-return]


@pytest.fixture
def comment_id(world: World, post: api.PublishResult) -> str:
    [found] = [it.id for it in listed(world, post) if it.text == "great!"]
    return str(found)


def test_the_list_says_since_when_a_comment_needs_no_reply(
    world: World, post: api.PublishResult, comment_id: str
) -> None:
    assert shown(world, post) == {"great!": None, "Open on Sunday?": None}
    before = world.now()
    settled_at = settle(world, comment_id)
    assert settled_at is not None
    assert before <= settled_at <= world.now()
    assert shown(world, post) == {"great!": settled_at, "Open on Sunday?": None}


def test_a_repeated_request_keeps_the_time_and_another_one_takes_it_back(
    world: World, post: api.PublishResult, comment_id: str
) -> None:
    settled_at = settle(world, comment_id)
    world.run("UPDATE comments SET settled_at = settled_at - interval '1 hour' WHERE id = :id", id=comment_id)
    assert settled_at is not None
    assert settle(world, comment_id) == settled_at - timedelta(hours=1)
    assert [reopen(world, comment_id), reopen(world, comment_id)] == [None, None]
    assert shown(world, post) == {"great!": None, "Open on Sunday?": None}


def test_it_is_the_same_for_everybody_who_works_on_the_brand(
    world: World, post: api.PublishResult, comment_id: str
) -> None:
    colleague = msgspec.structs.replace(world.caller(), user_id="usr_c")
    assert settle(world, comment_id, colleague) == shown(world, post)["great!"]
    assert reopen(world, comment_id) is None


def test_events_do_not_change(world: World, post: api.PublishResult, comment_id: str) -> None:
    told = world.told()
    settle(world, comment_id)
    listed(world, post)
    assert world.told() == told
    assert [it.comment.settled_at for it in told] == [None, None]


@pytest.mark.parametrize("do", [settle, reopen])
def test_comments_of_others_and_unknown_ones_are_not_found(
    world: World, post: api.PublishResult, comment_id: str, do: Any
) -> None:
    stranger = msgspec.structs.replace(world.caller(), account_id="usr_b", user_id="usr_b")
    elsewhere = msgspec.structs.replace(world.caller(), brand_ids=("brd_z",))
    assert refused(do, world, comment_id, stranger).code == "NOT_FOUND"
    assert refused(do, world, "cmt_01arz3ndektsv4rrffq69g5fav").code == "NOT_FOUND"
    assert refused(do, world, "x").code == "NOT_FOUND"
    assert refused(do, world, comment_id, elsewhere).code == "BRAND_NOT_AUTHORIZED"
    assert shown(world, post)["great!"] is None
