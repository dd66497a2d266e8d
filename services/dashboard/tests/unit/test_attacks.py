"""Attacks on the dashboard: forms that another site sends, pages in a frame or with a foreign script, and the linking
of a page from another browser.
"""

import re
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dashboard import api
from dashboard.app import create_app
from dashboard.config import Config
from dashboard.cookies import form_token, linking_proof, name_of
from posthaste.records import LinkableAccount, LinkBegun, LinkSession

APP: Flask = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost"))
RULES = [rule for rule in APP.url_map.iter_rules() if rule.endpoint != "static"]
#: A person's session, and the keys of the forms of two browsers in which the person is signed in.
SESSION, KEY, OTHER_KEY = "svc_sess_a", "k" * 43, "l" * 43
SOON = datetime(2099, 1, 1, tzinfo=UTC)


def addresses(method: str) -> list[str]:
    """Returns the address of every screen or form, with `x` for each id in it."""
    found = {re.sub(r"<[^>]+>", "x", rule.rule) for rule in RULES if method in (rule.methods or ())}
    return sorted(found)


@pytest.fixture
def victim() -> FlaskClient:
    """A browser that is signed in and has opened a page of the dashboard."""
    browser = APP.test_client()
    browser.get("/sign-in")
    browser.set_cookie("posthaste_session", "svc_session_x")
    return browser


def test_there_are_enough_forms_for_this_to_mean_something() -> None:
    assert len(addresses("POST")) > 25
    assert len(addresses("GET")) > 25


