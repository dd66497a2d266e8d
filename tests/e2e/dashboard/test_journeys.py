"""What people do in the dashboard, in a real browser: sign in, look around, write, send, correct and sign out."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
import requests
from e2e_kit.accessibility import flaws
from e2e_kit.operator import Accounts, Operator
from e2e_kit.receiver import Answer, Receiver
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until

TAB, ENTER, SPACE = "\ue004", "\ue007", " "


def choose(person: Any, platform: str) -> None:
    person.window.click(f"input[name=page_id][value={person.account.page_id(platform)}]")


def shows(person: Any, css: str, text: str) -> None:
    """Waits until this element shows a text. The page's script may replace the element meanwhile."""
    asked = f"return document.querySelector('{css}')?.innerText ?? ''"
    until(lambda: text in person.window.run(asked), 20, f"{css} shows {text!r}")


def schedule(person: Any, text: str, platform: str = "FB", hours: float = 5) -> str:
    at = dt.datetime.now(dt.UTC) + dt.timedelta(hours=hours)
    body = {"page_id": person.account.page_id(platform), "message": text, "scheduled_at": at.isoformat()}
    post_id: str = person.account.api.post("/posts/schedule", body)["scheduled_post"]["id"]
    return post_id


def test_who_signs_in_comes_to_the_page_that_was_asked_for_and_signing_out_ends_the_session(
    stranger: Any,
) -> None:
    window = stranger.window
    stranger.open("/posts?tab=published")
    assert window.title == "Sign in · Posthaste"
    stranger.sign_in()
    assert window.url == f"{stranger.url}/posts?tab=published"
    assert window.run("return document.cookie") == ""  # no script can read one
    window.press(".leave button")
    assert window.title == "Sign in · Posthaste"
    stranger.open("/posts")
    assert window.title == "Sign in · Posthaste"


def test_a_wrong_password_and_an_unknown_address_get_the_same_answer(stranger: Any) -> None:
    told = set()
    for email in (stranger.account.email, "nobody@example.test"):
        stranger.open("/sign-in")
        stranger.window.type("#email", email)
        stranger.window.type("#password", "not this one")
        stranger.window.press("form button")
        told.add(stranger.window.text("[role=alert]"))
    assert told == {"The address or the password is not right."}
    assert flaws(stranger.window) == []


def test_a_new_password_is_asked_for_without_a_hint_whether_the_address_exists(stranger: Any) -> None:
    told = set()
    for email in (stranger.account.email, "nobody@example.test"):
        stranger.open("/sign-in")
        stranger.window.press(".after a")
        stranger.window.type("#email", email)
        stranger.window.press("form button")
        told.add(stranger.window.text("main"))
    [text] = told
    assert "If the address has an account, an email with a link is on its way" in text
    assert flaws(stranger.window) == []


def test_a_session_that_was_ended_elsewhere_leads_to_the_form(person: Any) -> None:
    person.open("/account")
    assert "This browser" in person.window.text("main")
    token = person.window.cookies()["posthaste_session"]
    root = person.account.api.base_url.removesuffix("/api/v1")
    requests.post(f"{root}/auth/logout", headers={"Authorization": f"Bearer {token}"}, timeout=30)

    def is_signed_out() -> bool:
        person.open("/posts")
        return "You were signed out" in person.window.text("main")

    until(is_signed_out, 10, "every process of the gateway has heard of the end of the session")
    assert flaws(person.window) == []
    person.sign_in()
    assert person.window.text("h1") == "Posts"


def test_the_overview_shows_what_goes_out_and_what_failed(
    person: Any, simulator: Simulator, operator: Operator
) -> None:
    person.open("/")
    assert "Nothing failed" in person.window.text("main")
    schedule(person, "Rye bread today")
    failed = schedule(person, "Nobody wants this", platform="TW")
    simulator.fault("reject", person.account.pages["TW"], operation="publish")
    operator("post", "due", failed)
    until(lambda: person.account.api.get(f"/posts/{failed}")["post"]["status"] == "failed", 30, "it fails")
    person.open("/")
    assert "Rye bread today" in person.window.text("[aria-labelledby=next]")
    assert "Nobody wants this" in person.window.text("[aria-labelledby=needs]")
    shows(person, "#month", "2 of")  # which htmx adds; the first look had none
    person.window.press("[aria-labelledby=needs] .row a")
    told = person.window.text("main")
    assert "X refused the post." in told
    assert "What to do: X gave this reason." in told
    assert person.window.text(".actions .primary") == "Go to the page"  # X answered 403
    assert "Edit and retry" in person.window.text(".actions")
    person.window.press("form[action$=retry] button")
    assert "goes out in a moment" in person.window.text("[role=status]")
    until(
        lambda: person.account.api.get(f"/posts/{failed}")["post"]["status"] == "published", 30, "it goes out"
    )


