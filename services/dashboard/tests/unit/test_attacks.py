"""Every form against what another site can send, and every page against a frame and a foreign script."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.config import Config

APP: Flask = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost"))
RULES = [rule for rule in APP.url_map.iter_rules() if rule.endpoint != "static"]


def addresses(method: str) -> list[str]:
    """Returns the address of every screen or form, with `x` for each id in it."""
    found = {re.sub(r"<[^>]+>", "x", rule.rule) for rule in RULES if method in (rule.methods or ())}
    return sorted(found)


@pytest.fixture
def victim() -> FlaskClient:
    """A browser that is signed in and has opened a page of ours."""
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
def test_a_session_that_somebody_else_planted_is_not_taken_over(given: str) -> None:
    """A planted key of forms is of no use without the session, and a short one is replaced."""
    browser = APP.test_client()
    browser.set_cookie("posthaste_form", given)
    made = browser.get("/sign-in").headers.get("Set-Cookie", "")
    assert ("posthaste_form=" in made) == (len(given) < 32)
    assert "posthaste_session" not in made