@pytest.mark.parametrize("address", addresses("POST"))
def test_no_form_is_taken_without_its_token_nor_from_another_site(victim: FlaskClient, address: str) -> None:
    for headers in ({}, {"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = victim.post(address, data={"form_token": "0" * 64, "key": "x"}, headers=headers)
        assert (answer.status_code, "This form is too old" in answer.text) == (403, True), headers


@pytest.mark.parametrize("address", addresses("GET"))
def test_no_page_is_framed_and_none_runs_what_is_not_ours(victim: FlaskClient, address: str) -> None:
    answer = victim.get(address)
    policy = answer.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.status_code in (200, 302, 404, 503), answer.status_code


@pytest.mark.parametrize("address", addresses("GET"))
def test_who_is_signed_out_sees_no_screen(address: str) -> None:
    answer = APP.test_client().get(address)
    is_open = address == "/healthz" or address.startswith(
        ("/sign-in", "/sign-up", "/verify", "/reset", "/email", "/invitations")
    )
    assert is_open or answer.location.startswith("/sign-in"), address


@pytest.mark.parametrize("given", ["", "k" * 20, "fixed" * 20])
def test_a_key_of_forms_that_somebody_else_planted_is_of_no_use_without_the_session(given: str) -> None:
    """Somebody else set the cookie of the form key before the sign-in. A key that is too short is replaced; a longer
    one is of no use without the session.
    """
    browser = APP.test_client()
    browser.set_cookie("posthaste_form", given)
    made = browser.get("/sign-in").headers.get("Set-Cookie", "")
    assert ("posthaste_form=" in made) == (len(given) < 32)
    assert "posthaste_session" not in made


class SignInApi:
    """Gives a new session to whoever signs in."""

    def log_in(self, **_: Any) -> SimpleNamespace:
        return SimpleNamespace(session_token="svc_sess_new", timezone="UTC", language="en-GB")

    def list_shared_brands(self, **_: Any) -> SimpleNamespace:
        return SimpleNamespace(brands=[])


@pytest.mark.parametrize("path", ["/sign-in", "/sign-in?ended=1&next=/posts"])
def test_whoever_signs_in_gets_a_session_of_their_own_whatever_was_planted(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """The session that was planted is neither kept nor given to the API, nor is the brand that came with it."""
    for name in ("reader", "own"):
        monkeypatch.setattr(api, name, lambda *_: SignInApi())
    window = APP.test_client()
    window.set_cookie("posthaste_session", "svc_sess_planted")
    window.set_cookie("posthaste_brand", "planted")
    window.set_cookie("posthaste_form", KEY)
    form = {"form_token": form_token(KEY, "svc_sess_planted"), "email": "a@b.test", "password": "x"}
    answer = window.post(path, data=form)
    assert answer.status_code == 302
    made = dict(it.split(";")[0].split("=", 1) for it in answer.headers.getlist("Set-Cookie"))
    assert (made["posthaste_session"], made["posthaste_brand"]) == ("svc_sess_new", "")
    assert form_token(KEY, "svc_sess_planted") != form_token(KEY, made["posthaste_session"])
    old = window.post("/posts/x/cancel", data=form)  # a form that was filled during the planted session
    assert (old.status_code, "This form is too old" in old.text) == (403, True)


def test_over_https_a_session_counts_only_under_the_name_that_no_other_host_can_set() -> None:
    window = create_app(
        Config(api_url="http://127.0.0.1:9", public_url="https://posts.example.com")
    ).test_client()
    window.set_cookie("posthaste_session", "svc_sess_planted")
    assert window.get("/posts").location.startswith("/sign-in")
    window.set_cookie("__Host-posthaste_session", SESSION)
    assert window.get("/posts").status_code == 503  # there is no API here


class LinkingApi:
    """The API's calls that link pages, for one account."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.read: list[str] = []
        self.chosen: list[str] = []

    def begin_link(self, **_: Any) -> LinkBegun:
        self.begun.append(f"lnk_{len(self.begun)}")
        return LinkBegun(session_id=self.begun[-1], authorize_url="https://platform.test/", expires_at=SOON)

    def get_link(self, session_id: str) -> LinkSession:
        self.read.append(session_id)
        account = LinkableAccount(
            account_id="1", name="Corner Bakery", username=None, followers=3, picture=None
        )
        return LinkSession(
            session_id=session_id, platform="FB", brand_id="brd_1", status="choose", accounts=[account], error=None,
            expires_at=SOON,
        )  # fmt: skip

    def choose_accounts(self, session_id: str, *, account_ids: list[str]) -> None:
        self.chosen += [f"{session_id} {it}" for it in account_ids]


@pytest.fixture
def linking(monkeypatch: pytest.MonkeyPatch) -> LinkingApi:
    found = LinkingApi()
    for name in ("reader", "patient"):
        monkeypatch.setattr(api, name, lambda: found)
    return found


def signed_in(key: str = KEY, public_url: str = "http://localhost") -> FlaskClient:
    """A browser in which the person is signed in."""
    config = Config(api_url="http://127.0.0.1:9", public_url=public_url)
    found = create_app(config).test_client()
    found.set_cookie(name_of("session", config.is_https), SESSION)
    found.set_cookie(name_of("form", config.is_https), key)
    return found


def begin(window: FlaskClient, key: str = KEY) -> Any:
    form = {"form_token": form_token(key, SESSION), "platform": "FB", "brand_id": "brd_1"}
    return window.post("/pages/connect", data=form)


def choose(window: FlaskClient, session_id: str, key: str = KEY) -> Any:
    form = {"form_token": form_token(key, SESSION), "account_id": "1"}
    return window.post(f"/pages/linked/{session_id}", data=form)


def test_a_linking_ends_in_the_browser_that_has_begun_it(linking: LinkingApi) -> None:
    window = signed_in()
    assert "Continue to Facebook" in begin(window).text
    page = window.get("/pages/linked?session_id=lnk_0&status=choose")
    assert (page.status_code, "Corner Bakery" in page.text) == (200, True)
    assert choose(window, "lnk_0").location == "/pages?done=linked"
    assert linking.chosen == ["lnk_0 1"]


def test_another_browser_neither_sees_nor_ends_it(linking: LinkingApi) -> None:
    begin(signed_in())
    other = signed_in(OTHER_KEY)
    for answer in (other.get("/pages/linked?session_id=lnk_0"), choose(other, "lnk_0", OTHER_KEY)):
        assert (answer.status_code, "was not begun in this browser" in answer.text) == (403, True)
        assert "Corner Bakery" not in answer.text
    assert (linking.read, linking.chosen) == ([], [])


def test_the_proof_of_another_browser_or_of_another_linking_is_worth_nothing(linking: LinkingApi) -> None:
    own = linking_proof(KEY, "lnk_0")
    for value in (
        linking_proof(OTHER_KEY, "lnk_0"),
        linking_proof(KEY, "lnk_1"),
        own[:-1],
        f"{own}é",
        "",
        ".",
    ):
        window = signed_in()
        window.set_cookie("posthaste_linking", value)
        assert window.get("/pages/linked?session_id=lnk_0").status_code == 403, value
    assert linking.read == []


@pytest.mark.usefixtures("linking")
def test_the_last_four_linkings_of_a_browser_can_be_ended() -> None:
    window = signed_in()
    for _ in range(6):
        begin(window)
    statuses = [window.get(f"/pages/linked?session_id=lnk_{number}").status_code for number in range(6)]
    assert statuses == [403, 403, 200, 200, 200, 200]


@pytest.mark.usefixtures("linking")
def test_the_cookie_lasts_as_long_as_a_linking_and_is_out_of_reach() -> None:
    made = begin(signed_in(public_url="https://posts.example.com")).headers["Set-Cookie"]
    assert made.startswith("__Host-posthaste_linking=")
    assert {"HttpOnly", "SameSite=Lax", "Secure", "Path=/", "Max-Age=4800"} <= set(made.split("; "))


@pytest.mark.usefixtures("linking")
def test_a_linking_is_of_this_browser_also_after_signing_in_anew() -> None:
    window = signed_in()
    begin(window)
    window.set_cookie("posthaste_session", "svc_sess_b")
    assert window.get("/pages/linked?session_id=lnk_0").status_code == 200
