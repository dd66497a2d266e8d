"""Nothing is linked without the consent of the person who owns the pages, given in the browser that the person used.

The attacker begins a link session for the attacker's brand and brings a victim to it. `VICTIM` and `ATTACKER` are the
keys of two browsers, as the gateway derives them from a session's cookie.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest
from cryptography.fernet import Fernet
from publishing_kit.world import World

from chassis.vault import UnreadableSecret
from contracts import publishing as api
from contracts.caller import operator
from contracts.errors import ApiError
from contracts.events import Event
from publishing.pages import link_sessions, linked_pages
from publishing.pages.browser import Browser

VICTIM, ATTACKER = "b" * 64, "a" * 64


def refusal_of(call: Any, *arguments: Any, **named: Any) -> tuple[str, Any]:
    """Returns the code and the reason of the call's refusal. A page chooses its text by them."""
    with pytest.raises(ApiError) as raised:
        call(*arguments, **named)
    return raised.value.code, raised.value.extras.get("reason")


def state_for(link: Any, browser: str) -> str:
    """Returns the state that this browser takes to the platform."""
    return dict(parse_qsl(urlsplit(link.page(browser).authorize_url).query))["state"]


def count_pages(world: World) -> int:
    return world.ask("SELECT count(*) AS n FROM pages")[0].n


OTHER = ("NOT_FOUND", "other_browser")
GONE = ("NOT_FOUND", None)


def test_an_attackers_address_links_nothing_without_the_victims_press_and_names_the_attacker(
    world: World, link: Any
) -> None:
    page = link.page(VICTIM)
    assert (page.status, page.account_name, page.brand_name) == ("start", "Eve (eve@example.com)", "Brand")
    link.back()
    assert (link.show().status, link.show().accounts) == ("pending", ())
    assert refusal_of(link.choose, "a1") == ("POST_IN_PROGRESS", None)
    page = link.page(VICTIM)
    assert (page.status, [one.account_id for one in page.accounts]) == ("confirm", ["a1", "a2"])
    assert (page.account_name, page.brand_name) == ("Eve (eve@example.com)", "Brand")
    assert count_pages(world) == 0


def test_the_api_answers_with_a_page_of_ours_that_anybody_may_look_at(world: World, link: Any) -> None:
    assert link.begun.authorize_url == f"http://127.0.0.1:8080/connect/start/{link.begun.session_id}"
    for browser in (VICTIM, ATTACKER, "c" * 64):
        assert link.page(browser).status == "start"
    [row] = world.ask("SELECT state, browser FROM links")
    assert tuple(row) == ("pending", None)


def test_looking_at_the_page_again_changes_nothing_at_any_stage(world: World, link: Any) -> None:
    assert link.query
    stages = [lambda: None, link.back, link.decide]
    for go_on in stages:
        go_on()
        before = world.ask("SELECT * FROM links")
        assert link.page() == link.page()
        assert world.ask("SELECT * FROM links") == before


def test_every_browser_takes_a_state_of_its_own_along(link: Any) -> None:
    assert state_for(link, VICTIM) != state_for(link, ATTACKER)
    assert state_for(link, VICTIM) == state_for(link, VICTIM)


@pytest.mark.parametrize(
    ("taken_by", "brought_by"),
    [
        (ATTACKER, VICTIM),  # the attacker sends the platform's address on
        (ATTACKER, ""),  # to somebody who has never been here
        (VICTIM, ""),  # the cookie is gone
        (VICTIM, ATTACKER),  # the way back was stolen
        (VICTIM, VICTIM.upper()),
        (VICTIM, VICTIM[:-1]),
    ],
)
def test_coming_back_in_another_browser_stores_nothing(
    world: World, link: Any, login: Any, taken_by: str, brought_by: str
) -> None:
    assert refusal_of(link.back, state=state_for(link, taken_by), browser=brought_by) == OTHER
    [row] = world.ask("SELECT state, browser, unconfirmed FROM links")
    assert tuple(row) == ("pending", None, None)
    assert login.codes == []


