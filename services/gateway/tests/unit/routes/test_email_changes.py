"""Changing the e-mail address at the gateway: the calls to accounts, and the page that the link opens."""

from typing import Any

import pytest

from contracts.accounts import email_changes as api
from contracts.errors import (
    EMAIL_TAKEN,
    INVALID_LINK,
    RATE_LIMITED,
    SERVICE_UNAVAILABLE,
    ApiError,
    invalid,
)

PAGE = "/auth/email/emc_1/c0de"


@pytest.fixture(autouse=True)
def answers(bus: Any, kit: Any) -> None:
    bus.answers |= {
        "change_email": api.EmailChangeRequested(success=True, email="new@example.com", expires_at=kit.NOW),
        "view_email_change": api.EmailChange(email="<b>new</b>@example.com"),
        "confirm_email_change": api.EmailChange(email="new@example.com"),
    }


@pytest.fixture
def person(client: Any) -> Any:
    """A client without a token."""
    del client.environ_base["HTTP_AUTHORIZATION"]
    return client


def test_a_change_is_asked_for_with_the_password_and_a_code(client: Any, bus: Any, kit: Any) -> None:
    bus.answers["authenticate"] = kit.identity(scopes=("*", "manage:*"))
    body = {"email": "new@example.com", "password": "long enough", "totp_code": "123456"}
    response = client.post("/auth/email/change", json=body)
    assert (response.status_code, response.json["email"]) == (202, "new@example.com")
    [(caller, asked)] = bus.asked("change_email")
    assert asked == api.ChangeEmail(**body)
    assert caller.operation_id


def test_a_waiting_change_is_shown_and_cancelled_with_a_session(client: Any, bus: Any, kit: Any) -> None:
    waiting = api.WaitingEmailChange(email="new@example.com", expires_at=kit.NOW)
    bus.answers |= {
        "authenticate": kit.identity(scopes=("*", "manage:*")),
        "get_email_change": api.EmailChangeState(waiting=waiting),
        "cancel_email_change": api.EmailChangeCancelled(success=True),
    }
    assert client.get("/auth/email/change").json["waiting"]["email"] == "new@example.com"
    assert client.delete("/auth/email/change").json == {"success": True}


def test_programs_confirm_without_a_page_and_without_a_token(person: Any, bus: Any) -> None:
    body = {"change_id": "emc_1", "code": "c0de", "password": "long enough"}
    assert person.post("/auth/email/confirm", json=body).json == {"email": "new@example.com"}
    assert bus.asked("confirm_email_change")[0][1] == api.ConfirmEmailChange(**body)


def test_opening_the_link_changes_nothing_and_asks_for_the_password(person: Any, bus: Any) -> None:
    response = person.get(PAGE)
    assert (response.status_code, 'type="password"' in response.text) == (200, True)
    assert "&lt;b&gt;new&lt;/b&gt;@example.com" in response.text
    assert bus.asked("confirm_email_change") == []


def test_the_form_confirms_with_the_password(person: Any, bus: Any) -> None:
    response = person.post(PAGE, data={"decision": "confirm", "password": "long enough"})
    assert (response.status_code, "from now on" in response.text) == (200, True)
    asked = bus.asked("confirm_email_change")[0][1]
    assert (asked.change_id, asked.code, asked.password) == ("emc_1", "c0de", "long enough")


@pytest.mark.parametrize(
    ("error", "status", "has_form"),
    [(ApiError(INVALID_LINK), 400, False), (invalid("password", "is wrong"), 400, True),
     (ApiError(EMAIL_TAKEN), 409, False), (ApiError(RATE_LIMITED), 429, False),
     (ApiError(SERVICE_UNAVAILABLE), 503, False)],
)  # fmt: skip
def test_a_refusal_is_a_page_that_asks_again_where_that_helps(
    person: Any, bus: Any, error: ApiError, status: int, has_form: bool
) -> None:
    bus.answers["confirm_email_change"] = error
    response = person.post(PAGE, data={"password": "x"})
    assert (response.status_code, "<form" in response.text) == (status, has_form)
