"""A session that has ended while a form was open: what was typed is in the form again after the person has signed in,
and nobody else ever sees it.
"""

import datetime as dt
from typing import Any

import pytest
from e2e_kit.accessibility import flaws
from e2e_kit.operator import Account, Accounts
from e2e_kit.posting import tomorrow
from e2e_kit.waiting import HEARD_SECONDS, until

PASSWORD = "the owner's own"
KEPT = "return Object.entries(sessionStorage).filter(([name]) => name.startsWith('posthaste-typed-'))"


def value(window: Any, css: str) -> Any:
    """Returns what a field holds, or whether a box is ticked; None if there is no such field."""
    script = (
        "const it = document.querySelector(%r); return it && (it.type === 'checkbox' ? it.checked : it.value)"
    )
    return window.run(script % css)


def end_sessions(person: Any, accounts: Accounts, account: Account | None = None) -> None:
    """Ends all sessions of the person, as in another browser, and waits until the API knows."""
    session = accounts.client(person.window.cookies()["posthaste_session"])
    accounts.sign_in(account or person.account)
    until(
        lambda: session.call("GET", "/me").status_code == 401, HEARD_SECONDS, "every gateway has heard of it"
    )


def sign_in(window: Any, email: str) -> None:
    window.run("document.querySelector('#email').value = ''")
    window.type("#email", email)
    window.type("#password", PASSWORD)
    window.press("form button")


@pytest.fixture
def signed_in(stranger: Any) -> Any:
    """A person who has signed in with the form."""
    stranger.open("/sign-in")
    stranger.sign_in()
    return stranger


def test_a_form_that_was_sent_comes_back_after_signing_in_and_is_sent_once(
    signed_in: Any, accounts: Accounts
) -> None:
    window = signed_in.window
    signed_in.open("/brands")
    window.click("#new summary")
    window.type("#name", "Night <b>Market</b>")
    window.run("document.querySelector('#new [name=zone]').value = 'Asia/Tokyo'")
    end_sessions(signed_in, accounts)
    window.press("#new form button")
    assert window.title == "Sign in · Posthaste"
    assert "Night" not in window.run("return document.documentElement.outerHTML")
    signed_in.sign_in()
    assert window.text("h1") == "Brands"
    assert (value(window, "#name"), value(window, "#new [name=zone]")) == (
        "Night <b>Market</b>",
        "Asia/Tokyo",
    )
    assert "What you typed before is in this form again" in window.text("#new form [role=status]")
    assert window.run("return document.activeElement.id") == "name"
    assert flaws(window) == []
    names = [it["name"] for it in signed_in.account.api.get("/brands")["brands"]]
    assert names.count("Night <b>Market</b>") == 0
    window.press("#new form button")
    assert window.text("h1") == "Night <b>Market</b>"
    signed_in.open("/brands")
    assert value(window, "#name") == ""
    assert window.run(KEPT) == []


def test_nobody_else_finds_what_was_typed(signed_in: Any, accounts: Accounts) -> None:
    window, other = signed_in.window, accounts.new(pages=("FB",), password=PASSWORD)
    signed_in.open("/brands")
    window.click("#new summary")
    window.type("#name", "A secret plan")
    end_sessions(signed_in, accounts)
    window.press("#new form button")
    sign_in(window, other.email)
    assert (window.text("h1"), value(window, "#name")) == ("Brands", "")
    assert "secret plan" not in window.run("return JSON.stringify({...sessionStorage})")


def test_who_signs_out_leaves_nothing_behind(signed_in: Any) -> None:
    window = signed_in.window
    signed_in.open("/brands")
    window.click("#new summary")
    window.type("#name", "A secret plan")
    assert "secret plan" in str(window.run(KEPT))
    window.emulate_phone(1280, 1000, "light")
    window.press(".leave button")
    window.emulate_phone(0, 0, "")
    assert window.run(KEPT) == []
    signed_in.sign_in()
    signed_in.open("/brands")
    assert value(window, "#name") == ""


def test_a_form_of_the_session_before_is_refused_and_opened_again_with_what_was_typed(
    signed_in: Any, accounts: Accounts
) -> None:
    """The person has signed in again in another tab, so that the token of the form is too old."""
    window = signed_in.window
    signed_in.open("/developers")
    window.click("[aria-labelledby=tokens] .make summary")
    window.type("#token-name", "For the till")
    window.click("input[name=scope][value='read:posts']")
    window.type("#addresses", "203.0.113.0/24")
    session = accounts.sign_in(signed_in.account)["session_token"]
    window.keep_cookie("posthaste_session", session)
    window.press("form[action$='/tokens'] button")
    assert window.text("h1") == "This form is too old"
    assert flaws(window) == []
    window.press("main a.primary")
    assert (value(window, "#token-name"), value(window, "#addresses")) == ("For the till", "203.0.113.0/24")
    assert value(window, "input[name=scope][value='read:posts']") is True
    assert value(window, "input[name=scope][value='write:posts']") is False
    window.press("form[action$='/tokens'] button")
    assert window.run("return document.querySelector('#secret').value")


