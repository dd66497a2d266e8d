"""Tests pages in the dashboard: connected through the platform's login in one browser, checked, reconnected and
unlinked.
"""

import datetime as dt
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests
from e2e_kit.accessibility import flaws
from e2e_kit.api import refused
from e2e_kit.linking import begin, linked
from e2e_kit.operator import Operator
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until

from dashboard.cookies import form_token


def log_in_at_the_platform(person: Any, who: dict[str, Any]) -> None:
    """Goes from our page to the platform's login, allows everything, and comes back."""
    window = person.window
    window.press("main a.primary")
    window.run(f"document.cookie = 'sim_person={who['person_id']}; path=/'")
    window.press("a")
    window.press("button[name=sim_allow]")
    window.press("button[value=give]")
    until(lambda: "/pages/linked?" in window.url, 20, "the login leads back")


def test_a_page_is_connected_through_the_platforms_login(person: Any, simulator: Simulator) -> None:
    window, who = person.window, simulator.person("LN")
    person.open("/pages")
    window.click("#connect summary")
    window.press("#connect button[value=LN]")
    assert "Connect LinkedIn" in window.text("h1")
    log_in_at_the_platform(person, who)
    if not window.has("[name=account_id]:checked"):
        window.click("[name=account_id]")
    window.press("main form button")
    assert "You can post to it now" in window.text("[role=status]")
    assert [page["platform"] for page in person.account.api.get("/pages")["pages"]].count("LN") == 1


def test_a_login_that_is_refused_is_told_and_tried_again(person: Any, simulator: Simulator) -> None:
    window, who = person.window, simulator.person("TW")
    person.open("/pages")
    window.click("#connect summary")
    window.press("#connect button[value=TW]")
    window.press("main a.primary")
    window.run(f"document.cookie = 'sim_person={who['person_id']}; path=/'")
    window.press("a")
    window.press("button[name=sim_deny]")
    until(lambda: "/pages/linked?" in window.url, 20, "the login leads back")
    assert "X was not connected" in window.text("[role=alert]")
    window.press("main form button")
    assert "Connect X" in window.text("h1")


def test_a_page_whose_connection_ended_asks_to_be_reconnected(person: Any, operator: Operator) -> None:
    operator("page", "expire", person.account.page_id("FB"))
    person.open("/")
    assert "The connection has ended" in person.window.text("[aria-labelledby=needs]")
    person.window.press("[aria-labelledby=needs] button")
    assert "Connect Facebook" in person.window.text("h1")
    person.open("/pages")
    assert "Not connected" in person.window.text(f"#{person.account.page_id('FB')}")


def test_a_page_says_that_its_platform_refused_a_post_until_another_one_goes_out(
    person: Any, simulator: Simulator
) -> None:
    account, page = person.account, person.account.pages["TW"]
    brand = f"/brands/{account.brand_id}"

    def told() -> tuple[bool, bool, Any]:
        """Returns whether the list of pages and the brand's screen say it, and what the API says."""
        person.open("/pages")
        listed = "Post refused" in person.window.text(f"#{page['id']}")
        person.open(brand)
        in_brand = "Post refused" in person.window.text("[aria-labelledby=pages]")
        return listed, in_brand, account.api.get(f"/pages/{page['id']}")["page"]["last_refusal"]

    simulator.fault("reject", page)
    body = {"page_id": page["id"], "message": "Nobody wants this"}
    refused(account.api.call("POST", "/posts/publish", json=body), 502, "PLATFORM_REJECTED")
    listed, in_brand, last = told()
    assert (listed, in_brand, last["code"]) == (True, True, "PLATFORM_REJECTED")
    assert flaws(person.window) == []
    assert account.api.get(f"/posts/{last['post_id']}")["post"]["error"]["message"] == last["message"]
    account.api.post("/posts/publish", body | {"message": "Everybody wants this"})
    assert told() == (False, False, None)


