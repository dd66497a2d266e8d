"""The sandbox token is shown when its owner presses the button, and never before."""

import re
from typing import Any

import pytest
from e2e_kit.attacks.hostile_api import HostileApi
from flask import Flask
from flask.testing import FlaskClient

from dashboard import api, kept
from dashboard.app import create_app
from dashboard.config import Config
from dashboard.cookies import SharedWork
from posthaste.errors import ApiError
from posthaste.records import SandboxToken

APP: Flask = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost"))
PATH = "/developers/sandbox-token"
VALUE = "svc_test_0123456789"


class Api(HostileApi):
    """Stands in for the Python client. All tokens that it lists are sandbox tokens."""

    def __init__(self) -> None:
        super().__init__({})
        self.text = "Rye"
        self.turn = 1
        self.refusal: ApiError | None = None
        self.is_revoked = False
        #: How often the value was asked for.
        self.asked = 0

    def get_sandbox_token(self) -> SandboxToken:
        self.asked += 1
        if self.refusal is not None:
            raise self.refusal
        return SandboxToken(sandbox_api_token=VALUE)

    def _made(self, kind: Any, field: str, depth: int) -> Any:
        if field == "expires_at" or (field == "revoked_at" and not self.is_revoked):
            return None
        return super()._made(kind, field, depth)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Api:
    served = Api()
    for name in ("reader", "own"):
        monkeypatch.setattr(api, name, lambda *_, **__: served)
    monkeypatch.setattr(kept, "_values", {})
    return served


@pytest.fixture
def browser() -> FlaskClient:
    browser = APP.test_client()
    browser.set_cookie("posthaste_session", "svc_session_x")
    browser.set_cookie("posthaste_form", "k" * 43)
    return browser


def pressed(browser: FlaskClient) -> Any:
    """Opens the screen, presses the button and returns the answer."""
    form = re.search(rf'action="{PATH}">(.*?)</form>', browser.get("/developers").text)
    assert form
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[1]))
    return browser.post(PATH, data=fields)


def test_the_screen_says_what_the_token_does_and_does_not_load_it(served: Api, browser: FlaskClient) -> None:
    page = browser.get("/developers").text
    assert "only reads, works for 100 requests in all, and publishes nothing" in page
    assert (VALUE in page, served.asked) == (False, 0)


def test_the_button_shows_it_to_be_copied_and_kept_by_no_cache(served: Api, browser: FlaskClient) -> None:
    answer = pressed(browser)
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    assert f'data-copy="{VALUE}"' in answer.text
    assert "100 requests in all" in answer.text
    assert "only time" not in answer.text
    assert served.asked == 1


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_its_address_alone_shows_nothing(served: Api, browser: FlaskClient, method: str) -> None:
    answer = browser.open(PATH, method=method)
    assert (answer.status_code, served.asked) == (405, 0)


def test_a_form_without_the_token_of_this_browser_shows_nothing(served: Api, browser: FlaskClient) -> None:
    answer = browser.post(PATH, data={"form_token": "0" * 64})
    assert (answer.status_code, VALUE in answer.text, served.asked) == (403, False, 0)


def test_one_that_the_api_does_not_have_says_what_to_do(served: Api, browser: FlaskClient) -> None:
    """It was revoked in another browser, or TOKEN_SECRET has changed."""
    served.refusal = ApiError(404, {"code": "NOT_FOUND", "error": "There is no such thing."})
    answer = pressed(browser)
    assert answer.status_code == 404
    assert "it was revoked, or your operator has changed" in answer.text
    assert "Create a token instead." in answer.text


def test_a_revoked_one_has_no_button(served: Api, browser: FlaskClient) -> None:
    served.is_revoked = True
    page = browser.get("/developers").text
    assert "Revoked" in page
    assert PATH not in page


def test_it_is_the_persons_own_also_during_the_work_on_somebody_elses_brand(
    served: Api, browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    form_token = re.search(r'name="form_token" value="(\w+)"', browser.get("/developers").text)
    assert form_token

    def owners(*_: object) -> None:
        raise AssertionError("the owner's account is asked")

    work = SharedWork("svc_session_y", "brd_x", "Bakery", "Ada", "full", ["*"])
    browser.set_cookie("posthaste_brand", work.packed())
    monkeypatch.setattr(api, "reader", owners)
    assert VALUE in browser.post(PATH, data={"form_token": form_token[1]}).text