def test_passwords_do_not_come_back(signed_in: Any, accounts: Accounts) -> None:
    window = signed_in.window
    signed_in.open("/account/email")
    window.type("#email", "ada@newer.example")
    window.run("document.querySelector('#email-password').type = 'text'")  # which shows it
    window.type("#email-password", "open words")
    assert "newer.example" in str(window.run(KEPT))
    assert "open words" not in str(window.run(KEPT))
    end_sessions(signed_in, accounts)
    window.press("form[action$='/account/email'] button.primary")
    signed_in.sign_in()
    assert window.url.endswith("/account/email")
    assert (value(window, "#email"), value(window, "#email-password")) == ("ada@newer.example", "")


def test_a_form_that_was_refused_before_comes_back_on_the_screen_above(
    signed_in: Any, accounts: Accounts
) -> None:
    """The refused form is shown at an address that has no screen."""
    window = signed_in.window
    signed_in.open("/developers")
    window.click("[aria-labelledby=tokens] .make summary")
    window.type("#token-name", "For the till")
    window.press("form[action$='/tokens'] button")
    assert window.has("[role=alert]")
    assert window.url.endswith("/developers/tokens")
    end_sessions(signed_in, accounts)
    window.press("form[action$='/tokens'] button")
    signed_in.sign_in()
    assert window.url.endswith("/developers")
    assert value(window, "#token-name") == "For the till"


def test_what_was_typed_and_not_sent_comes_back_too(signed_in: Any, accounts: Accounts) -> None:
    """A link, or a part of the page, meets the end of the session first."""
    window, at = signed_in.window, tomorrow()
    body = {"page_id": signed_in.account.page_id("FB"), "message": "Rye bread", "scheduled_at": at}
    post_id = signed_in.account.api.post("/posts/schedule", body)["scheduled_post"]["id"]
    signed_in.open(f"/posts/{post_id}")
    window.click("details:has(#change) > summary")
    window.type("#message", " with caraway")
    end_sessions(signed_in, accounts)
    signed_in.open("/posts")
    assert window.title == "Sign in · Posthaste"
    signed_in.sign_in()
    assert window.text("h1") == "Posts"
    signed_in.open(f"/posts/{post_id}")
    assert value(window, "#message") == "Rye bread with caraway"
    window.press("#change button")
    assert signed_in.account.api.get(f"/posts/{post_id}")["post"]["message"] == "Rye bread with caraway"


def test_the_time_in_a_dialog_comes_back_for_this_post_alone(signed_in: Any, accounts: Accounts) -> None:
    window, account = signed_in.window, signed_in.account
    at = (dt.datetime.now(dt.UTC).replace(day=1) + dt.timedelta(days=32)).replace(day=10, hour=11, minute=0)
    first, other = (
        account.api.post(
            "/posts/schedule",
            {"page_id": account.page_id(it), "message": f"On {it}", "scheduled_at": at.isoformat()},
        )["scheduled_post"]["id"]
        for it in ("FB", "TW")
    )
    window.emulate_phone(1280, 1000, "light")
    signed_in.open(f"/calendar?month={at:%Y-%m}")

    def open_dialog(post_id: str) -> None:
        window.run(f"document.querySelector('#slot-{post_id} a.move').click()")
        until(lambda: value(window, "#mover [name=post_id]") == post_id, 20, "the dialog is there")

    open_dialog(first)
    window.run(
        "const it = document.querySelector('#move-time'); it.value = '17:45';"
        "it.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    end_sessions(signed_in, accounts)
    window.run("document.querySelector('#mover form button.primary').click()")
    until(lambda: window.has(".slot .reason"), 20, "it is told")
    assert "You were signed out" in window.text(".slot .reason")
    signed_in.open(f"/calendar?month={at:%Y-%m}")
    signed_in.sign_in()
    open_dialog(other)
    assert value(window, "#move-time") != "17:45"
    window.run("document.getElementById('mover').close()")
    open_dialog(first)
    assert value(window, "#move-time") == "17:45"
    window.emulate_phone(0, 0, "")


def test_what_ai_was_asked_for_is_in_the_composer_again(signed_in: Any, accounts: Accounts) -> None:
    window = signed_in.window
    signed_in.open("/compose")
    window.click("details:has(> #with-ai) > summary")
    until(lambda: window.has("#ai_prompt"), 20, "the forms of AI are there")
    window.run("document.querySelector('#ai_prompt').closest('details').open = true")
    window.type("#ai_prompt", "A loaf in the snow")
    end_sessions(signed_in, accounts)
    window.click("button[hx-post$='/image']")
    until(lambda: window.title == "Sign in · Posthaste", 20, "the session has ended")
    signed_in.sign_in()
    window.click("details:has(> #with-ai) > summary")
    until(lambda: window.has("#ai_prompt"), 20, "the forms of AI are there")
    assert value(window, "#ai_prompt") == "A loaf in the snow"
