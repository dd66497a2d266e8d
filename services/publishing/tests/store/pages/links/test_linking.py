"""Linking: a state that works once, the accounts that are found and chosen, and pages that keep their ids when they are
linked again.

`test_link_consent.py` tests which browser may do what, and that nothing is linked without consent.
"""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from publishing.pages import link_sessions, linked_pages
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.oauth.base import Found, Login, Tokens
from publishing.records import Credentials, PageRow
from publishing.store.pages import Pages

from .conftest import FakeLogin


def code_of(call: Any, *arguments: Any, **named: Any) -> str:
    with pytest.raises(ApiError) as raised:
        call(*arguments, **named)
    return raised.value.code


def row(world: World, page_id: str) -> PageRow:
    with world.database.reading() as connection:
        found = Pages(connection).get(page_id)
    assert found is not None
    return found


def test_accounts_are_found_and_chosen(world: World, link: Any) -> None:
    assert link.show().status == "pending"
    session = link.agree()
    assert (session.status, [one.account_id for one in session.accounts]) == ("choose", ["a1", "a2"])
    assert session.brand_name == "Brand"
    [page] = link.choose("a2")
    assert (page.name, page.account_id, page.brand_id, page.expired) == ("Page a2", "a2", "brd_a", False)
    session = link.show()
    assert (session.status, [one.page_id for one in session.accounts]) == ("choose", [None, page.id])
    link.choose("a1", "a2")
    assert link.show().status == "linked"
    credentials = Credentials.opened(world.app.vault, row(world, page.id).access_token)
    assert credentials.access_token == "access c0de a2"
    assert (credentials.expires_at - world.now()).total_seconds() == pytest.approx(7_200, abs=60)


def test_the_same_address_goes_along_and_comes_back_with_the_verifier(link: Any, login: Any) -> None:
    link.back()
    [(code, redirect_uri, verifier)] = login.codes
    assert (code, redirect_uri) == ("c0de", "http://127.0.0.1:8080/connect/facebook/callback")
    assert (link.query["back"], link.query["verifier"]) == (redirect_uri, verifier)
    assert len(verifier) == 64


def test_coming_back_twice_exchanges_once_and_tells_the_same(link: Any, login: Any) -> None:
    assert link.back() == link.back("another")
    assert len(login.codes) == 1


def test_twenty_at_once_exchange_once(link: Any, login: Any) -> None:
    assert link.query
    with ThreadPoolExecutor(8) as pool:
        statuses = {session.status for session in pool.map(lambda _: link.back(), range(20))}
    assert statuses == {"pending"}
    assert link.page().status == "confirm"
    assert len(login.codes) == 1


@pytest.mark.parametrize("state", ["", "x", "lnk_1.", "lnk_1.abc", ".", "..", f"lnk_1.{'b' * 64}.{'A' * 43}"])
def test_a_state_that_is_not_ours_opens_nothing(world: World, link: Any, login: Any, state: str) -> None:
    assert code_of(link.back, state=state) == "NOT_FOUND"
    forged = link.query["state"][:-2] + ("AA" if link.query["state"][-2] != "A" else "BA")
    assert code_of(link.back, state=forged) == "NOT_FOUND"
    assert login.codes == []


def test_a_state_is_good_for_ten_minutes_at_its_own_platform(world: World, link: Any, login: Any) -> None:
    assert code_of(link.back, platform="linkedin") == "NOT_FOUND"
    assert link.show().status == "pending"
    world.shift(601)
    assert code_of(link.back) == code_of(link.show) == "NOT_FOUND"
    assert login.codes == []


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("access_denied", "refused"),
        ("user_cancelled_login", "refused"),
        ("server_error", "failed"),
        ("", "failed"),
    ],
)
def test_what_is_not_allowed_is_told(link: Any, login: Any, error: str, status: str) -> None:
    session = link.back(code="", error=error, error_description="no \0 thanks")
    assert session.status == link.show().status == status
    assert session.error is not None
    assert session.error.code == (error or "NO_CODE")
    assert login.codes == []
    assert code_of(link.choose, "a1") == "POST_IN_PROGRESS"


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (PlatformRefusal(Refusal.TRANSIENT, "TIMED_OUT", "late"), "TIMED_OUT"),
        (ZeroDivisionError(), "UNFORESEEN"),
    ],
)
def test_an_exchange_that_fails_is_told(link: Any, login: Any, problem: Exception, code: str) -> None:
    login.problem = problem
    session = link.back()
    assert session.error is not None
    assert (session.status, session.error.code) == ("failed", code)


def test_a_login_without_anything_to_link_fails(link: Any, login: Any) -> None:
    login.here = []
    assert link.back().status == "failed"


def test_relinking_repairs_an_expired_page_at_once_and_keeps_its_id(world: World, link: Any) -> None:
    link.agree()
    [page] = link.choose("a1")
    linked_pages.expire(world.app, operator(), api.GetPage(id=page.id))
    again = link.another()
    again.back("new")
    assert row(world, page.id).expired is True
    session = again.agree("new")
    assert [one.page_id for one in session.accounts] == [page.id, None]
    repaired = row(world, page.id)
    assert (repaired.expired, repaired.created_at) == (False, page.created_at)
    assert Credentials.opened(world.app.vault, repaired.access_token).access_token == "access new a1"
    assert [one.id for one in again.choose("a1")] == [page.id]


