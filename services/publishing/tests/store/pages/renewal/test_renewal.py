"""Renewing credentials: before they expire, once, and stored before they are used."""

from typing import Any

import pytest
from publishing_kit.renewals import OVER, SOON, FakeLogin, Renewals
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import operator
from contracts.errors import ApiError
from publishing.pages import linked_pages, renewal
from publishing.platforms.base import PlatformRefusal, Refusal


def test_tokens_are_renewed_ahead_of_their_end_again_and_again(
    world: World, renewals: Renewals, login: Any
) -> None:
    page = renewals.page()
    assert renewals.tick() == 0
    for number in (1, 2):
        world.shift(6_480)
        assert renewals.tick() == 1
        kept = renewals.credentials(page)
        assert (kept.access_token, kept.refresh_token) == (f"access {number}", f"refresh {number}")
        assert kept.scopes == ("post",)
    assert login.refreshed == ["r", "refresh 1"]
    assert renewals.tick() == 0


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_renewal_whose_claim_is_gone_by_its_turn_presents_no_token(
    world: World, renewals: Renewals, login: Any, is_taken: bool
) -> None:
    page = renewals.page()
    world.shift(6_500)
    late = renewals.claim()
    renewals.rest_is_over()
    if is_taken:
        renewals.claim()
    renewal.run(world.app, late)
    assert login.refreshed == []
    renewals.rest_is_over()
    assert renewals.tick() == 1
    assert renewals.credentials(page).access_token == "access 1"


def test_a_page_without_a_refresh_token_is_left_alone(world: World, renewals: Renewals, login: Any) -> None:
    renewals.page(refresh_token=None)
    world.page()
    world.shift(90_000)
    assert renewals.tick() == 0


@pytest.mark.parametrize(
    "problem", [SOON, PlatformRefusal(Refusal.REJECTED, "invalid_client", "our own"), OSError()]
)
def test_anything_but_a_definite_word_is_tried_again(
    world: World, renewals: Renewals, login: Any, problem: Exception
) -> None:
    page = renewals.page()
    world.shift(6_500)
    login.script = [problem]
    assert renewals.tick() == 1
    assert renewals.tick() == 0
    assert renewals.row(page).expired is False
    renewals.rest_is_over()
    assert renewals.tick() == 1
    assert renewals.credentials(page).access_token == "access 1"
    assert world.events() == []


def test_a_platform_that_says_how_long_is_left_alone_for_so_long(
    world: World, renewals: Renewals, login: Any
) -> None:
    renewals.page()
    world.shift(6_500)
    login.script = [PlatformRefusal(Refusal.RATE_LIMITED, "429", "slow", 5_000)]
    renewals.tick()
    [row] = world.ask("SELECT extract(epoch FROM renew_lease_until - clock_timestamp()) AS wait FROM pages")
    assert 4_900 < row.wait <= 5_000


def test_a_definite_word_ends_the_connection_and_is_told_once(
    world: World, renewals: Renewals, login: Any
) -> None:
    page = renewals.page()
    world.shift(6_500)
    login.script = [OVER]
    renewals.tick()
    assert renewals.row(page).expired
    assert world.events() == ["page.expired"]
    world.shift(90_000)
    assert renewals.tick() == 0


def test_a_claim_lapses_with_its_process_and_two_never_refresh_at_once(
    world: World, renewals: Renewals, login: Any, make_app: Any
) -> None:
    renewals.page()
    world.shift(6_500)
    other = make_app()
    other.logins = world.app.logins
    counts = []
    login.during = lambda: counts.append(renewal.renew_credentials(other))
    assert renewals.tick() == 1
    assert counts == [0]
    assert login.refreshed == ["r"]


def test_who_was_overtaken_by_a_new_link_changes_nothing(
    world: World, renewals: Renewals, login: Any
) -> None:
    page = renewals.page()
    world.shift(6_500)
    login.script = [OVER]

    def relink() -> None:
        request = api.LinkPage(
            owner_account_id="usr_a", brand_id="brd_a", brand_name="B", platform="FB",
            remote_account_id=page.account_id, access_token="new", name="P",
        )  # fmt: skip
        linked_pages.link(world.app, operator(), request)

    login.during = relink
    renewals.tick()
    assert renewals.credentials(page).access_token == "new"
    assert renewals.row(page).expired is False
    assert world.events() == []


def test_new_tokens_wait_for_a_database_that_is_away(
    world: World, renewals: Renewals, login: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contracts.errors import SERVICE_UNAVAILABLE

    page = renewals.page()
    world.shift(6_500)
    monkeypatch.setattr(renewal, "_PAUSE_SECONDS", 0.0)
    save, failures = renewal.Renewals.save, [ApiError(SERVICE_UNAVAILABLE)] * 3

    def flaky(*arguments: Any) -> bool:
        if failures:
            raise failures.pop()
        return save(*arguments)

    monkeypatch.setattr(renewal.Renewals, "save", flaky)
    renewals.tick()
    assert renewals.credentials(page).refresh_token == "refresh 1"
    assert login.refreshed == ["r"]


def test_tokens_are_renewed_by_the_app_that_issued_them(world: Any, renewals: Renewals, login: Any) -> None:
    other = FakeLogin()
    login.of_app = lambda name, granted=None: {"first": login, "second": other}.get(name)
    page = renewals.page(app="second")
    world.shift(7_000)
    renewals.tick()
    assert (login.refreshed, other.refreshed) == ([], ["r"])
    assert renewals.credentials(page).access_token == "access 1"


def test_tokens_of_an_app_that_is_not_configured_any_more_are_left_until_they_end(
    world: Any, renewals: Renewals, login: Any
) -> None:
    login.of_app = lambda name, granted=None: None
    page = renewals.page(app="gone")
    world.shift(7_000)
    renewals.tick()
    assert login.refreshed == []
    assert renewals.tick() == 0
    assert not renewals.row(page).expired


def test_tokens_are_renewed_once_their_app_is_in_the_settings_again(
    world: Any, renewals: Renewals, login: Any
) -> None:
    login.of_app = lambda name, granted=None: None
    page = renewals.page()
    world.shift(7_000)
    renewals.tick()
    login.of_app = lambda name, granted=None: login
    renewals.rest_is_over()
    renewals.tick()
    assert renewals.credentials(page).access_token == "access 1"
