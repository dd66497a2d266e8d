"""The screen of the link in a verification mail: which address it confirms, and what follows."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from e2e_kit.attacks.hostile_api import HostileApi
from flask import Flask
from flask.testing import FlaskClient

from posthaste.errors import ApiError, InvalidRequest, LimitReached
from posthaste.records import OpenedVerification, Verification

ADDRESS = "/verify/usr_1/c0de"
OFFER = OpenedVerification(email="ada@example.test", verified=False)
USED = OpenedVerification(email=None, verified=True)


class Api(HostileApi):
    """Stands in for the Python client."""

    def __init__(self) -> None:
        super().__init__({})
        self.text = "Rye"
        self.offer: OpenedVerification | ApiError = OFFER
        self.refusal: ApiError | None = None
        #: How often an address was confirmed.
        self.confirmed = 0

    def open_verification(self, *, user_id: str, code: str) -> OpenedVerification:
        assert (user_id, code) == ("usr_1", "c0de")
        if isinstance(self.offer, ApiError):
            raise self.offer
        return self.offer

    def verify_email(self, *, user_id: str, code: str, password: str) -> Verification:
        assert (user_id, code, password) == ("usr_1", "c0de", "long enough")
        if self.refusal is not None:
            raise self.refusal
        self.confirmed += 1
        return Verification(email="ada@example.test", verified=True)


@pytest.fixture
def served(serve: Callable[[HostileApi], None]) -> Api:
    served = Api()
    serve(served)
    return served


@pytest.fixture
def visitor(app: Flask) -> FlaskClient:
    """A browser that is not signed in."""
    return app.test_client()


def confirm(visitor: FlaskClient) -> Any:
    form = re.search(r'name="form_token" value="(\w+)"', visitor.get(ADDRESS).text)
    assert form
    return visitor.post(ADDRESS, data={"form_token": form[1], "password": "long enough"})


def test_it_names_the_address_before_it_asks_for_the_password_and_confirms_nothing(
    served: Api, visitor: FlaskClient
) -> None:
    page = visitor.get(ADDRESS).text
    assert re.search(r'<input id="email" [^>]*value="ada@example.test" readonly>', page)
    assert served.confirmed == 0


def test_a_used_link_names_no_address_and_leads_to_the_sign_in(served: Api, visitor: FlaskClient) -> None:
    served.offer = USED
    page = visitor.get(ADDRESS).text
    assert "This address is confirmed" in page
    assert 'href="/sign-in"' in page
    assert "<form" not in page


@pytest.mark.parametrize("is_sent", [False, True])
def test_an_invalid_link_tells_nothing(served: Api, visitor: FlaskClient, is_sent: bool) -> None:
    refusal = ApiError(404, {"code": "NOT_FOUND"})
    if is_sent:
        served.refusal = refusal
        answer = confirm(visitor)
    else:
        served.offer = refusal
        answer = visitor.get(ADDRESS)
    assert (answer.status_code, "This link does not work" in answer.text) == (404, True)
    assert "ada@" not in answer.text
    assert "<form" not in answer.text


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (InvalidRequest(400, {"code": "VALIDATION_ERROR"}), "This is not the password"),
        (LimitReached(429, {"code": "RATE_LIMITED"}), "Open the link again tomorrow"),
    ],
)
def test_a_refusal_is_told_above_the_form_which_still_names_the_address(
    served: Api, visitor: FlaskClient, refusal: ApiError, told: str
) -> None:
    served.refusal = refusal
    answer = confirm(visitor)
    assert (answer.status_code, told in answer.text) == (refusal.status, True)
    assert 'value="ada@example.test"' in answer.text
    assert "long enough" not in answer.text


def test_the_overview_says_which_address_was_confirmed(served: Api, visitor: FlaskClient) -> None:
    answer = confirm(visitor)
    assert (answer.status_code, served.confirmed) == (302, 1)
    overview = visitor.get(answer.location).text
    assert "Your email address is confirmed." in overview
    address = re.search(r'hx-get="(/overview/account[^"]*)"', overview)
    assert address
    part = visitor.get(address[1], headers={"HX-Request": "true"}).text
    assert re.search(r'<p id="confirmed" hx-swap-oob="innerHTML"><strong>Rye</strong> is confirmed', part)
    assert "is confirmed" not in visitor.get("/overview/account", headers={"HX-Request": "true"}).text
