"""The account: the person's name, one session that is signed out, and sessions that somebody else has planted."""

import re
from typing import Any

import pytest
import requests
from e2e_kit.operator import Account, Accounts
from e2e_kit.stack import Stack
from e2e_kit.waiting import HEARD_SECONDS, until

from dashboard.cookies import SharedWork

PASSWORD = "the owner's own"


def value(window: Any, css: str) -> str:
    return str(window.run(f"return document.querySelector('{css}').value"))


def test_a_name_is_changed_and_is_what_others_read(person: Any, accounts: Accounts) -> None:
    window, account = person.window, person.account
    guest = accounts.new(pages=())
    accounts.operator(
        "collaborator", "add", "--brand", account.brand_id, "--user", guest.user_id, "--role", "limited"
    )
    person.open("/account")
    assert value(window, "#firstname") == "Ada"
    window.run("document.querySelector('#firstname').value = ''")
    window.type("#firstname", "Zoë <b>")
    window.type("#lastname", "van der Berg")
    window.press("form[action$='account/name'] button")
    assert "Your name is saved" in window.text("[role=status]")
    assert [value(window, it) for it in ("#firstname", "#lastname")] == ["Zoë <b>", "van der Berg"]
    api = accounts.client(accounts.sign_in(guest)["session_token"])
    [shared] = api.get("/auth/brands")["brands"]
    assert (shared["owner_firstname"], shared["owner_lastname"]) == ("Zoë <b>", "van der Berg")


def test_a_name_that_is_too_long_is_refused_with_the_reason(person: Any) -> None:
    window = person.window
    person.open("/account")
    window.run(
        "const it = document.querySelector('#lastname'); it.maxLength = 9999; it.value = 'x'.repeat(300)"
    )
    window.press("form[action$='account/name'] button")
    assert "100" in window.text("[role=alert]")
    person.open("/account")
    assert value(window, "#lastname") == ""


def test_one_session_is_signed_out_and_no_other(person: Any, accounts: Accounts, stack: Stack) -> None:
    window = person.window
    phone, laptop = (begun(stack, person.account, agent) for agent in ("PhoneOfAda/1", "LaptopOfAda/1"))
    person.open("/account")
    assert [it in window.text("[aria-labelledby=sessions]") for it in ("PhoneOfAda", "LaptopOfAda")] == [
        True,
        True,
    ]
    window.press("button[aria-label^='Sign out PhoneOfAda']")
    assert "That browser is signed out" in window.text("[role=status]")
    assert "PhoneOfAda" not in window.text("[aria-labelledby=sessions]")
    gone, kept = accounts.client(phone), accounts.client(laptop)
    until(lambda: gone.call("GET", "/me").status_code == 401, HEARD_SECONDS, "every gateway has heard of it")
    kept.get("/me")
    person.open("/posts")
    assert window.text("h1") == "Posts"


def begun(stack: Stack, account: Account, agent: str) -> str:
    """Signs in with another browser. Returns its session."""
    login = {"email": account.email, "password": PASSWORD}
    answer = requests.post(
        f"{stack.root_url}/auth/login", json=login, headers={"User-Agent": agent}, timeout=30
    )
    token: str = answer.json()["session_token"]
    return token


@pytest.mark.parametrize(
    "planted", ["a session of the attacker", "one that nobody has", "none that fits a header"]
)
def test_who_signs_in_gets_a_session_that_nobody_has_planted(
    planted: str, accounts: Accounts, stack: Stack
) -> None:
    """Somebody has put cookies of a session and of work on a brand into the browser before the sign-in."""
    victim, attacker = accounts.new(pages=()), accounts.new(pages=("FB",))
    accounts.sign_in(victim)
    session = accounts.sign_in(attacker)["session_token"]
    given = {"a session of the attacker": session, "one that nobody has": "svc_sess_" + "x" * 40}.get(
        planted, "x\u00e9"
    )
    work = SharedWork(session, attacker.brand_id, "Corner Bakery", "Ada", "full", ["*"])
    browser, url = requests.Session(), stack.env["DASHBOARD_URL"]
    header = f"posthaste_session={given}; posthaste_brand={work.packed()}".encode()
    page = browser.get(f"{url}/sign-in?ended=1", headers={"Cookie": header}, timeout=30)
    key = browser.cookies["posthaste_form"].encode()
    found = re.search(r'name="form_token" value="([0-9a-f]{64})"', page.text)
    assert found
    answer = browser.post(
        f"{url}/sign-in",
        data={"form_token": found[1], "email": victim.email, "password": PASSWORD},
        headers={"Cookie": header + b"; posthaste_form=" + key},
        allow_redirects=False,
        timeout=30,
    )
    assert answer.status_code == 302, answer.text
    own = answer.cookies["posthaste_session"]
    assert own not in ("", given)
    assert "posthaste_brand" not in answer.cookies  # it is deleted
    assert any(it.startswith("posthaste_brand=;") for it in answer.raw.headers.getlist("Set-Cookie"))
    named = accounts.client(own).get("/me")["authenticated_as"]["user_id"]
    assert named == victim.user_id
    still = accounts.client(session).get("/me")["authenticated_as"]["user_id"]
    assert still == attacker.user_id  # what the attacker holds leads to the attacker's own account
