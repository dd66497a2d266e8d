"""Which posts and replies operations have made, for callers who ask about many operations at once."""

from typing import Any

import msgspec
import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.errors import ApiError
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.posts import edits, full_posts, publish_now, several_pages
from publishing.store.operations import PostOperations, Voided


def void(world: World, *tries: tuple[str, int]) -> Voided:
    with world.database.transaction() as connection:
        return PostOperations(connection).void(tries)


@pytest.mark.parametrize(
    ("origin", "state", "standing"),
    [
        ("immediate", "published", "made"),
        ("immediate", "unknown", "undecided"),
        ("immediate", "sending", "undecided"),
        ("immediate", "failed", "nothing"),
        ("scheduled", "queued", "made"),
        ("scheduled", "failed", "made"),
        ("scheduled", "cancelled", "made"),
    ],
)
def test_a_post_counts_unless_it_was_published_at_once_and_refused(
    world: World, origin: str, state: str, standing: str
) -> None:
    world.schedule(world.page(), world.in_minutes(11), operation_id="op_post")
    is_out = state in ("sending", "unknown", "published", "queued")
    world.run(
        "UPDATE posts SET origin = :origin, state = :state, out_at = CASE WHEN :is_out THEN out_at END",
        origin=origin, state=state, is_out=is_out,
    )  # fmt: skip
    voided = void(world, ("op_post", 3), ("op_none", 1))
    assert voided.nothing == ({"op_none", "op_post"} if standing == "nothing" else {"op_none"})
    assert voided.undecided == ({"op_post"} if standing == "undecided" else set())


def test_a_post_counts_also_when_the_row_of_its_operation_is_deleted(world: World) -> None:
    world.schedule(world.page(), world.in_minutes(11), operation_id="op_post")
    world.run("DELETE FROM operations")
    assert void(world, ("op_post", 1)) == Voided(nothing=set(), undecided=set())


def test_nothing_is_written_of_operations_that_have_made_something(world: World) -> None:
    world.schedule(world.page(), world.in_minutes(11), operation_id="op_post")
    assert void(world) == void(world, ("op_post", 1)) == Voided(nothing=set(), undecided=set())
    assert world.ask("SELECT voided_to_try FROM operations")[0].voided_to_try == 0


def found(world: World, *operation_ids: str, **caller: Any) -> list[api.PostOfRequest]:
    asker = msgspec.structs.replace(world.caller(), **caller)
    return list(full_posts.find(world.app, asker, api.FindPosts(operation_ids=operation_ids)).posts)


def test_a_post_is_found_by_the_operation_that_made_it_with_its_attempts(
    world: World, platform: FakePlatform
) -> None:
    platform.script = [PlatformRefusal(Refusal.REJECTED, "100", "too long")]
    request = api.PublishPost(page_id=world.page().id, message="hello")
    with pytest.raises(ApiError):
        publish_now.publish(world.app, world.caller("op_made"), request)
    world.run("DELETE FROM operations")  # it is found for longer than operations are kept
    [post] = found(world, "op_made", "op_other")
    assert (post.origin, post.status, post.error and post.error.code) == (
        "immediate",
        "failed",
        "PLATFORM_REJECTED",
    )
    assert [(one.outcome, one.error and one.error.message) for one in post.attempts] == [
        ("refused", "too long (100)")
    ]
    assert found(world, "op_other") == []


def test_the_posts_of_a_call_for_several_pages_are_found(world: World) -> None:
    pages = [world.page() for _ in range(3)]
    planned = tuple(
        api.PlannedPage(page_id=page.id, operation_id=f"op_all_{page.id}" if number else "op_all")
        for number, page in enumerate(pages)
    )
    several_pages.publish_on_pages(
        world.app, world.caller("op_all"), api.PublishPosts(pages=planned, message="hello")
    )
    assert {post.page_id for post in found(world, "op_all")} == {page.id for page in pages}


def test_a_post_is_found_by_a_change_but_not_for_others(world: World) -> None:
    post = world.schedule(world.page(), world.in_minutes(30))
    edited = api.EditPost(id=post.id, message="better")
    edits.edit(world.app, world.caller("op_edit"), edited)
    assert [one.id for one in found(world, "op_edit")] == [post.id]
    assert found(world, "op_edit", account_id="usr_other") == []
    assert found(world, "op_edit", brand_ids=("brd_other",)) == []
