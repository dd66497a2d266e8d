"""One post on each of several pages: they are checked together and sent in parallel, and each is its own operation."""

import threading
from typing import Any

import msgspec
import pytest
from publishing_kit.fake_media import FakeMedia
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.errors import ApiError
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal
from publishing.posts import answers, several_pages

PHOTO = "https://example.com/a.jpg"


def planned(pages: list[api.Page], operation: str = "op") -> tuple[api.PlannedPage, ...]:
    return tuple(
        api.PlannedPage(page_id=page.id, operation_id=f"{operation}_{n}") for n, page in enumerate(pages)
    )


def publish(
    world: World, pages: list[api.Page], operation: str = "op", try_number: int = 1, **fields: Any
) -> api.PageResults:
    request = api.PublishPosts(pages=planned(pages, operation), **{"message": "hello", **fields})
    return several_pages.publish_on_pages(world.app, world.caller(operation, try_number), request)


def schedule(
    world: World, pages: list[api.Page], minutes: float = 20, operation: str = "op", **fields: Any
) -> api.PageResults:
    at = world.in_minutes(minutes)
    request = api.SchedulePosts(
        pages=planned(pages, operation), scheduled_at=at, **{"message": "hello", **fields}
    )
    return several_pages.schedule_on_pages(world.app, world.caller(operation), request)


def codes(results: api.PageResults) -> list[str | None]:
    return [row.error["code"] if row.error else None for row in results.results]


def test_every_page_gets_a_post_of_its_own(world: World, platform: FakePlatform) -> None:
    pages = [world.page() for _ in range(4)]
    results = publish(world, pages).results
    assert [row.page_id for row in results] == [page.id for page in pages]
    assert {row.status for row in results} == {201}
    assert len({row.post.post_id for row in results if row.post}) == 4
    assert len(platform.posts) == 4


def test_a_repeat_sends_nothing_again_and_sends_what_is_missing(world: World, platform: FakePlatform) -> None:
    pages = [world.page(), world.page()]
    platform.script = [PlatformRefusal(Refusal.REJECTED, "1", "no")]
    first = publish(world, pages)
    again = publish(world, pages, try_number=2)
    assert sorted(map(str, codes(first))) == ["None", "PLATFORM_REJECTED"]
    assert codes(again) == [None, None]
    assert len(platform.posts) == 2


def test_what_a_page_is_refused_with_stands_beside_the_others(world: World, platform: FakePlatform) -> None:
    pages = [world.page(), world.page(), world.page()]
    world.run("UPDATE pages SET expired = true WHERE id = :id", id=pages[1].id)
    results = publish(world, pages).results
    assert codes(api.PageResults(results=results)) == [None, "PAGE_EXPIRED", None]
    error = results[1].error
    assert error is not None
    assert (error["page_id"], results[1].status) == (pages[1].id, 400)
    assert len(platform.posts) == 2


def test_a_rule_broken_for_one_page_refuses_all_and_does_nothing(
    world: World, platform: FakePlatform
) -> None:
    fine, wordless = world.page("FB"), world.page("IG")
    for call in (publish, schedule):
        with pytest.raises(ApiError) as raised:
            call(world, [fine, wordless])
        assert raised.value.code == "UNSUPPORTED_PLATFORM"
        assert raised.value.extras["page_id"] == wordless.id
    assert platform.posts == []
    assert world.ask("SELECT id FROM posts") == []


def test_a_page_that_does_not_go_is_judged_all_the_same(world: World, platform: FakePlatform) -> None:
    fine, wordless = planned([world.page("FB"), world.page("IG")])
    held = msgspec.structs.replace(wordless, goes=False)
    with pytest.raises(ApiError, match="UNSUPPORTED"):
        several_pages.publish_on_pages(
            world.app, world.caller("op"), api.PublishPosts(pages=(fine, held), message="x")
        )
    result = several_pages.publish_on_pages(
        world.app, world.caller("op"), api.PublishPosts(pages=(fine, held), media_urls=(PHOTO,))
    )
    assert [row.page_id for row in result.results] == [fine.page_id]


def test_unknown_pages_and_bad_times_refuse_all(world: World) -> None:
    page = world.page()
    stranger = msgspec.structs.replace(page, id="pag_none")
    with pytest.raises(ApiError) as raised:
        publish(world, [page, stranger])
    assert (raised.value.code, raised.value.extras["field"]) == ("NOT_FOUND", "page_ids")
    with pytest.raises(ApiError, match="SCHEDULE_OUT_OF_RANGE"):
        schedule(world, [page], minutes=1)


def test_settings_go_to_their_own_platform_and_strangers_are_refused(world: World) -> None:
    pages = [world.page("FB"), world.page("IG")]
    with pytest.raises(ApiError, match="tiktok_settings"):
        schedule(world, pages, media_urls=(PHOTO,), tiktok_settings={"a": 1})
    facebook, instagram = schedule(
        world, pages, operation="other", media_urls=(PHOTO,), facebook_settings={}, instagram_settings={}
    ).results
    assert facebook.scheduled_post is not None
    assert (facebook.scheduled_post.facebook_settings, facebook.scheduled_post.instagram_settings) == (
        {},
        None,
    )
    assert instagram.scheduled_post is not None
    assert instagram.scheduled_post.facebook_settings is None


def test_files_are_attached_to_every_post(world: World, media: FakeMedia) -> None:
    photo = media.add()
    results = schedule(world, [world.page(), world.page()], media_ids=(photo,)).results
    ids = {row.scheduled_post.id for row in results if row.scheduled_post}
    assert {post_id for post_id, held in media.held.items() if photo in held} == ids
    assert len(ids) == 2


def test_a_file_that_is_not_there_refuses_all_and_attaches_none(world: World, media: FakeMedia) -> None:
    photo = media.add()
    with pytest.raises(ApiError, match="NOT_FOUND"):
        schedule(world, [world.page(), world.page()], media_ids=(photo, "med_none"))
    assert not any(media.held.values())


def test_an_unknown_outcome_names_its_post_and_is_looked_up(world: World, platform: FakePlatform) -> None:
    pages = [world.page()]
    platform.script = [platform.keep(OutcomeUnknown("cut"))]
    [row] = publish(world, pages).results
    assert row.error is not None
    assert (row.status, row.error["code"]) == (502, "PLATFORM_OUTCOME_UNKNOWN")
    assert codes(publish(world, pages)) == ["POST_IN_PROGRESS"]
    world.look()
    assert codes(publish(world, pages)) == [None]
    assert len(platform.posts) == 1


def test_a_page_slower_than_the_answer_is_told_of_later(
    world: World, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()
    monkeypatch.setattr(answers, "_ANSWER_SECONDS", 1.5)
    platform.before = lambda message: goes_on.wait(30)
    [row] = publish(world, [world.page()]).results
    assert row.error is not None
    assert row.error["code"] == "PLATFORM_OUTCOME_UNKNOWN"
    goes_on.set()
    waiting = threading.Event()
    while world.state(row.error["post_id"]).state != "published":
        assert not waiting.wait(0.01)
    assert world.events() == ["post.published"]