def test_whoever_has_no_page_sees_first_how_to_connect_one(person: Any) -> None:
    window = person.window
    for page in person.account.pages.values():
        assert person.account.api.call("DELETE", f"/pages/{page['id']}").status_code == 200
    person.open("/")
    shows(person, "#month", "Posts this month")
    assert window.run("return [...document.querySelectorAll('main h2')].map(it => it.innerText)") == [
        "Connect your first page",
        "Usage",
    ]
    assert flaws(window) == []
    window.press("main .primary")
    assert window.text("h1") == "Pages"


def test_a_failed_post_is_dismissed_and_needs_nobody_any_more(
    person: Any, simulator: Simulator, operator: Operator
) -> None:
    window, failed = person.window, schedule(person, "Nobody wants this", platform="TW")
    simulator.fault("reject", person.account.pages["TW"], operation="publish")
    operator("post", "due", failed)
    until(lambda: person.account.api.get(f"/posts/{failed}")["post"]["status"] == "failed", 30, "it fails")
    person.open("/posts")
    shows(person, ".tabs", "(1)")
    person.open("/")
    assert window.text("[aria-labelledby=needs] .row .buttons") == "Go to the page"  # X answered 403
    window.press("[aria-labelledby=needs] .row a")
    assert "Dismiss: moves this post to Cancelled; nothing is sent." in window.text("main")
    window.press("form[action$=dismiss] button")
    assert "The post is dismissed" in window.text("[role=status]")
    assert "Schedule it again" in window.text("[role=status]")
    assert flaws(window) == []
    window.press("[role=status] a[href='/']")
    assert "Nothing failed" in window.text("[aria-labelledby=needs]")
    assert person.account.api.get(f"/posts/{failed}")["post"]["status"] == "cancelled"
    person.open("/posts?tab=cancelled")
    assert "Nobody wants this" in window.text("#posts")
    assert flaws(window) == []


def test_a_disabled_webhook_is_enabled_where_it_is_told(stranger: Any, receiver: Receiver) -> None:
    person, window, api = stranger, stranger.window, stranger.account.api
    person.open("/compose")  # the overview keeps what it read of webhooks for a minute
    person.sign_in()
    receiver.answers("/gone", Answer(410))
    hook = {"name": "The till", "url": receiver.url("/gone"), "events": ["post.published"]}
    hook_id = api.post("/webhooks", hook)["id"]
    api.post(f"/webhooks/{hook_id}/test", status=202)
    until(lambda: api.get(f"/webhooks/{hook_id}")["status"] == "disabled", 30, "it is disabled")
    person.open("/")
    needs = "[aria-labelledby=needs]"
    shows(person, needs, "The till")
    receiver.answers("/gone", Answer())
    window.press(f"{needs} button[aria-label='Enable the webhook: The till']")
    assert api.get(f"/webhooks/{hook_id}")["status"] == "active"


def test_a_post_for_two_pages_with_a_photo_and_a_text_of_its_own_goes_out_once_on_each(
    person: Any, simulator: Simulator, picture: Path
) -> None:
    window = person.window
    person.open("/compose")
    choose(person, "IG")
    window.type("#message", "Fresh from the oven")
    shows(person, "#beside-media", "Instagram does not take posts without")
    shows(person, "#findings", "Fix: Photos and videos")
    choose(person, "TW")
    window.click("main summary")
    window.type(f"#own-{person.account.page_id('TW')}", "Fresh bread, in few words")
    window.type("#files-input", str(picture))
    shows(person, "#files", "bread.jpg")
    until(lambda: window.run("return document.querySelectorAll('#findings .finding.good').length") == 2, 20,
          "both are ready")  # fmt: skip
    window.press("#send")
    assert window.text("h1") == "Published"
    texts = {
        platform: [it["text"] for it in simulator.posts(person.account.pages[platform])]
        for platform in ("IG", "TW", "FB")
    }
    assert texts == {"IG": ["Fresh from the oven"], "TW": ["Fresh bread, in few words"], "FB": []}
    window.press("a[href*='published']")
    assert "Fresh bread, in few words" in window.text("#posts")


def test_a_post_for_later_goes_out_at_the_time_of_the_chosen_zone(person: Any) -> None:
    window = person.window
    person.open("/compose")
    choose(person, "FB")
    window.type("#message", "See you on Monday")
    window.click("input[name=when][value=later]")
    day = (dt.datetime.now(dt.UTC) + dt.timedelta(days=3)).strftime("%Y-%m-%d")
    window.run(f"document.querySelector('#date').value = '{day}'; document.querySelector('#time').value = '09:30';"
               "document.querySelector('#zone').value = 'Asia/Tokyo'")  # fmt: skip
    window.press("#send")
    assert window.text("h1") == "Scheduled"
    assert "09:30 Asia/Tokyo" in window.text("#sent")
    [post] = person.account.api.get("/posts/scheduled")["scheduled_posts"]
    assert post["scheduled_at"].startswith(f"{day}T00:30:00")