def test_the_account_is_told_once_that_another_browser_came_back(world: World, link: Any) -> None:
    for browser in (ATTACKER, "", "c" * 64):
        assert refusal_of(link.back, browser=browser) == OTHER
    assert world.events() == ["page.connect.refused"]
    [row] = world.ask("SELECT body FROM outbox")
    told = msgspec.json.decode(bytes(row.body), type=Event)
    assert told.data["error"]["code"] == "OTHER_BROWSER"
    assert (told.account_id, told.brand_id, told.data["sessionId"]) == (
        "usr_a",
        "brd_a",
        link.begun.session_id,
    )


@pytest.mark.parametrize("state", ["", "x", "lnk_1.b.c"])
def test_nobody_is_told_of_a_state_that_is_not_ours(world: World, link: Any, state: str) -> None:
    assert refusal_of(link.back, state=state, browser=ATTACKER) == GONE
    assert world.events() == []


def test_the_right_browser_still_ends_what_another_one_was_refused(link: Any) -> None:
    assert refusal_of(link.back, browser=ATTACKER) == OTHER
    assert link.agree().status == "choose"


def test_of_two_browsers_with_states_of_their_own_the_first_one_back_has_the_session(
    link: Any, login: Any
) -> None:
    mine, theirs = link.query["state"], state_for(link, ATTACKER)
    link.back(state=mine)
    assert refusal_of(link.back, state=theirs, browser=ATTACKER) == OTHER
    assert len(login.codes) == 1


def with_browser_of(state: str, browser: str) -> str:
    session, _, signature = state.split(".")
    return f"{session}.{browser}.{signature}"


@pytest.mark.parametrize(
    "tamper",
    [
        lambda state: with_browser_of(state, ATTACKER),
        lambda state: state.replace("lnk_", "lnk_0", 1),
        lambda state: state + "A",
        lambda state: state[:-3],
        lambda state: state.upper(),
        lambda state: f" {state}",
        lambda state: state.replace(".", "..", 1),
        lambda state: state + "\0",
        lambda state: ".".join(reversed(state.split("."))),
        lambda state: state.split(".")[0],
    ],
)
@pytest.mark.parametrize("browser", [VICTIM, ATTACKER])
def test_a_state_that_was_tampered_with_is_refused(link: Any, login: Any, tamper: Any, browser: str) -> None:
    assert refusal_of(link.back, state=tamper(link.query["state"]), browser=browser) == GONE
    assert login.codes == []


def test_a_state_that_names_no_browser_is_refused_and_its_session_ends_with_its_time(
    world: World, link: Any, login: Any
) -> None:
    session_id = link.begun.session_id
    assert refusal_of(link.back, state=f"{session_id}.{world.app.vault.sign(session_id)}") == GONE
    assert link.show().status == "pending"
    world.shift(601)
    assert link_sessions.forget_links(world.app) == 1


@pytest.mark.parametrize("platform", ["linkedin", "instagram", "twitter", "tiktok", "youtube", "", "none"])
def test_the_login_of_one_platform_does_not_come_back_from_another(
    link: Any, login: Any, platform: str
) -> None:
    assert refusal_of(link.back, platform=platform)[0] in ("NOT_FOUND", "VALIDATION_ERROR")
    assert login.codes == []


def test_the_state_of_one_session_does_not_open_another(link: Any) -> None:
    other = link.another()
    swapped = other.begun.session_id + link.query["state"][len(link.begun.session_id) :]
    assert refusal_of(link.back, state=swapped) == GONE


@pytest.mark.parametrize("is_given", [True, False])
@pytest.mark.parametrize("browser", [ATTACKER, "", "x", VICTIM.upper()])
def test_only_the_browser_that_came_back_decides(
    world: World, link: Any, browser: str, is_given: bool
) -> None:
    link.back()
    assert refusal_of(link.decide, browser, is_given=is_given) == OTHER
    assert link.page().status == "confirm"
    assert count_pages(world) == 0