def test_an_account_that_the_operator_turned_off_is_not_turned_on_by_a_link_begun_before(
    world: World, link: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    link.agree()
    page, other = link.choose("a1", "a2")
    before, exchanging = link.another(), link.another()
    strangers = link.another(Caller(account_id="usr_b", user_id="usr_b"), "brd_b")

    assert before.query
    assert exchanging.query

    def turn_off(*_: str) -> Tokens:
        for one in (page, other):
            linked_pages.expire(world.app, operator(), api.GetPage(id=one.id))
        return Tokens("access", "refresh", 7_200)

    monkeypatch.setattr(link.login, "exchange", turn_off)
    assert code_of(exchanging.back) == "NOT_FOUND"
    assert code_of(before.back) == "NOT_FOUND"
    assert [row(world, one.id).expired for one in (page, other)] == [True, True]
    assert link.show().status == "linked"
    assert strangers.back().status == "pending"


def test_choosing_again_brings_no_old_credentials_back(world: World, link: Any) -> None:
    """The credentials may have been renewed since the first choice, and the old ones may be invalid."""
    link.agree()
    [page] = link.choose("a1")
    world.run("UPDATE pages SET access_token = 'renewed' WHERE id = :id", id=page.id)
    link.choose("a1", "a2")
    assert row(world, page.id).access_token == "renewed"


def test_an_unlinked_page_comes_back_only_when_it_is_chosen(world: World, link: Any) -> None:
    from publishing.pages import unlinking

    link.agree()
    [page] = link.choose("a1")
    unlinking.unlink(world.app, world.caller(), api.UnlinkPage(id=page.id))
    again = link.another()
    assert again.agree().accounts[0].page_id is None
    assert again.choose("a1")[0].id == page.id


def test_only_what_was_found_can_be_chosen(link: Any) -> None:
    assert code_of(link.choose, "a1") == "POST_IN_PROGRESS"
    link.agree()
    assert code_of(link.choose, "a1", "stranger") == "NOT_FOUND"
    assert all(one.page_id is None for one in link.show().accounts)


def test_sessions_are_seen_by_their_account_and_brand_alone(world: World, link: Any) -> None:
    link.back()
    stranger = Caller(account_id="usr_b", user_id="usr_b")
    limited = Caller(account_id="usr_a", user_id="usr_a", brand_ids=("brd_z",))
    assert code_of(link.show, stranger) == "NOT_FOUND"
    assert code_of(link.show, limited) == "BRAND_NOT_AUTHORIZED"
    assert code_of(link.begin, limited) == "BRAND_NOT_AUTHORIZED"


def test_a_platform_without_an_app_cannot_be_linked(world: World, login: Any) -> None:
    request = api.BeginLink(platform="TW", brand_id="brd_a")
    assert code_of(link_sessions.begin, world.app, world.caller(), request) == "UNSUPPORTED_PLATFORM"


def test_nothing_readable_is_stored_and_what_expired_is_removed(world: World, link: Any) -> None:
    link.back()
    [stored] = world.ask("SELECT * FROM links")
    assert "c0de" not in str(stored)
    assert stored.verifier == ""
    link.decide()
    assert "access" not in str(world.ask("SELECT * FROM links"))
    assert link_sessions.forget_links(world.app) == 0
    world.shift(3_601)
    assert link_sessions.forget_links(world.app) == 1
    assert world.ask("SELECT * FROM links") == []


@dataclass
class TwoLogins(FakeLogin):
    """The login of one of a platform's two apps. Each login knows the other."""

    app_name: str = "organization"
    by_app: dict[str, "TwoLogins"] = field(default_factory=dict)

    def of_app(self, name: str | None, granted: Any = None) -> Login | None:
        return self.by_app.get(name) if name else self

    def exchange(self, code: str, redirect_uri: str, verifier: str) -> Tokens:
        return dataclasses.replace(super().exchange(code, redirect_uri, verifier), app=self.app_name)

    def accounts(self, tokens: Tokens) -> list[Found]:
        return [dataclasses.replace(found, tokens=tokens) for found in super().accounts(tokens)]


@pytest.mark.parametrize(
    ("account_type", "used"), [(None, "organization"), ("organization", "organization"), ("member", "member")]
)
def test_the_account_type_chooses_the_login_and_its_app_is_kept_with_the_tokens(
    world: World, link: Any, account_type: str | None, used: str
) -> None:
    by_app: dict[str, TwoLogins] = {}
    by_app |= {name: TwoLogins(app_name=name, by_app=by_app) for name in ("organization", "member")}
    world.app.logins["LN"] = by_app["organization"]
    link.begin(platform="LN", account_type=account_type).back(platform="linkedin")
    assert {name: len(login.codes) for name, login in by_app.items() if login.codes} == {used: 1}
    link.decide()
    [page] = link.choose("a1")
    assert Credentials.opened(world.app.vault, row(world, page.id).access_token).app == used


def test_an_account_type_that_the_platform_or_the_server_lacks_is_refused(world: World, link: Any) -> None:
    assert code_of(link.begin, account_type="member") == "VALIDATION_ERROR"
    world.app.logins["LN"] = TwoLogins()
    assert code_of(link.begin, platform="LN", account_type="brand") == "VALIDATION_ERROR"
    assert code_of(link.begin, platform="LN", account_type="member") == "UNSUPPORTED_PLATFORM"


def test_the_accounts_found_tell_whether_they_may_comment(link: Any) -> None:
    assert [one.can_comment for one in link.agree().accounts] == [None, None]
    link.login.account_scopes = ("pages_manage_posts",)
    assert [one.can_comment for one in link.another().agree().accounts] == [False, False]
