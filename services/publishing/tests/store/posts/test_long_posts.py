"""Accounts with X Premium may post long texts. X tells whether an account has it, when a page is linked and at each
health check.
"""

from typing import Any

import pytest

from contracts import publishing as api
from contracts.errors import ApiError
from publishing.pages import health
from publishing.platforms.base import Profile
from publishing.posts import edits, publish_now, validation

LONG = "Bread and cakes. " * 60


@pytest.fixture
def page(world: Any, platform: Any, monkeypatch: pytest.MonkeyPatch) -> api.Page:
    """A page of an X account that has bought Premium after the page was linked."""
    page: api.Page = world.page("TW")
    monkeypatch.setitem(world.app.connectors, "TW", platform)
    monkeypatch.setattr(
        platform, "profile", lambda account: Profile("x", None, 0, None, message_limit=25_000)
    )
    return page


def problems(world: Any, page: api.Page) -> list[str | None]:
    found = validation.validate(world.app, world.caller(), api.ValidatePost(page_id=page.id, message=LONG))
    return [finding.field for finding in found.errors]


def check_health(world: Any, page: api.Page) -> None:
    health.check(world.app, world.caller(), api.GetPage(id=page.id))


def test_a_long_text_is_taken_once_the_platform_has_told_the_account_s_limit(
    world: Any, page: api.Page
) -> None:
    at = world.in_minutes(11)
    assert problems(world, page) == ["message"]
    with pytest.raises(ApiError, match="at most 280"):
        world.schedule(page, at, LONG)
    check_health(world, page)
    assert problems(world, page) == []
    post = world.schedule(page, at, LONG)
    edits.edit(world.app, world.caller(), api.EditPost(id=post.id, message=LONG + "!"))
    request = api.PublishPost(page_id=page.id, message=f"{LONG}?")
    assert publish_now.publish(world.app, world.caller(), request).post_id


def test_a_limit_is_kept_while_the_platform_does_not_tell_it_and_goes_when_it_tells_another(
    world: Any, page: api.Page, platform: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_health(world, page)
    for told, expected in ((None, []), (280, ["message"])):
        profile = Profile("x", None, 0, None, message_limit=told)
        monkeypatch.setattr(platform, "profile", lambda account, profile=profile: profile)
        check_health(world, page)
        assert problems(world, page) == expected


def test_another_account_s_texts_stay_short(world: Any, page: api.Page) -> None:
    check_health(world, page)
    with pytest.raises(ApiError, match="at most 280"):
        world.schedule(world.page("TW"), world.in_minutes(11), LONG)
