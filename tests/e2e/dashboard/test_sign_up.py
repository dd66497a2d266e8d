"""Tests signing up with the link in the mail, a forgotten password, codes of an authenticator app, a change of the
address, the format of dates, and signing out.
"""

import datetime as dt
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyotp
import pytest
import requests
from e2e_kit.accessibility import flaws
from e2e_kit.chromium import Chromium
from e2e_kit.mails import await_mail, await_url
from e2e_kit.operator import Accounts, Clock, Operator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

PASSWORD = "a sentence nobody guesses"
#: Of the person whom the tests sign in.
OWNERS = "the owner's own"


@dataclass
class Newcomer:
    """A person without an account, in front of a browser."""

    window: Chromium
    operator: Operator
    stack: Stack
    email: str

    @property
    def url(self) -> str:
        return self.stack.env["DASHBOARD_URL"]

    def fill(self, **more: str) -> None:
        self.window.open(f"{self.url}/sign-up")
        for name, value in {"firstname": "Kim", "email": self.email, "password": PASSWORD, **more}.items():
            self.window.type(f"#{name}", value)
        self.window.press("form button")

    def sign_up(self) -> None:
        """Signs up, confirms the address and is signed in."""
        self.fill()
        self.window.open(await_url(self.stack, self.email))
        self.window.type("#password", PASSWORD)
        self.window.press("form button")
        self.upgrade()

    def upgrade(self) -> None:
        """Gives the account a plan with more than ten requests a minute, because two of the screens need that."""
        headers = {"Authorization": f"Bearer {self.window.cookies()['posthaste_session']}"}
        me = requests.get(f"{self.stack.base_url}/me", headers=headers, timeout=30).json()
        self.operator("user", "plan", me["authenticated_as"]["user_id"], "elite")

    def looks_right(self) -> None:
        """Checks the present page in every width, in the light and the dark scheme."""
        assert flaws(self.window) == []


@pytest.fixture
def newcomer(window: Chromium, operator: Operator, stack: Stack) -> Newcomer:
    who = Newcomer(window, operator, stack, f"{uuid.uuid4().hex}@example.test")
    window.open(f"{who.url}/sign-in")
    window.forget()
    return who


def test_a_newcomer_confirms_the_address_by_mail_and_is_in(newcomer: Newcomer) -> None:
    window = newcomer.window
    window.open(f"{newcomer.url}/sign-in")
    window.press("a[href$='sign-up']")
    newcomer.looks_right()
    newcomer.fill()
    assert f"A link is on its way to {newcomer.email}" in window.text("main")
    newcomer.looks_right()
    link = await_url(newcomer.stack, newcomer.email)
    assert link.startswith(f"{newcomer.url}/verify/")
    window.open(link)
    assert window.run("return document.querySelector('#email').value") == newcomer.email
    window.type("#password", "not this one")
    window.press("form button")
    assert "not the password that was chosen at sign-up" in window.text("[role=alert]")
    assert window.run("return document.querySelector('#email').value") == newcomer.email
    newcomer.looks_right()
    window.type("#password", PASSWORD)
    window.press("form button")
    assert window.text("h1") == "Overview"
    until(lambda: f"{newcomer.email} is confirmed." in window.text(".note.good"), 20, "the address is told")
    newcomer.looks_right()
    window.open(f"{newcomer.url}/account")
    assert newcomer.email in window.text("main")
    assert window.run("return document.querySelector('#firstname').value") == "Kim"
    window.open(link)
    assert window.text("h1") == "This address is confirmed"
    assert newcomer.email not in window.text()
    newcomer.looks_right()


def test_a_newcomer_finds_the_sandbox_token_and_calls_the_api_with_it(newcomer: Newcomer) -> None:
    window = newcomer.window
    newcomer.sign_up()
    window.open(f"{newcomer.url}/developers")
    window.press("button[aria-label='Show the token: Sandbox']")
    token = window.run("return document.querySelector('#secret').value")
    headers = {"Authorization": f"Bearer {token}"}
    me = requests.get(f"{newcomer.stack.base_url}/me", headers=headers, timeout=30).json()
    assert (me["authenticated_as"]["email"], me["api_key"]["name"]) == (newcomer.email, "Sandbox")


def test_whether_an_address_has_an_account_is_not_told(newcomer: Newcomer, accounts: Accounts) -> None:
    window, owner = newcomer.window, accounts.new(pages=()).email
    newcomer.fill()
    told = window.text("main")
    newcomer.fill()  # the address has an account that is not confirmed yet
    assert window.text("main") == told
    newcomer.fill(email=owner)
    assert window.text("main").replace(owner, newcomer.email) == told


def test_what_was_typed_stays_when_a_sign_up_is_refused(newcomer: Newcomer) -> None:
    window = newcomer.window
    window.open(f"{newcomer.url}/sign-up")
    window.click("main details summary")
    window.type("#invite_code", "not a code")
    window.type("#email", newcomer.email)
    window.type("#password", PASSWORD)
    window.press("form button")
    assert "The invite code is not right" in window.text("[role=alert]")
    newcomer.looks_right()
    assert window.run("return document.querySelector('#email').value") == newcomer.email


