"""The screen of an invitation's link: what it offers, its text for each refusal, and what follows the acceptance."""

from types import SimpleNamespace
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard import api
from dashboard.app import create_app
from dashboard.config import Config
from dashboard.cookies import SharedWork, form_token
from posthaste.errors import ApiError, AuthenticationError, InvalidRequest, LimitReached, PermissionDenied
from posthaste.records import AcceptedInvitation, OpenedInvitation

KEY, ADDRESS = "k" * 43, "/invitations/ivt_1/c0de"
OFFER = OpenedInvitation(
    brand_name="<b>Bakery</b>", invited_by="ada@example.test", email="sam@example.test", role="limited",
    has_account=False,
)  # fmt: skip
ACCEPTED = AcceptedInvitation(
    brand_id="brd_1", brand_name="Bakery", user_id="usr_2", email="sam@example.test", role="limited"
)


class FakeApi:
    """The API's calls that this screen makes, with answers that the test sets."""

    def __init__(self) -> None:
        self.offer: OpenedInvitation | Exception = OFFER
        self.refusal: Exception | None = None
        self.accepted_with: dict[str, Any] = {}
        self.zone: str | None = "Europe/Berlin"
        self.edited_with: list[dict[str, Any]] = []
        shared = [
            SimpleNamespace(
                brand_id=it, name="Bakery", owner_firstname="Ada", owner_lastname="", owner_email="a@b.test"
            )
            for it in ("brd_0", "brd_1")
        ]
        self.iterate_shared_brands = lambda limit: shared

    def open_invitation(self, *, invitation_id: str, code: str) -> OpenedInvitation:
        assert (invitation_id, code) == ("ivt_1", "c0de")
        if isinstance(self.offer, Exception):
            raise self.offer
        return self.offer

    def accept_invitation(self, **given: Any) -> AcceptedInvitation:
        self.accepted_with = given
        if self.refusal:
            raise self.refusal
        return ACCEPTED

    def log_in(self, *, email: str, password: str, totp_code: str | None) -> SimpleNamespace:
        assert (email, password, totp_code) == (ACCEPTED.email, "long enough", None)
        return SimpleNamespace(session_token="svc_sess_new", timezone=self.zone, language=None)

    def edit_account(self, **given: Any) -> None:
        self.edited_with.append(given)

    def enter_brand(self, brand_id: str) -> SimpleNamespace:
        return SimpleNamespace(session_token=f"svc_sess_{brand_id}", role="limited", scopes=["write:posts"])


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    fake = FakeApi()
    for name in ("reader", "own"):
        monkeypatch.setattr(api, name, lambda *_: fake)
    return fake


@pytest.fixture
def browser() -> FlaskClient:
    """A browser that is not signed in."""
    browser = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost")).test_client()
    browser.set_cookie("posthaste_form", KEY)
    return browser


def accept(browser: FlaskClient, **fields: str) -> Any:
    form = {"form_token": form_token(KEY, ""), "password": "long enough", **fields}
    return browser.post(ADDRESS, data=form)


@pytest.mark.usefixtures("fake")
def test_it_names_the_brand_the_owner_and_the_role_and_asks_a_newcomer_for_a_new_password(
    browser: FlaskClient,
) -> None:
    page = browser.get(ADDRESS).text
    assert "&lt;b&gt;Bakery&lt;/b&gt;" in page
    assert "ada@<wbr>example.test" in page
    assert "With limited access you can write posts" in page
    assert 'autocomplete="new-password"' in page
    assert 'name="firstname"' in page


@pytest.mark.parametrize("has_totp", [False, True])
def test_it_asks_somebody_with_an_account_for_its_password_and_for_a_code_where_one_is_needed(
    browser: FlaskClient, fake: FakeApi, has_totp: bool
) -> None:
    fake.offer = OpenedInvitation(**(vars(OFFER) | {"has_account": True, "has_totp": has_totp}))
    page = browser.get(ADDRESS).text
    assert 'autocomplete="current-password"' in page
    assert 'name="firstname"' not in page
    assert ('autocomplete="one-time-code"' in page) == has_totp


def test_who_accepted_is_signed_in_and_works_on_the_brand(browser: FlaskClient, fake: FakeApi) -> None:
    answer = accept(browser, firstname=" Sam ", code="")
    assert (answer.status_code, answer.location) == (302, "/")
    assert fake.accepted_with == {
        "invitation_id": "ivt_1", "code": "c0de", "password": "long enough", "firstname": "Sam", "lastname": "",
        "totp_code": None,
    }  # fmt: skip
    session, packed = (browser.get_cookie(f"posthaste_{it}") for it in ("session", "brand"))
    assert session is not None
    assert session.value == "svc_sess_new"
    assert packed is not None
    work = SharedWork.read(packed.value)
    assert work is not None
    assert (work.brand_id, work.token, work.owner) == ("brd_1", "svc_sess_brd_1", "Ada")


@pytest.mark.parametrize(
    ("known", "of_browser", "shown", "stored"),
    [
        ("Europe/Berlin", "Asia/Tokyo", "Europe/Berlin", []),
        (None, "Asia/Tokyo", "Asia/Tokyo", [{"timezone": "Asia/Tokyo"}]),
        (None, "UTC", "UTC", []),
        (None, "Nowhere/At_all", "UTC", []),
        (None, "", "UTC", []),
    ],
)
def test_an_account_without_a_time_zone_takes_that_of_the_browser(
    browser: FlaskClient, fake: FakeApi, known: str | None, of_browser: str, shown: str, stored: list[Any]
) -> None:
    fake.zone = known
    accept(browser, browsers_zone=of_browser)
    assert fake.edited_with == stored
    cookie = browser.get_cookie("posthaste_dates")
    assert (cookie.value if cookie else "UTC|").startswith(f"{shown}|")


def test_who_used_a_code_of_an_app_signs_in_with_the_next_one(browser: FlaskClient, fake: FakeApi) -> None:
    answer = accept(browser, code=" 123456 ")
    assert fake.accepted_with["totp_code"] == "123456"
    assert answer.status_code == 200
    assert "each code works once" in answer.text
    assert "posthaste_session" not in str(answer.headers)


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (AuthenticationError(401, {"code": "INVALID_CREDENTIALS"}), "not the password of the account"),
        (AuthenticationError(401, {"code": "INVALID_TOTP"}), "was used before"),
        (InvalidRequest(400, {"code": "VALIDATION_ERROR"}), "Enter a password of 8 to 256 characters"),
        (PermissionDenied(403, {"code": "SIGNUPS_CLOSED"}), "Ask its operator"),
        (LimitReached(429, {"code": "RATE_LIMITED"}), "Open the link again tomorrow"),
    ],
    ids=lambda it: it.body["code"] if isinstance(it, ApiError) else "",
)
def test_a_refusal_is_told_above_the_form_which_keeps_the_names(
    browser: FlaskClient, fake: FakeApi, refusal: ApiError, told: str
) -> None:
    fake.refusal = refusal
    answer = accept(browser, firstname="Sam")
    assert answer.status_code == refusal.status
    assert told in answer.text
    assert 'value="Sam"' in answer.text
    assert "long enough" not in answer.text


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_link_that_was_used_or_withdrawn_says_so(
    browser: FlaskClient, fake: FakeApi, is_sent: bool
) -> None:
    fake.offer = fake.refusal = InvalidRequest(400, {"code": "INVALID_LINK"})
    answer = accept(browser) if is_sent else browser.get(ADDRESS)
    assert (answer.status_code, "This link does not work" in answer.text) == (400, True)
    assert "<form" not in answer.text
