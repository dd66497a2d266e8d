"""Tests the dashboard in a browser that runs no scripts: from the sign-in to a scheduled post that is moved, to a
comment that is answered, to a failed post that is tried again, and to tokens and webhooks.
"""

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from e2e_kit.operator import Operator
from e2e_kit.posting import await_post, schedule
from e2e_kit.receiver import Receiver
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until


@pytest.fixture
def scriptless(stranger: Any) -> Iterator[Any]:
    """A person who is not signed in, whose browser runs no scripts."""
    stranger.window.permit_scripts(False)
    stranger.window.emulate_phone(1280, 1000, "light")
    yield stranger
    stranger.window.permit_scripts(True)
    stranger.window.emulate_phone(0, 0, "")


def goes_out_at(window: Any, day: dt.date, date: str, time: str, at: str) -> None:
    """Types a day and a time into their fields, as an English browser takes them."""
    window.type(date, f"{day:%m%d%Y}")
    window.type(time, at)


def test_from_the_sign_in_to_a_post_that_is_scheduled_and_moved(
    scriptless: Any, picture: Path, simulator: Simulator
) -> None:
    person, window, api = scriptless, scriptless.window, scriptless.account.api
    person.open("/compose")
    person.sign_in()
    assert window.text("h1") == "New post"
    for platform in ("FB", "IG"):
        window.click(f"input[name=page_id][value={person.account.page_id(platform)}]")
    window.type("#message", "Lanterns on Friday")
    window.click("#composer details summary")
    window.type(f"#own-{person.account.page_id('IG')}", "Lanterns, and soup")
    window.press("button[value=check]")
    assert "Instagram does not take posts without" in window.text("#beside-media")
    assert "Lanterns, and soup" in window.text("#previews")
    window.type("#files-input", str(picture))
    day = (dt.datetime.now(dt.UTC) + dt.timedelta(days=5)).date()
    window.click("input[name=when][value=later]")
    goes_out_at(window, day, "#date", "#time", "0930AM")
    window.press("button[value=check]")
    assert "bread.jpg" in window.text("#files")
    assert window.run("return document.querySelectorAll('#findings .finding.good').length") == 2
    window.press("#send")
    assert window.text("h1") == "Scheduled"
    made = api.get("/posts/scheduled")["scheduled_posts"]
    assert sorted(it["message"] for it in made) == ["Lanterns on Friday", "Lanterns, and soup"]
    assert [len(it["media"]) for it in made] == [1, 1]
    window.press("main a[href^='/calendar']")
    assert "09:30" in window.text(f"[data-day='{day}']")
    moves(person, next(it["id"] for it in made if it["message"] == "Lanterns on Friday"), day)
    finds(person)


def moves(person: Any, post_id: str, day: dt.date) -> None:
    """Moves the post to the next day and back, with the link that is meant for keyboards."""
    window, api = person.window, person.account.api
    begun = api.get(f"/posts/{post_id}")["post"]["scheduled_at"]
    window.press(f"a[href='/calendar/move/{post_id}']")
    assert re.fullmatch(r"Goes out .* 20\d\d, 09:30 Europe/Berlin .*", window.text("#moves-to"))
    goes_out_at(window, day + dt.timedelta(days=1), "#move-date", "#move-time", "0615PM")
    window.press("main form button.primary")
    assert window.text("h1") == "Moved"
    moved = api.get(f"/posts/{post_id}")["post"]["scheduled_at"]
    assert dt.datetime.fromisoformat(moved) - dt.datetime.fromisoformat(begun) == dt.timedelta(
        days=1, hours=8, minutes=45
    )
    window.press("main form button")
    assert api.get(f"/posts/{post_id}")["post"]["scheduled_at"] == begun


def finds(person: Any) -> None:
    """Searches the list of posts, and asserts that it shows only the post with the text."""
    window = person.window
    person.open("/posts")
    window.type("[name=search]", "soup")
    window.press(".filters button.without-script")
    assert "Lanterns, and soup" in window.text("#posts")
    assert "Lanterns on Friday" not in window.text("#posts")


def test_a_post_goes_out_and_its_comment_is_answered(scriptless: Any, simulator: Simulator) -> None:
    person, window, api = scriptless, scriptless.window, scriptless.account.api
    person.open("/")
    person.sign_in()
    window.press("a.new")
    window.click(f"input[name=page_id][value={person.account.page_id('FB')}]")
    window.type("#message", "Fresh rye")
    window.press("#send")
    assert window.text("h1") == "Published"
    [post] = api.get("/posts/published")["published_posts"]
    simulator.comment("FB", post["remote_id"], "Spelt, too?")
    person.open("/comments")
    window.press(".threads a.without-script")
    assert "Spelt, too?" in window.text(".conversations")
    window.press(".conversations button[formaction]")
    assert "No reply needed" in window.text(".reply .status")
    window.press(".conversations button[formaction]")
    assert window.text(".conversations button[formaction]") == "No reply needed"
    window.type(".conversations textarea", "Every Friday.")
    window.press(".conversations form button")
    assert window.text("h1") == "Answered"
    window.press("main a[href^='/comments/of']")
    assert "Every Friday." in window.text(".conversations")


