"""Subscriptions of pages to a platform's comment webhooks: requested when a page is linked, and repeated until they
succeed.
"""

from collections.abc import Callable
from typing import Any

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from publishing.comments import subscriptions
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.registry import default_settings
from publishing.sending.context import SendingContext


@pytest.fixture
def app(make_app: Callable[..., SendingContext]) -> SendingContext:
    meta = MetaSettings(app_secret="s", verify_token="v")
    return make_app(platforms=default_settings(FB=meta, IG=meta))


@pytest.fixture
def asked(platform: FakePlatform) -> list[Any]:
    """The ids of accounts for which a subscription was requested. A request first raises the next exception in
    `platform.wishes`.
    """
    made: list[Any] = []
    platform.wishes = []

    def subscribe(account: Any) -> None:
        made.append(account.remote_account_id)
        if platform.wishes:
            raise platform.wishes.pop(0)

    platform.subscribe = subscribe
    return made


def tick(world: World, app: SendingContext | None = None) -> None:
    app = app or world.app
    subscriptions.subscribe_pages(app)
    assert app.side.wait_idle(5)


def row(world: World) -> Any:
    return world.ask(
        "SELECT subscribed, expired, extract(epoch FROM subscribe_at - clock_timestamp())::float8 AS wait FROM pages"
    )[0]


def test_a_page_is_subscribed_once_when_it_is_linked(world: World, asked: list[Any]) -> None:
    page = world.page()
    for _ in range(2):
        tick(world)
    assert asked == [page.account_id]
    assert (row(world).subscribed, row(world).wait) == (True, None)


def test_pages_of_platforms_that_tell_nothing_are_not_asked(world: World, asked: list[Any]) -> None:
    world.page("LN")
    tick(world)
    assert asked == []


def test_where_no_hooks_are_configured_pages_wait_until_they_are(
    world: World, asked: list[Any], make_app: Callable[..., SendingContext]
) -> None:
    world.page()
    tick(world, make_app())
    assert asked == []
    tick(world)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("refusal", "wait"),
    [
        (PlatformRefusal(Refusal.TRANSIENT, "2", "busy"), 5),
        (PlatformRefusal(Refusal.RATE_LIMITED, "32", "too many", 600), 600),
        (PlatformRefusal(Refusal.PERMISSION, "200", "no"), 86_400),
        (PlatformRefusal(Refusal.EXPIRED, "190", "expired"), None),
        (RuntimeError("a bug"), 3_600),
    ],
)
def test_after_a_refusal_it_is_asked_again_when_that_makes_sense(
    world: World, platform: FakePlatform, asked: list[Any], refusal: Exception, wait: float | None
) -> None:
    world.page()
    platform.wishes = [refusal]
    tick(world)
    found = row(world)
    assert found.subscribed is False
    assert found.wait == (None if wait is None else pytest.approx(wait, abs=2))
    assert found.expired is (wait is None)
    world.run("UPDATE pages SET subscribe_at = clock_timestamp() WHERE subscribe_at IS NOT NULL")
    tick(world)
    assert row(world).subscribed is (wait is not None)


def test_failures_are_repeated_ever_rarer_up_to_an_hour() -> None:
    busy = PlatformRefusal(Refusal.TRANSIENT, "2", "busy")
    waits = [subscriptions.wait_before_try(tries, busy) for tries in (1, 2, 3, 9, 10, 1_000)]
    assert waits == [5, 10, 20, 1_280, 2_560, 3_600]


def test_a_try_that_ends_after_the_page_was_linked_anew_changes_nothing(
    world: World, platform: FakePlatform, asked: list[Any]
) -> None:
    from publishing.store.pages import Pages

    world.page()
    with world.database.transaction() as connection:
        [claimed] = Pages(connection).claim_subscriptions(10, 60)
    world.run("UPDATE pages SET subscribe_tries = 0, subscribe_at = clock_timestamp()")
    platform.wishes = [PlatformRefusal(Refusal.EXPIRED, "190", "the old token")]
    subscriptions.subscribe(world.app, claimed)
    assert row(world).wait is not None
    tick(world)
    assert row(world).subscribed is True
