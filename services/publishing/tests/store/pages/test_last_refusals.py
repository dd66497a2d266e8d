"""A page tells the last post that its platform refused, until a later post goes out."""

import runpy
from typing import Any

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from chassis.migrate import migrations_of
from contracts import publishing as api
from contracts.errors import ApiError
from publishing.pages import page_list
from publishing.platforms.base import NotPublished, OutcomeUnknown, PlatformRefusal, Refusal, StillUnknown
from publishing.posts import cancellation, retry

NO = PlatformRefusal(Refusal.REJECTED, "403", "You may not post here.")


def last(world: World, page: api.Page) -> api.LastRefusal | None:
    """Returns the page's last refusal, which each list of pages and the page alone must tell alike."""
    asked = (api.ListPages(), api.ListPages(brand_id=page.brand_id), api.ListPages(platform=page.platform))
    listed, *others = (
        next(it for it in page_list.show_list(world.app, world.caller(), one).pages if it.id == page.id)
        for one in asked
    )
    assert others == [listed, listed]
    assert page_list.show(world.app, world.caller(), api.GetPage(id=page.id)) == listed
    return listed.last_refusal


def refuse(world: World, platform: FakePlatform, page: api.Page, refusal: Any = NO) -> api.ScheduledPost:
    """Sends a scheduled post that the platform refuses."""
    post = world.schedule(page, world.in_minutes(11))
    world.shift(700)
    platform.script = [refusal]
    world.send()
    return post


def test_a_refused_post_is_told_with_its_error_until_another_one_went_out(
    world: World, platform: FakePlatform
) -> None:
    page, another = world.page(), world.page(brand="brd_b")
    assert last(world, page) is None
    post = refuse(world, platform, page)
    told = last(world, page)
    assert told is not None
    assert (told.post_id, told.code, told.message) == (
        post.id, "PLATFORM_REJECTED", "You may not post here. (403)",
    )  # fmt: skip
    assert abs((world.now() - told.refused_at).total_seconds()) < 30
    assert last(world, another) is None
    world.shift(700)
    world.publish(page, "Better now")
    assert last(world, page) is None


def test_of_several_refused_posts_the_one_that_was_refused_last_is_told(
    world: World, platform: FakePlatform
) -> None:
    """Also if it was scheduled before the others, and retried."""
    page = world.page()
    first, second = refuse(world, platform, page), refuse(world, platform, page)
    assert last(world, page).post_id == second.id  # type: ignore[union-attr]
    world.shift(700)
    platform.script = [NO]
    retry.retry(world.app, world.caller(), api.PostId(id=first.id))
    assert last(world, page).post_id == second.id  # type: ignore[union-attr]
    world.send()
    assert last(world, page).post_id == first.id  # type: ignore[union-attr]
    cancellation.cancel(world.app, world.caller(), api.PostId(id=first.id))
    assert last(world, page).post_id == second.id  # type: ignore[union-attr]


def test_a_post_that_was_published_at_once_counts_too(world: World, platform: FakePlatform) -> None:
    page = world.page()
    platform.script = [NO]
    with pytest.raises(ApiError, match="PLATFORM_REJECTED"):
        world.publish(page, "hello")
    [post] = world.ask("SELECT id FROM posts")
    assert last(world, page).post_id == post.id  # type: ignore[union-attr]


def test_a_post_that_is_tried_again_is_not_refused_yet(world: World, platform: FakePlatform) -> None:
    page = world.page()
    refuse(world, platform, page, PlatformRefusal(Refusal.TRANSIENT, "2", "Try later."))
    assert last(world, page) is None


@pytest.mark.parametrize(
    ("found", "told"), [(NotPublished(settled=True, refusal=NO), True), (StillUnknown(), False)]
)
def test_a_refusal_that_a_look_up_finds_is_told_and_an_unknown_outcome_is_not(
    world: World, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch, found: Any, told: bool
) -> None:
    page = world.page()
    monkeypatch.setattr(platform, "look_up", lambda _: found)
    post = refuse(world, platform, page, OutcomeUnknown("the connection broke"))
    world.look(after_seconds=100_000)
    assert world.state(post.id).state == "failed"
    assert (last(world, page) is not None) is told


def test_a_refused_post_that_later_fails_unsent_is_not_told_any_more(
    world: World, platform: FakePlatform
) -> None:
    page = world.page()
    post = refuse(world, platform, page)
    retry.retry(world.app, world.caller(), api.PostId(id=post.id))
    world.run("UPDATE pages SET expired = true")
    world.send()
    assert (world.state(post.id).state, world.state(post.id).error_code) == ("failed", "PAGE_EXPIRED")
    assert last(world, page) is None


def test_the_newest_refusal_before_the_upgrade_is_told_too(world: World, platform: FakePlatform) -> None:
    page = world.page()
    refuse(world, platform, page)
    newest = refuse(world, platform, page)
    world.run("UPDATE posts SET refused_at = NULL")
    assert last(world, page) is None
    migration = runpy.run_path(str(migrations_of("publishing") / "0032_refused_posts_of_pages.py"))
    with (
        world.database.transaction() as connection,
        Operations.context(MigrationContext.configure(connection)),
    ):
        migration["upgrade"]()
    assert last(world, page).post_id == newest.id  # type: ignore[union-attr]
