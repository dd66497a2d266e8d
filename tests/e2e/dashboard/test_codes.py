"""Codes of an authenticator app: turned on and off in the browser, and asked for at the sign-in."""

from collections.abc import Iterator
from typing import Any

import pyotp
import pytest
from e2e_kit.accessibility import findings
from e2e_kit.operator import Clock


@pytest.fixture(autouse=True)
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


def test_they_are_turned_on_asked_for_replaced_once_and_turned_off(person: Any, clock: Clock) -> None:
    window, email = person.window, person.account.email
    person.open("/account")
    window.press("a[href='/account/codes']")
    window.type("#password", "not this one")
    window.press("main form button")
    assert "The password is not right." in window.text("[role=alert]")
    window.type("#password", "the owner's own")
    window.press("main form button")
    app = pyotp.TOTP(window.text("#secret").replace(" ", ""))
    for width, scheme in ((1280, "light"), (360, "dark")):
        window.emulate_phone(width, 900, scheme)
        assert findings(window) == []
        assert window.run("return document.documentElement.scrollWidth") <= width
        drawn = window.run("return document.querySelector('.qr svg').getBoundingClientRect().width")
        assert 150 < drawn <= 240
    assert [it for it in window.logged() if "Content Security Policy" in it] == []
    window.type("#code", "000000")
    window.press("main form button")
    assert "That code is not right" in window.text("[role=alert]")
    window.type("#code", app.at(clock.now()))
    window.press("main form button")
    codes = window.text("#recovery").split()
    assert len(codes) == 10
    assert findings(window) == []
    window.press("main a.primary")
    assert ("On" in window.text(".heading"), "10 recovery codes" in window.text("main")) == (True, True)
    assert findings(window) == []
    window.press(".leave button")
    enters(window, email, "the owner's own", "")
    assert "code that your authenticator app shows" in window.text("[role=alert]")
    assert findings(window) == []
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
    assert "asks for no codes any more" in window.text("[role=status]")


def test_no_other_address_is_drawn(person: Any) -> None:
    """The address comes back with the form: a forged one is neither drawn nor a link."""
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