def test_an_invited_person_is_in_at_once(newcomer: Newcomer) -> None:
    code = newcomer.operator("user", "invite", newcomer.email)["code"]
    window = newcomer.window
    window.open(f"{newcomer.url}/sign-up")
    window.click("main details summary")
    window.type("#invite_code", code)
    window.type("#email", newcomer.email)
    window.type("#password", PASSWORD)
    window.press("form button")
    assert window.text("h1") == "Overview"


def test_a_forgotten_password_is_chosen_anew_with_a_link_that_works_once(newcomer: Newcomer) -> None:
    window = newcomer.window
    newcomer.sign_up()
    window.forget()
    window.open(f"{newcomer.url}/sign-in/forgot")
    window.type("#email", newcomer.email)
    window.press("form button")
    link = await_url(newcomer.stack, newcomer.email, "new password")
    assert link.startswith(f"{newcomer.url}/reset/")
    window.open(link)
    newcomer.looks_right()
    window.type("#password", "another long sentence")
    window.press("form button")
    assert window.text("h1") == "Overview"
    window.open(link)
    window.type("#password", "a third long sentence")
    window.press("form button")
    assert window.text("h1") == "This link does not work"
    newcomer.looks_right()


def test_the_password_is_changed_and_other_browsers_are_signed_out(newcomer: Newcomer) -> None:
    window = newcomer.window
    newcomer.sign_up()
    root = newcomer.stack.root_url
    login = {"email": newcomer.email, "password": PASSWORD}
    other = requests.post(f"{root}/auth/login", json=login, timeout=30).json()["session_token"]
    window.open(f"{newcomer.url}/account")
    fields = "return [...document.querySelectorAll('[aria-labelledby=sign-in] input')].map(it => it.type)"
    assert "password" in window.run(fields)
    window.click("[data-shows='current-password new-password']")
    assert "password" not in window.run(fields)
    change(window, "not this one", "another long sentence")
    assert window.has("[role=alert]")
    change(window, PASSWORD, "another long sentence")
    assert "Your password is changed" in window.text("[role=status]")
    assert flaws(window) == []
    assert is_ended(root, other)


def test_signing_out_everywhere_ends_every_session(newcomer: Newcomer) -> None:
    window = newcomer.window
    newcomer.sign_up()
    root, login = newcomer.stack.root_url, {"email": newcomer.email, "password": PASSWORD}
    other = requests.post(f"{root}/auth/login", json=login, timeout=30).json()["session_token"]
    own = window.cookies()["posthaste_session"]
    window.open(f"{newcomer.url}/account")
    window.click(".danger summary")
    newcomer.looks_right()
    window.press("form[action$='sessions/end'] button")
    assert "Every browser is signed out." in window.text("main")
    assert flaws(window) == []
    assert is_ended(root, other)
    assert is_ended(root, own)


def change(window: Any, present: str, new: str) -> None:
    window.type("#current-password", present)
    window.type("#new-password", new)
    window.press("form[action$=password] button")


def is_ended(root: str, session: str) -> bool:
    answer = requests.get(f"{root}/auth/sessions", headers={"Authorization": f"Bearer {session}"}, timeout=30)
    return answer.status_code == 401


@pytest.fixture
def real_size(window: Any) -> Iterator[None]:
    yield
    window.emulate_phone(0, 0, "")


def enters(window: Any, email: str, password: str, code: str) -> None:
    for field, value in (("#email", email), ("#password", password)):
        window.run(f"document.querySelector('{field}').value = ''")
        window.type(field, value)
    if code:
        window.type("#code", code)
    window.press("form button")


@pytest.mark.usefixtures("real_size")
def test_codes_of_an_app_are_turned_on_asked_for_replaced_once_and_turned_off(
    person: Any, operator: Operator
) -> None:
    window, email = person.window, person.account.email
    person.open("/account")
    window.press("a[href='/account/codes']")
    window.type("#password", "not this one")
    window.press("main form button")
    assert "The password is not right." in window.text("[role=alert]")
    window.type("#password", "the owner's own")
    assert flaws(window) == []
    window.press("main form button")
    app = pyotp.TOTP(window.text("#secret").replace(" ", ""))
    assert flaws(window) == []
    for width in (1280, 360):
        window.emulate_phone(width, 900, "light")
        drawn = window.run("return document.querySelector('.qr svg').getBoundingClientRect().width")
        assert 150 < drawn <= 240
    assert [it for it in window.logged() if "Content Security Policy" in it] == []
    window.emulate_phone(1280, 900, "light")
    window.type("#code", "000000")
    window.press("main form button")
    assert "That code is not right" in window.text("[role=alert]")
    assert flaws(window) == []
    window.type("#code", app.at(Clock(operator).now()))
    window.press("main form button")
    codes = window.text("#recovery").split()
    assert len(codes) == 10
    assert flaws(window) == []
    window.press("main a.primary")
    assert ("On" in window.text(".heading"), "10 recovery codes" in window.text("main")) == (True, True)
    assert flaws(window) == []
    window.press(".leave button")
    enters(window, email, "the owner's own", "")
    assert "code that your authenticator app shows" in window.text("[role=alert]")
    assert flaws(window) == []
    enters(window, email, "the owner's own", codes[0])
    assert window.text("h1") == "Overview"
    person.open("/account/codes")
    assert "9 recovery codes" in window.text("main")
    window.type("#password", "the owner's own")
    window.type("#code", codes[0])
    window.press("main form button")
    assert "The code is not right" in window.text("[role=alert]")
    window.type("#password", "the owner's own")
    window.type("#code", codes[1])
    window.press("main form button")
    assert "asks for no code any more" in window.text("[role=status]")
    assert flaws(window) == []