@pytest.mark.parametrize("browser", [ATTACKER, "", "x", "<b>"])
def test_other_browsers_are_not_shown_what_was_found(link: Any, browser: str) -> None:
    link.back()
    assert refusal_of(link.page, browser)[0] == "NOT_FOUND"


@pytest.mark.parametrize("is_given", [True, False])
def test_a_decision_before_anybody_came_back_is_refused(world: World, link: Any, is_given: bool) -> None:
    assert refusal_of(link.decide, is_given=is_given) == OTHER
    assert link.page().status == "start"


def test_consent_lets_the_app_choose(world: World, link: Any) -> None:
    assert link.agree().status == "choose"
    assert count_pages(world) == 0
    [page] = link.choose("a1")
    assert page.account_id == "a1"
    [row] = world.ask("SELECT unconfirmed FROM links")
    assert row.unconfirmed is None


def test_pressing_twice_agrees_once(world: World, link: Any) -> None:
    link.agree()
    link.choose("a1")
    assert link.decide().status == "choose"
    assert count_pages(world) == 1


def test_twenty_presses_at_once_repair_a_page_once(world: World, link: Any) -> None:
    link.agree()
    [page] = link.choose("a1")
    again = link.another()
    again.back("new")
    with ThreadPoolExecutor(8) as pool:
        statuses = {view.status for view in pool.map(lambda _: again.decide(), range(20))}
    assert statuses == {"choose"}
    assert [one.page_id for one in again.show().accounts] == [page.id, None]
    assert count_pages(world) == 1


def test_cancelling_forgets_the_tokens_and_is_told_to_the_app(world: World, link: Any) -> None:
    link.back()
    assert link.decide(is_given=False).status == "refused"
    session = link.show()
    assert (session.status, session.accounts, session.error.code) == ("refused", (), "CANCELLED")
    [row] = world.ask("SELECT found, unconfirmed, verifier FROM links")
    assert tuple(row) == (None, None, "")
    assert refusal_of(link.choose, "a1") == ("POST_IN_PROGRESS", None)


def test_a_press_after_cancelling_changes_nothing(world: World, link: Any) -> None:
    link.back()
    link.decide(is_given=False)
    assert link.decide().status == "refused"
    assert count_pages(world) == 0


def test_cancelling_after_the_press_takes_nothing_back(link: Any) -> None:
    link.agree()
    assert link.decide(is_given=False).status == "choose"


def test_a_platform_that_denied_leaves_nothing_to_agree_to(world: World, link: Any) -> None:
    link.back(code="", error="access_denied")
    assert link.page().status == "refused"
    assert link.decide().status == "refused"
    assert refusal_of(link.choose, "a1") == ("POST_IN_PROGRESS", None)


def test_pages_found_wait_ten_minutes_for_consent(world: World, link: Any) -> None:
    link.back()
    world.shift(599)
    assert link.page().status == "confirm"
    world.shift(2)
    assert refusal_of(link.decide) == refusal_of(link.page) == refusal_of(link.show) == GONE
    assert link_sessions.forget_links(world.app) == 1
    assert world.ask("SELECT * FROM links") == []


def test_consent_outlives_the_process_that_found_the_pages(world: World, link: Any) -> None:
    link.back()
    world.app = world.make_app()
    assert link.decide().status == "choose"


def test_an_exchange_that_died_can_be_agreed_to_by_nobody(world: World, link: Any) -> None:
    assert link.query
    world.run("UPDATE links SET state = 'exchanging', browser = :browser", browser=Browser(VICTIM).id)
    assert link.page().status == "wait"
    assert link.decide().status == "wait"
    assert refusal_of(link.choose, "a1") == ("POST_IN_PROGRESS", None)