def test_what_a_script_would_load_has_a_link(scriptless: Any) -> None:
    person, window = scriptless, scriptless.window
    person.open("/")
    person.sign_in()
    window.press("main a[href='/overview/account']")
    assert "Posts this month" in window.text("main")
    person.open("/pages")
    window.click(".manage summary")
    window.press(".unlink a")
    assert window.text("h1") == "Posts"
    person.open("/library")
    assert window.has("button.without-script")
    window.click(".work summary")
    window.press(".work a")
    assert window.text("h1") == "Brands"
    window.press(".leave button")
    until(lambda: window.title.startswith("Sign in"), 10, "the person is signed out")


def test_a_failed_post_is_tried_again(scriptless: Any, simulator: Simulator, operator: Operator) -> None:
    person, window = scriptless, scriptless.window
    post_id = schedule(person.account, "TW", message="Rye at last")["id"]
    simulator.fault("reject", person.account.pages["TW"], operation="publish")
    operator("post", "due", post_id)
    await_post(person.account.api, post_id, status="failed")
    person.open("/")
    person.sign_in()
    assert "Rye at last" in window.text("[aria-labelledby=needs]")
    window.press("[aria-labelledby=needs] .grow a")
    window.press("form[action$=retry] button")
    assert "goes out in a moment" in window.text("[role=status]")
    await_post(person.account.api, post_id, status="published")


def test_a_token_is_made_seen_once_and_revoked(scriptless: Any) -> None:
    person, window = scriptless, scriptless.window
    person.open("/developers")
    person.sign_in()
    window.click("[aria-labelledby=tokens] .make summary")
    window.type("#token-name", "For the till")
    window.press("form[action$='/tokens'] button")
    assert window.has("[role=alert]")
    assert window.run("return document.querySelector('#token-name').value") == "For the till"
    window.click("input[name=scope][value='read:posts']")
    window.press("form[action$='/tokens'] button")
    token = window.run("return document.querySelector('#secret').value")
    assert window.text(".copy") == ""  # no script could copy it
    me = f"{person.account.api.base_url}/me"
    told = requests.get(me, headers={"Authorization": f"Bearer {token}"}, timeout=30)
    assert told.json()["api_key"]["scopes"] == ["read:posts"]
    window.press("main a.button")
    assert token not in window.run("return document.documentElement.outerHTML")
    window.click("summary[aria-label='Manage For the till']")
    window.press("button[aria-label='Revoke For the till']")
    assert "Nothing can use it any more" in window.text("[role=status]")
    assert requests.get(me, headers={"Authorization": f"Bearer {token}"}, timeout=30).status_code == 401


def test_the_sandbox_token_is_shown(scriptless: Any) -> None:
    person, window = scriptless, scriptless.window
    person.open("/developers")
    person.sign_in()
    window.press("button[aria-label='Show the token: Sandbox']")
    assert window.run("return document.querySelector('#secret').value") == person.account.sandbox_token
    assert window.text(".copy") == ""  # no script could copy it


def test_a_webhook_is_made_and_tested_and_its_delivery_is_sent_again(
    scriptless: Any, receiver: Receiver
) -> None:
    person, window = scriptless, scriptless.window
    person.open("/developers")
    person.sign_in()
    window.click("[aria-labelledby=webhooks] .make summary")
    window.type("#hook-name", "The till")
    window.type("#hook-url", receiver.url("/till"))
    window.click("input[name=event][value='post.published']")
    window.press("form[action$='/webhooks'] button")
    secret = window.run("return document.querySelector('#secret').value")
    window.press("main a.button")
    assert secret not in window.run("return document.documentElement.outerHTML")
    window.press("[aria-labelledby=webhooks] .row a")
    page = window.url
    window.press("form[action$=test] button")
    assert "on its way" in window.text("[role=status]")
    [first] = receiver.await_arrivals("/till", 1)
    assert first.verified(secret).event == "webhook.test"

    def is_delivered() -> bool:
        window.open(page)
        return "Answered 2" in window.text("[aria-labelledby=deliveries]")

    until(is_delivered, 30, "the test event is delivered")
    window.press("[aria-labelledby=deliveries] .row a")
    window.press("main form button.primary")
    assert "sent again" in window.text("[role=status]")
    again = receiver.await_arrivals("/till", 2)[1]
    assert again.verified(secret).id == first.verified(secret).id