def test_no_other_address_than_that_of_a_code_is_drawn(person: Any) -> None:
    """The form sends back the address for the authenticator app. If somebody forged it, it is neither drawn as a QR
    code nor shown as a link.
    """
    window = person.window
    person.open("/account/codes")
    window.run(
        "const form = document.querySelector('main form'); form.action = '/account/codes/confirm';"
        "form.innerHTML += '<input name=address value=\"javascript:alert(1)\"><input name=code value=1>';"
        "form.querySelector('#password').required = false"
    )
    window.press("main form button")
    assert not window.has(".qr")
    assert not window.has("a[href^=javascript]")


def choose(window: Any, css: str, value: str) -> None:
    window.run(f"document.querySelector('{css}').value = '{value}'")


def test_every_date_is_shown_in_the_zone_and_the_language_of_the_person(person: Any) -> None:
    window, api = person.window, person.account.api
    at = dt.datetime.now(dt.UTC).replace(minute=7, second=0, microsecond=0) + dt.timedelta(hours=26)
    body = {"page_id": person.account.page_id(), "message": "Rye", "scheduled_at": at.isoformat()}
    post = api.post("/posts/schedule", body)["scheduled_post"]["id"]
    person.open("/account")
    choose(window, "#zone", "Asia/Tokyo")
    choose(window, "#language", "ja")
    window.press("form[action$=dates] button")
    assert "Your time zone and language are saved." in window.text("[role=status]")
    assert "Asia/Tokyo" in window.text("form[action$=dates]")
    assert "月" in window.text("section[aria-labelledby=sessions]")
    assert flaws(window) == []

    person.open(f"/posts/{post}")
    tokyo = at.astimezone(dt.timezone(dt.timedelta(hours=9)))
    shown = window.run("return [...document.querySelectorAll('time')].map(it => it.lang + ' ' + it.title)")
    assert any(it.startswith(f"ja {tokyo:%Y年}") and it.endswith("Asia/Tokyo") for it in shown), shown
    person.open("/calendar?view=list")
    assert f"{at:%Y}年" in window.text("h1")
    assert flaws(window) == []

    window.forget()  # another browser: the account knows what was chosen
    person.open("/account")
    person.sign_in()
    assert window.run("return document.querySelector('#zone').value") == "Asia/Tokyo"


def test_another_address_is_confirmed_by_its_mail_and_the_old_one_is_told(person: Any, stack: Stack) -> None:
    window, old = person.window, person.account.email
    new = f"{uuid.uuid4().hex}@example.test"
    person.open("/account")
    window.press("a[href='/account/email']")
    assert flaws(window) == []
    window.type("#email", new)
    window.type("#email-password", "not this one")
    window.press("form[action$=email] button")
    assert "The password is not right." in window.text("[role=alert]")
    assert window.run("return document.querySelector('#email').value") == new
    window.type("#email-password", OWNERS)
    window.press("form[action$=email] button")
    assert "Until you do, nothing changes." in window.text("[role=status]")
    assert not window.has("[name=code]")  # the account has no authenticator app
    await_mail(stack, old, "another e-mail address")
    assert new in window.text("[aria-labelledby=waiting]")
    window.click("[aria-labelledby=waiting] summary")
    window.type("#again-password", OWNERS)
    window.press("[aria-labelledby=waiting] .make button")
    assert new in window.text("[aria-labelledby=waiting]")
    assert flaws(window) == []
    cancelled = await_url(stack, new, "Confirm this e-mail address")
    window.press("form[action$=cancel] button")
    assert "The change is cancelled." in window.text("[role=status]")
    assert flaws(window) == []
    assert not window.has("[aria-labelledby=waiting]")
    window.open(cancelled)
    window.type("#password", OWNERS)
    window.press("form button")
    assert "This link does not work" in window.text("h1")

    new = f"{uuid.uuid4().hex}@example.test"
    person.open("/account/email")
    window.type("#email", new)
    window.type("#email-password", OWNERS)
    window.press("form[action$=email] button")
    link = await_url(stack, new, "Confirm this e-mail address")
    window.open(link)
    assert flaws(window) == []
    window.type("#password", OWNERS)
    window.press("form button")
    assert "Sign in with it from now on." in window.text("[role=status]")
    assert flaws(window) == []
    window.open(link)
    window.type("#password", OWNERS)
    window.press("form button")
    assert "This link does not work" in window.text("h1")
    assert flaws(window) == []

    window.forget()
    person.open("/account")
    person.account.email = new
    person.sign_in()
    assert new in window.text("main")