def test_a_code_is_not_exchanged_again_after_the_decision(link: Any, login: Any) -> None:
    link.agree()
    assert link.back("again").status == "choose"
    link.back(code="", error="access_denied")
    assert link.show().status == "choose"
    assert len(login.codes) == 1


def test_what_waits_for_consent_cannot_be_read_with_the_database_and_all_our_keys(
    world: World, link: Any
) -> None:
    link.back()
    [row] = world.ask("SELECT * FROM links")
    without_our_layer = world.app.vault.decrypt(row.unconfirmed)
    for text in (str(row), without_our_layer):
        assert "Page a1" not in text
        assert "access c0de" not in text
    for key in (ATTACKER, row.browser):  # of another browser, and all that the row tells of the right one
        with pytest.raises(UnreadableSecret):
            Browser(key).unlock(without_our_layer)
    assert "access c0de" in Browser(VICTIM).unlock(without_our_layer)


def test_a_browsers_key_is_neither_stored_nor_taken_to_the_platform(world: World, link: Any) -> None:
    query = dict(link.query)
    link.agree()
    [row] = world.ask("SELECT * FROM links")
    assert VICTIM not in str(row)
    assert VICTIM not in str(query)
    assert VICTIM not in repr(Browser(VICTIM))


def test_who_copies_the_stored_browser_into_a_request_decides_nothing(world: World, link: Any) -> None:
    link.back()
    [row] = world.ask("SELECT browser FROM links")
    assert refusal_of(link.decide, row.browser) == refusal_of(link.page, row.browser) == OTHER


def test_what_waited_cannot_be_linked_after_our_key_is_gone_but_can_be_cancelled(
    world: World, link: Any, make_app: Any
) -> None:
    link.back()
    world.app = make_app(credential_keys=(Fernet.generate_key().decode(),))
    assert refusal_of(link.decide) == refusal_of(link.page) == GONE
    assert link.decide(is_given=False).status == "refused"


def test_pages_of_an_account_that_the_operator_turned_off_are_not_repaired_by_an_open_consent(
    world: World, link: Any
) -> None:
    link.agree()
    [page] = link.choose("a1")
    again = link.another()
    again.back("new")
    linked_pages.expire(world.app, operator(), api.GetPage(id=page.id))
    assert refusal_of(again.decide) == GONE
    [row] = world.ask("SELECT expired FROM pages")
    assert row.expired


@pytest.fixture
def returning(world: World, link: Any, make_app: Any) -> Any:
    """A linking with an address of the app to which it sends the person back."""
    world.app = make_app(return_urls=frozenset({("usr_a", "https://app.example/linked")}))
    world.app.logins = {"FB": link.login}
    return link.another(None, "brd_a", "https://app.example/linked?x=1")


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (lambda link: link.agree(), "choose"),
        (lambda link: (link.back(), link.decide(is_given=False)), "refused"),
        (lambda link: link.back(code="", error="access_denied"), "refused"),
        (lambda link: link.back(code="", error="server_error"), "failed"),
    ],
)
def test_the_person_is_brought_back_with_session_and_outcome(returning: Any, end: Any, status: str) -> None:
    assert returning.page().return_url is None
    end(returning)
    outcome = f"session_id={returning.begun.session_id}&status={status}"
    assert returning.page().return_url == f"https://app.example/linked?x=1&{outcome}"


def test_nobody_is_brought_back_before_the_decision(returning: Any) -> None:
    returning.back()
    assert (returning.page().status, returning.page().return_url) == ("confirm", None)


def test_an_address_that_is_not_listed_begins_nothing(world: World, returning: Any) -> None:
    before = world.ask("SELECT count(*) AS n FROM links")
    for url in ("https://evil.test/", "https://app.example/linked/x"):
        assert refusal_of(returning.another, None, "brd_a", url)[0] == "VALIDATION_ERROR"
    assert world.ask("SELECT count(*) AS n FROM links") == before