def test_what_is_refused_keeps_what_was_typed(person: Any) -> None:
    window = person.window
    person.open("/compose")
    choose(person, "TW")
    long = "far too long " * 40
    window.run(f"document.querySelector('#message').value = '{long}'")
    window.press("#send")
    assert window.run("return document.querySelector('#message').value") == long.strip()
    assert "X" in window.text("#findings .bad")
    assert window.has("[role=alert]")
    assert flaws(window) == []
    assert window.run("return document.querySelector('[name=page_id]:checked').value") == (
        person.account.page_id("TW")
    )


def test_a_draft_survives_a_reload_with_its_files(person: Any, picture: Path) -> None:
    window = person.window
    person.open("/compose")
    choose(person, "FB")
    window.type("#message", "Half a thought")
    window.type("#files-input", str(picture))
    shows(person, "#files", "bread.jpg")
    person.open("/compose")
    assert window.run("return document.querySelector('#message').value") == "Half a thought"
    assert window.run("return document.querySelectorAll('[name=page_id]:checked').length") == 1
    shows(person, "#files", "bread.jpg")
    window.click("#files .remove")
    person.open("/compose")
    assert window.run("return document.querySelector('#message').value") == "Half a thought"
    assert not window.has("#files li")


def test_a_scheduled_post_is_changed_and_cancelled(person: Any) -> None:
    post_id = schedule(person, "Old text")
    window = person.window
    person.open(f"/posts/{post_id}")
    window.click("details.card summary")
    window.run("document.querySelector('#message').value = 'New text'")
    window.press("form[action$=edit] button")
    assert "Your change is saved" in window.text("[role=status]")
    assert flaws(window) == []
    assert person.account.api.get(f"/posts/{post_id}")["post"]["message"] == "New text"
    window.press("[role=status] button")  # undo
    assert person.account.api.get(f"/posts/{post_id}")["post"]["message"] == "Old text"
    assert not window.has("[role=status] button")
    window.click(".danger summary")
    window.press("form[action$=cancel] button")
    assert "It will not go out" in window.text("[role=status]")
    cancelled = person.account.api.get(f"/posts/{post_id}")["post"]
    assert cancelled["status"] == "cancelled"
    window.press("[role=status] a")
    window.press("#send")
    assert window.text("h1") == "Scheduled"
    [again] = person.account.api.get("/posts/scheduled")["scheduled_posts"]
    assert (again["message"], again["scheduled_at"][:16]) == ("Old text", cancelled["scheduled_at"][:16])


def test_the_list_is_filtered_by_page_without_a_reload(person: Any) -> None:
    schedule(person, "For Facebook", "FB")
    schedule(person, "For X", "TW")
    person.open("/posts")
    window = person.window
    window.run(
        f"const list = document.querySelector('#page'); list.value = '{person.account.page_id('TW')}';"
        "list.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    shown = "return document.querySelector('#posts').innerText"
    until(lambda: "For Facebook" not in window.run(shown), 20, "the list is filtered")
    assert "For X" in window.run(shown)
    assert f"page={person.account.page_id('TW')}" in window.url  # to send to somebody, and for a reload
    window.run("history.back()")
    until(lambda: "For Facebook" in window.run(shown), 20, "the browser went back to all pages")


def test_from_sign_in_to_a_scheduled_post_by_keyboard_alone(stranger: Any) -> None:
    window = stranger.window
    stranger.open("/compose")
    window.press_keys(stranger.account.email + TAB + "the owner's own" + ENTER)
    until(lambda: window.title == "New post · Posthaste", 20, "the form is there")

    def go_to(css: str) -> None:
        for _ in range(60):
            if window.run(f"return document.activeElement.matches('{css}')"):
                return
            window.press_keys(TAB)
        pytest.fail(f"the keyboard does not reach {css}")

    go_to("input[name=page_id]")
    window.press_keys(SPACE)
    go_to("#message")
    window.press_keys("By keyboard")
    go_to("input[name=when]")
    window.press_keys("\ue014")  # arrow right: later
    go_to("#send")
    window.press_keys(ENTER)
    until(lambda: window.title == "Scheduled · Posthaste", 20, "it is scheduled")
    [post] = stranger.account.api.get("/posts/scheduled")["scheduled_posts"]
    assert post["message"] == "By keyboard"
    window.press("main a[href^='/calendar']")
    assert "By keyboard" in window.text("#calendar")


def test_another_s_post_is_not_there(person: Any, accounts: Accounts) -> None:
    other = accounts.new()
    at = (dt.datetime.now(dt.UTC) + dt.timedelta(hours=5)).isoformat()
    body = {"page_id": other.page_id(), "message": "Secret plan", "scheduled_at": at}
    post_id = other.api.post("/posts/schedule", body)["scheduled_post"]["id"]
    person.open(f"/posts/{post_id}")
    assert person.window.text("h1") == "There is nothing here"
    person.open(f"/compose?copy={post_id}")
    assert "Secret plan" not in person.window.text("body")
