"""Posts on several pages, some of which get another text or other settings, and the dry run for several pages."""

from typing import Any

import msgspec
import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.errors import ApiError
from publishing.posts import several_pages, validation


def publish(world: World, *pages: api.PlannedPage, **fields: Any) -> api.PageResults:
    request = api.PublishPosts(pages=pages, **{"message": "for all", **fields})
    return several_pages.publish_on_pages(world.app, world.caller("op"), request)


def planned(page: api.Page, **own: Any) -> api.PlannedPage:
    return api.PlannedPage(page_id=page.id, operation_id=f"op_{page.id}", **own)


def dry_run(world: World, *pages: api.PageContent, **fields: Any) -> api.PageValidations:
    request = api.ValidatePosts(pages=pages, **{"message": "for all", **fields})
    return validation.validate_on_pages(world.app, world.caller(), request)


def test_each_page_gets_its_own_text_and_the_others_the_calls(world: World, platform: FakePlatform) -> None:
    one, two, three = (world.page() for _ in range(3))
    done = publish(world, planned(one), planned(two, message="for two"), planned(three))
    assert {row.status for row in done.results} == {201}
    found = world.ask("SELECT page_id, message FROM posts")
    assert {row.page_id: row.message for row in found} == {
        one.id: "for all",
        two.id: "for two",
        three.id: "for all",
    }


def test_settings_of_a_page_replace_those_of_its_platform(world: World, platform: FakePlatform) -> None:
    same, other = world.page("FB"), world.page("FB")
    link = {"link": "https://example.com/all"}
    own = {"link": "https://example.com/own"}
    publish(world, planned(same), planned(other, settings=own), facebook_settings=link)
    found = world.ask("SELECT page_id, settings FROM posts")
    assert {row.page_id: row.settings["facebook_settings"] for row in found} == {
        same.id: link,
        other.id: own,
    }


def test_a_misspelt_setting_of_one_page_refuses_all_and_sends_nothing(
    world: World, platform: FakePlatform
) -> None:
    one, two = world.page("FB"), world.page("FB")
    with pytest.raises(ApiError) as refused:
        publish(world, planned(one), planned(two, settings={"lnik": "https://example.com"}))
    assert refused.value.extras["page_id"] == two.id
    assert "did you mean link?" in refused.value.message
    assert platform.posts == []


def test_an_unknown_setting_is_refused_also_where_the_platforms_own_settings_are_open(
    world: World, platform: FakePlatform
) -> None:
    one, two = world.page("FB"), world.page("TT")
    unknown = {"brand_new_switch": True}
    with pytest.raises(ApiError) as refused:
        publish(world, planned(one), planned(two, settings=unknown))
    assert refused.value.extras["errors"][0]["field"] == "tiktok_settings.brand_new_switch"
    assert (refused.value.extras["page_id"], platform.posts) == (two.id, [])
    found = dry_run(world, api.PageContent(page_id=two.id, settings=unknown))
    assert "tiktok_settings.brand_new_switch" in [error.field for error in found.results[0].errors]
    in_the_call = dry_run(world, api.PageContent(page_id=two.id), tiktok_settings=unknown)
    assert "tiktok_settings.brand_new_switch" not in [error.field for error in in_the_call.results[0].errors]


def test_a_text_of_one_page_that_is_too_long_refuses_all(world: World, platform: FakePlatform) -> None:
    one, two = world.page("FB"), world.page("FB")
    with pytest.raises(ApiError) as refused:
        publish(world, planned(one), planned(two, message="x" * 5_001))
    assert refused.value.extras["errors"][0]["field"] == "message"
    assert platform.posts == []


def test_a_dry_run_finds_for_each_page_what_a_call_for_it_alone_would(world: World) -> None:
    fine, wordless, own = world.page("FB"), world.page("IG"), world.page("TW")
    found = dry_run(
        world,
        api.PageContent(page_id=fine.id),
        api.PageContent(page_id=wordless.id),
        api.PageContent(page_id=own.id, message="x" * 6_000),
    )
    assert (found.valid, [row.page_id for row in found.results]) == (False, [fine.id, wordless.id, own.id])
    assert [row.valid for row in found.results] == [True, False, False]
    for row, message in zip(found.results, ("for all", "for all", "x" * 6_000), strict=True):
        alone = validation.validate(
            world.app, world.caller(), api.ValidatePost(page_id=row.page_id, message=message)
        )
        assert msgspec.structs.asdict(row) == {**msgspec.structs.asdict(alone), "page_id": row.page_id}
    assert world.ask("SELECT id FROM posts") == []


def test_a_dry_run_of_a_page_that_the_caller_may_not_see_is_refused(world: World) -> None:
    with pytest.raises(ApiError) as refused:
        dry_run(world, api.PageContent(page_id=world.page().id), api.PageContent(page_id="pag_unknown"))
    assert (refused.value.code, refused.value.extras["field"]) == ("NOT_FOUND", "page_ids")
