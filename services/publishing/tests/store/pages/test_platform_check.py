"""`posthaste platform check`: what it tells the operator about an app and a page."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import operator
from contracts.errors import ApiError
from contracts.platform_checks import CheckPlatform, PlatformCheck
from publishing.pages import linked_pages, platform_check
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.facts import Fact
from publishing.platforms.http_client import transient
from publishing.platforms.linkedin.plugin import PLUGIN as LINKEDIN
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.oauth.base import App
from publishing.platforms.registry import PLUGINS
from publishing.records import Credentials

DENIED = PlatformRefusal(Refusal.PERMISSION, "10", "Not allowed.")


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> list[Fact]:
    """The facts that the platform reports about itself. A test may add some."""
    told: list[Fact] = []
    plugin = PLUGINS["FB"]
    monkeypatch.setitem(
        PLUGINS, "FB", plugin.__class__(**_fields(plugin) | {"facts": lambda at, account: iter(told)})
    )  # type: ignore[arg-type]
    return told


def _fields(plugin: Any) -> dict[str, Any]:
    return {name: getattr(plugin, name) for name in plugin.__dataclass_fields__}


def check(world: World, page: api.Page | None = None, platform: str = "FB") -> dict[str, PlatformCheck]:
    request = CheckPlatform(platform=platform, page_id=page.id if page else None)
    return {one.check: one for one in platform_check.check(world.app, operator(), request).checks}


def refused(world: World, request: CheckPlatform, caller: Any = None) -> str:
    with pytest.raises(ApiError) as raised:
        platform_check.check(world.app, caller or operator(), request)
    return raised.value.code


def raising(error: Exception) -> Callable[..., Any]:
    def call(*_: Any) -> Any:
        raise error

    return call


def with_app(world: World, monkeypatch: pytest.MonkeyPatch, public_url: str) -> None:
    monkeypatch.setitem(world.app.logins, "FB", object())
    monkeypatch.setattr(world.app, "settings", replace(world.app.settings, public_url=public_url))


def test_without_an_app_that_alone_fails(world: World) -> None:
    found = check(world)
    assert (found["app"].state, found["page"].state) == ("failed", "skipped")
    assert "docs/platforms/facebook.md" in found["app"].advice


@pytest.mark.parametrize(
    ("public_url", "state"),
    [
        ("https://post.example", "ok"),
        ("http://127.0.0.1:8080", "ok"),
        ("http://post.example", "failed"),
        ("http://127.0.0.1.example", "failed"),
    ],
)
def test_the_redirect_uri_is_shown_and_has_to_be_https(
    world: World, monkeypatch: pytest.MonkeyPatch, public_url: str, state: str
) -> None:
    with_app(world, monkeypatch, public_url)
    found = check(world)
    assert (found["redirect URI"].state, found["redirect URI"].found) == (
        state,
        f"{public_url}/connect/facebook/callback",
    )
    assert found["webhook address"].state == "skipped"


def test_the_kinds_of_account_that_have_an_app_are_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = LinkedInSettings(pages_app=App("pages"))
    monkeypatch.setitem(world.app.logins, "LN", LINKEDIN.login(settings))
    assert check(world, platform="LN")["app"].found == "its id is set, for organization"


def test_a_page_that_may_write_no_comments_is_told_of(
    world: World, platform: FakePlatform, facts: list[Fact]
) -> None:
    page = world.page()
    with world.database.transaction() as connection:
        stored = world.app.vault.seal(Credentials(access_token="token", scopes=("pages_manage_posts",)))
        row = platform_check.Pages(connection).get(page.id)
        assert row is not None
        assert platform_check.Pages(connection).exchange_credentials(page.id, row.access_token, stored)
    assert "facebook.md" in check(world, page)["writing comments"].advice


def test_a_working_page_with_a_post_is_ok_in_everything(
    world: World, platform: FakePlatform, facts: list[Fact]
) -> None:
    page = world.page()
    world.published(page)
    facts.append(Fact(check="limit", expected="50", found="60", holds=True, advice="Ask for more."))
    found = check(world, page)
    assert {name: one.state for name, one in found.items()} == {
        "app": "failed",
        "connection": "ok",
        "permissions": "skipped",
        "limit": "ok",
        "comments of the latest post": "ok",
        "counts of the latest post": "ok",
    }
    assert found["limit"].advice == ""


def test_before_the_first_post_reading_is_not_checked(
    world: World, platform: FakePlatform, facts: list[Fact]
) -> None:
    assert check(world, world.page())["comments of the latest post"].state == "skipped"


@pytest.mark.parametrize(
    ("error", "state"), [(DENIED, "failed"), (transient("TIMED_OUT", "Slow."), "unknown")]
)
def test_a_refusal_is_a_finding_and_the_other_checks_go_on(
    world: World, platform: FakePlatform, facts: list[Fact], error: PlatformRefusal, state: str
) -> None:
    page = world.page()
    world.published(page)
    platform.list_comments = raising(error)
    found = check(world, page)
    assert found["comments of the latest post"].state == state
    assert error.message in found["comments of the latest post"].found
    assert found["counts of the latest post"].state == "ok"


def test_an_expired_page_is_told_and_nothing_else_is_asked(
    world: World, platform: FakePlatform, facts: list[Fact]
) -> None:
    page = world.page()
    linked_pages.expire(world.app, operator(), api.GetPage(id=page.id))
    platform.list_comments = raising(AssertionError("asked"))
    facts.append(Fact(check="limit", expected="50", found="60", holds=True))
    found = check(world, page)
    assert (found["connection"].state, "limit" in found) == ("failed", False)


def test_a_silent_platform_leaves_the_connection_unknown(
    world: World, platform: FakePlatform, facts: list[Fact]
) -> None:
    page = world.page()
    platform.profile = raising(transient("TIMED_OUT", "The platform did not answer in time."))
    assert check(world, page)["connection"].state == "unknown"


@pytest.mark.parametrize("call", ["profile", "list_comments"])
def test_a_token_that_the_platform_quotes_is_not_in_the_report(
    world: World, platform: FakePlatform, facts: list[Fact], call: str
) -> None:
    page = world.page()
    world.published(page)
    with world.database.reading() as connection:
        stored = platform_check.Pages(connection).get(page.id)
    token = Credentials.opened(world.app.vault, stored.access_token).access_token
    setattr(platform, call, raising(PlatformRefusal(Refusal.EXPIRED, "190", f"Malformed: {token}")))
    found = check(world, page)
    assert any("Malformed: …" in one.found for one in found.values())
    assert token not in repr(found)


def test_only_the_operator_may_check_and_only_a_page_of_the_platform(world: World) -> None:
    page = world.page()
    assert refused(world, CheckPlatform(platform="FB"), world.caller()) == "MISSING_SCOPE"
    assert refused(world, CheckPlatform(platform="IG", page_id=page.id)) == "VALIDATION_ERROR"
    assert refused(world, CheckPlatform(platform="FB", page_id="pag_none")) == "NOT_FOUND"