def test_a_connection_is_checked_at_the_platform(person: Any) -> None:
    person.open("/pages")
    row = f"#{person.account.page_id('FB')}"
    person.window.click(f"{row} summary")
    person.window.press(f"{row} form[action$=check] button")
    assert "the connection works" in person.window.text("[role=status]")
    person.open("/pages")
    assert "Checked " in person.window.text(row)


def test_a_page_that_lacks_a_permission_says_so_once_it_was_checked(
    person: Any, simulator: Simulator
) -> None:
    page, _ = linked(person.account, simulator, "TW", withholds=["media.write"])
    person.account.api.post(f"/pages/{page['id']}/check", status=200)
    person.open("/pages")
    shown = person.window.text(f"#{page['id']}")
    for text in ("Missing permission", "media.write", "Access until"):
        assert text in shown
    assert flaws(person.window) == []
    person.open("/")
    needs = "[aria-labelledby=needs]"
    assert "The connection lacks permissions" in person.window.text(needs)
    assert flaws(person.window) == []
    person.window.press(f"{needs} button[aria-label^=Reconnect]")
    assert "Connect X" in person.window.text("h1")


def test_a_page_with_scheduled_posts_is_unlinked_only_with_them(person: Any) -> None:
    page_id, api = person.account.page_id("FB"), person.account.api
    at = (dt.datetime.now(dt.UTC) + dt.timedelta(hours=5)).isoformat()
    api.post("/posts/schedule", {"page_id": page_id, "message": "Waiting", "scheduled_at": at})
    window = person.window
    person.open("/pages")
    window.click(f"#{page_id} summary")
    told = f"return document.querySelector('#{page_id}').innerText"
    until(lambda: "1 post waits for this page" in window.run(told), 20, "what it would cancel is told")
    window.press(f"#{page_id} form[action$=unlink] button")
    assert "1 post is still scheduled for this page" in window.text("[role=alert]")
    assert page_id in {page["id"] for page in api.get("/pages")["pages"]}
    window.click(f"#{page_id} summary")
    window.click(f"#{page_id} [name=cancel]")
    window.press(f"#{page_id} form[action$=unlink] button")
    assert "The page is unlinked" in window.text("[role=status]")
    assert page_id not in {page["id"] for page in api.get("/pages")["pages"]}


def test_a_login_that_was_begun_in_one_browser_cannot_be_ended_in_another(
    person: Any, simulator: Simulator
) -> None:
    window, who, key = person.window, simulator.person("LN"), "k" * 43
    person.open("/pages")
    window.click("#connect summary")
    window.press("#connect button[value=LN]")
    log_in_at_the_platform(person, who)
    session_id = parse_qs(urlsplit(window.url).query)["session_id"][0]

    other = requests.Session()  # in which the same person is signed in
    signed_in = window.cookies()["posthaste_session"]
    other.cookies.update({"posthaste_session": signed_in, "posthaste_form": key})
    accounts = person.account.api.get(f"/pages/connect/{session_id}")["accounts"]
    seen = other.get(f"{person.url}/pages/linked?session_id={session_id}", timeout=30)
    form = {"form_token": form_token(key, signed_in), "account_id": accounts[0]["account_id"]}
    sent = other.post(f"{person.url}/pages/linked/{session_id}", data=form, timeout=30)
    for answer in (seen, sent):
        assert (answer.status_code, "was not begun in this browser" in answer.text) == (403, True)
        assert accounts[0]["name"] not in answer.text
    assert "LN" not in {page["platform"] for page in person.account.api.get("/pages")["pages"]}

    if not window.has("[name=account_id]:checked"):
        window.click("[name=account_id]")
    window.press("main form button")
    assert "You can post to it now" in window.text("[role=status]")


def test_a_login_that_a_program_has_begun_is_not_ended_in_the_dashboard(
    person: Any, simulator: Simulator
) -> None:
    linking = begin(person.account, simulator, "TW")
    assert linking.open().outcome == "choose"
    person.open(f"/pages/linked?session_id={linking.begun['session_id']}&status=choose")
    window = person.window
    assert window.text("h1") == "This login was not begun in this browser"
    assert flaws(window) == []
    window.press("main a.primary")
    assert window.text("h1") == "Pages"
