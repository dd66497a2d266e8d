"""While a part of the server or a platform does not answer, every screen says so, recovers by itself, and keeps what
was typed.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from e2e_kit.accessibility import flaws
from e2e_kit.operator import Account, Accounts
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

SCREENS = (
    "/", "/overview/account", "/calendar", "/posts", "/posts?tab=published", "/comments", "/compose",
    "/compose/library", "/compose/ai", "/library", "/pages", "/brands", "/usage", "/developers/requests",
    "/usage/credits", "/activity/audit", "/developers", "/account", "/account/email", "/account/codes",
)  # fmt: skip
SERVICES = ("accounts", "ai", "media", "publishing", "quota", "webhooks")


class Visitor:
    """A browser without scripts that is signed in."""

    def __init__(self, stack: Stack, account: Account, accounts: Accounts) -> None:
        self._url = stack.env["DASHBOARD_URL"]
        self._session = accounts.sign_in(account)["session_token"]

    def open(self, path: str) -> requests.Response:
        cookies = {"posthaste_session": self._session, "posthaste_form": "k" * 43}
        return requests.get(self._url + path, cookies=cookies, timeout=90)

    def open_all(self) -> dict[str, requests.Response]:
        with ThreadPoolExecutor(len(SCREENS)) as pool:
            return dict(zip(SCREENS, pool.map(self.open, SCREENS), strict=True))


@pytest.mark.alone
@pytest.mark.parametrize("service", SERVICES)
def test_while_a_service_is_away_each_screen_is_shown_or_says_so_and_comes_back(
    service: str, stack: Stack, accounts: Accounts
) -> None:
    visitor = Visitor(stack, accounts.new(pages=("FB",)), accounts)
    with stack.held_down(service):
        found = visitor.open_all()
    statuses = {screen: answer.status_code for screen, answer in found.items()}
    assert set(statuses.values()) <= {200, 503}, statuses
    assert 503 in statuses.values() or service == "quota"  # the gateway admits calls for a while without it
    for screen, answer in found.items():
        if answer.status_code == 503:
            assert "Posthaste is not responding" in answer.text, screen
            assert answer.headers["Refresh"] == "5", screen
    stack.await_ready(60)
    until(lambda: {it.status_code for it in visitor.open_all().values()} == {200}, 60, "all screens are back")


@pytest.mark.alone
def test_without_the_api_a_screen_comes_back_by_itself_and_a_form_is_sent_again(
    person: Any, stack: Stack
) -> None:
    window = person.window
    person.open("/brands")
    window.click("#new summary")
    window.type("#name", "Night Market")
    with stack.held_down("gateway"):
        window.press("#new form button")
        assert "Send it again" in window.text("main")
        assert flaws(window) == []
    stack.await_ready(60)
    window.press("main form button")
    assert window.text("h1") == "Night Market"
    names = [it["name"] for it in person.account.api.get("/brands")["brands"]]
    assert names.count("Night Market") == 1
    with stack.held_down("gateway"):
        person.open("/posts")
        assert window.text("h1") == "Posthaste is not responding"
        assert flaws(window) == []
    until(
        lambda: window.run("return document.querySelector('h1')?.innerText") == "Posts", 60, "it loads again"
    )


@pytest.mark.alone
def test_the_composer_checks_again_when_the_api_is_back(person: Any, stack: Stack) -> None:
    window = person.window
    person.open("/compose")
    window.click(f"input[name=page_id][value={person.account.page_id('FB')}]")
    with stack.held_down("gateway"):
        window.type("#message", "Half a thought")
        until(lambda: window.has("#findings .failed"), 60, "the outage is told")
        assert flaws(window) == []
    stack.await_ready(60)
    until(lambda: window.has("#findings .finding.good"), 60, "it is checked again")
    assert window.run("return document.querySelector('#message').value") == "Half a thought"


@pytest.mark.alone
def test_without_the_dashboard_itself_the_composer_says_that_no_answer_came_and_checks_again(
    person: Any, stack: Stack
) -> None:
    window = person.window
    person.open("/compose")
    window.click(f"input[name=page_id][value={person.account.page_id('FB')}]")
    until(lambda: window.has("#findings .finding"), 20, "it is checked")
    with stack.held_down("dashboard"):
        window.type("#message", "Half a thought")
        until(lambda: window.has(".no-answer"), 60, "it is told")
        assert flaws(window) == []
    stack.await_ready(60)

    def is_checked() -> bool:
        window.type("#message", "!")
        return bool(window.has("#findings .finding.good")) and not window.has(".no-answer")

    until(is_checked, 60, "it is checked again", pause_seconds=2.0)
    assert window.run("return document.querySelector('#message').value").startswith("Half a thought!")


def test_while_a_platform_is_slow_the_page_says_at_once_that_it_waits_and_sends_nothing_twice(
    person: Any, simulator: Simulator
) -> None:
    window, page = person.window, person.account.pages["FB"]
    person.open("/compose")
    window.click(f"input[name=page_id][value={page['id']}]")
    window.type("#message", "Slowly")
    simulator.fault("slow", page, operation="publish", seconds=4.0)
    seen = window.run(  # in one script: the driver waits for the next page before it runs another
        "const it = document.querySelector('#send'); it.click(); it.click();"
        "return [it.matches('.busy'), document.querySelector('#composer').ariaBusy]"
    )
    assert seen == [True, "true"]
    until(lambda: window.title == "Published · Posthaste", 60, "it went out")
    posts = simulator.posts(page)
    assert [it["text"] for it in posts] == ["Slowly"]
    simulator.comment("FB", posts[0]["id"], "Is there tea?")
    simulator.fault("slow", page, operation="comments", seconds=2.0)
    person.open("/comments")
    assert "Loading comments from Facebook" in window.text(".threads")
    until(lambda: window.has(".conversations textarea"), 60, "the comment is there")
    simulator.fault("slow", page, operation="reply", seconds=3.0)
    window.type(".conversations textarea", "Three kinds of it.")
    window.click(".conversations form button")
    assert window.run("return document.querySelector('.conversations form button').disabled")
    assert (
        window.run("return document.querySelector('.conversations textarea').value") == "Three kinds of it."
    )
    until(lambda: "Sent" in window.text(".conversations"), 60, "it is answered")


def test_a_platform_that_does_not_answer_is_told_where_its_comments_would_be(
    person: Any, simulator: Simulator
) -> None:
    window, page = person.window, person.account.pages["FB"]
    out = person.account.api.post("/posts/publish", {"page_id": page["id"], "message": "Open"})
    simulator.comment("FB", out["platform_post_id"], "Is there tea?")
    simulator.fault("server_error", page, operation="comments", times=6)
    person.open("/comments")
    until(lambda: window.has(".threads .note"), 90, "it is told")
    assert "Open" in window.text("#inbox")
    assert flaws(window) == []
    assert window.click_and_hold(".threads .note + p a")
    window.go_on()

    def is_there() -> bool:
        window.run("document.querySelector('.threads .note + p a')?.click()")
        return "Is there tea?" in window.text("#inbox")

    until(is_there, 90, "the comments are there after all", pause_seconds=1.0)
