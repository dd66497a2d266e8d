"""Signing in and new passwords at the gateway: the calls to accounts, and the page that a reset link opens."""

from datetime import timedelta
from typing import Any

import pytest

from chassis.tokens import SESSION_PREFIX, make_token
from contracts.accounts import ConfirmVerification, Verification, sign_in
from contracts.errors import (
    INVALID_CREDENTIALS,
    INVALID_LINK,
    RATE_LIMITED,
    SERVICE_UNAVAILABLE,
    TOTP_REQUIRED,
    ApiError,
    invalid,
)
from contracts.record import Nothing

CREDENTIALS = {"email": "a@example.com", "password": "long enough"}
PAGE = "/auth/reset/rst_1/c0de"


@pytest.fixture(autouse=True)
def answers(bus: Any, kit: Any) -> None:
    session = sign_in.Session(
        id="ses_1", user_agent="curl", address="", created_at=kit.NOW, last_used_at=None,
        expires_at=kit.NOW + timedelta(days=30),
    )  # fmt: skip
    bus.answers |= {
        "log_in": sign_in.LoggedIn(session=session, session_token="svc_sess_x"),
        "log_out": sign_in.SessionEnded(success=True, id="ses_1"),
        "request_reset": Nothing(),
        "view_reset": sign_in.PasswordReset(email="<b>ann</b>@example.com"),
        "reset_password": sign_in.PasswordReset(email="ann@example.com"),
        "change_password": sign_in.PasswordChanged(success=True, ended_sessions=2),
        "confirm_verification": Verification(email="ann@example.com", verified=True),
    }


@pytest.fixture
def person(client: Any) -> Any:
    """A client without a token."""
    del client.environ_base["HTTP_AUTHORIZATION"]
    return client


def test_a_person_signs_in_and_the_token_is_shown(person: Any, bus: Any) -> None:
    response = person.post("/auth/login", json=CREDENTIALS, headers={"User-Agent": "Mo\tzilla" + "x" * 200})
    assert (response.status_code, response.json["session_token"]) == (201, "svc_sess_x")
    [(_, asked)] = bus.asked("log_in")
    assert (asked.email, asked.password, asked.asker) == ("a@example.com", "long enough", "127.0.0.1")
    assert asked.user_agent == "Mozilla" + "x" * 93
    assert bus.asked("admit") == []


def test_a_refused_sign_in_says_no_more_than_that(person: Any, bus: Any) -> None:
    bus.answers["log_in"] = ApiError(INVALID_CREDENTIALS)
    response = person.post("/auth/login", json=CREDENTIALS)
    assert (response.status_code, response.json["code"]) == (401, "INVALID_CREDENTIALS")
    bus.answers["log_in"] = ApiError(RATE_LIMITED, retry_after_seconds=90)
    assert person.post("/auth/login", json=CREDENTIALS).headers["Retry-After"] == "90"


def test_an_account_that_asks_for_a_code_says_so_and_the_code_is_passed_on(person: Any, bus: Any) -> None:
    person.post("/auth/login", json=CREDENTIALS | {"totp_code": "123456"})
    assert bus.asked("log_in")[0][1].totp_code == "123456"
    bus.answers["log_in"] = ApiError(TOTP_REQUIRED)
    response = person.post("/auth/login", json=CREDENTIALS)
    assert (response.status_code, response.json["code"]) == (401, "TOTP_REQUIRED")
    assert person.post("/auth/login", json=CREDENTIALS | {"totp_code": "1" * 41}).status_code == 400


def test_a_sessions_token_is_taken_as_a_token(client: Any, bus: Any) -> None:
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {make_token(SESSION_PREFIX)}"
    assert client.post("/auth/logout").json == {"success": True, "id": "ses_1"}
    assert client.get("/api/v1/me").status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/auth/sessions"),
        ("DELETE", "/auth/sessions/ses_1"),
        ("GET", "/auth/totp"),
        ("POST", "/auth/totp"),
        ("POST", "/auth/totp/confirm"),
        ("POST", "/auth/totp/disable"),
        ("POST", "/auth/password/change"),
        ("POST", "/auth/email/change"),
        ("GET", "/auth/email/change"),
        ("DELETE", "/auth/email/change"),
    ],
)
def test_a_token_with_every_scope_but_managing_is_refused(
    client: Any, bus: Any, method: str, path: str
) -> None:
    response = client.open(path, method=method, json={} if method == "POST" else None)
    assert (response.status_code, response.json["required_scope"]) == (403, "manage:account")


def test_asking_for_a_link_is_answered_the_same_for_everybody(person: Any, bus: Any) -> None:
    response = person.post("/auth/password/forgot", json={"email": "a@example.com"})
    assert (response.status_code, response.json) == (202, {"success": True})
    assert bus.asked("request_reset")[0][1] == sign_in.RequestReset(email="a@example.com", asker="127.0.0.1")


def test_programs_reset_change_and_verify_without_a_page(client: Any, bus: Any, kit: Any) -> None:
    body = {"reset_id": "rst_1", "code": "c0de", "password": "the new one"}
    assert client.post("/auth/password/reset", json=body).json == {"email": "ann@example.com"}
    assert bus.asked("reset_password")[0][1] == sign_in.ResetPassword(**body)
    bus.answers["authenticate"] = kit.identity(scopes=("*", "manage:*"))
    change = {"current_password": "the old one", "new_password": "the new one"}
    assert client.post("/auth/password/change", json=change).json["ended_sessions"] == 2
    assert bus.asked("change_password")[0][1] == sign_in.ChangePassword(**change)
    verify = {"user_id": "usr_1", "code": "c0de", "password": "long enough"}
    assert client.post("/auth/email/verify", json=verify).json["verified"] is True
    assert bus.asked("confirm_verification")[0][1] == ConfirmVerification(**verify)


def test_opening_the_link_changes_nothing_and_asks_for_a_new_password(person: Any, bus: Any) -> None:
    response = person.get(PAGE)
    text = response.get_data(as_text=True)
    assert response.status_code == 200
    assert "&lt;b&gt;ann" in text
    assert 'autocomplete="new-password"' in text
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert {name for name, _, _ in bus.calls} == {"view_reset"}


def test_the_form_sets_the_password(person: Any, bus: Any) -> None:
    response = person.post(PAGE, data={"password": "pässword &=+%"})
    assert 'data-outcome="verified"' in response.get_data(as_text=True)
    expected = sign_in.ResetPassword(reset_id="rst_1", code="c0de", password="pässword &=+%")
    assert [asked for _, asked in bus.asked("reset_password")] == [expected]


@pytest.mark.parametrize(
    ("error", "status", "asks_again"),
    [
        (ApiError(INVALID_LINK), 400, False),
        (invalid("password", "must have 8 to 256 characters"), 400, True),
        (ApiError(SERVICE_UNAVAILABLE), 503, False),
    ],
)
def test_errors_are_pages_too(person: Any, bus: Any, error: ApiError, status: int, asks_again: bool) -> None:
    bus.answers["reset_password"] = error
    response = person.post(PAGE, data={"password": "x"})
    text = response.get_data(as_text=True)
    assert (response.status_code, "<form" in text) == (status, asks_again)
    assert 'data-outcome="failed"' in text
