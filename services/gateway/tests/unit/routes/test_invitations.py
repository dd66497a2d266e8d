"""Invitations at the gateway: the calls to accounts, and the page that the link opens."""

from typing import Any

import pytest

from contracts.accounts import invitations as api
from contracts.errors import (
    INVALID_CREDENTIALS,
    INVALID_LINK,
    RATE_LIMITED,
    SERVICE_UNAVAILABLE,
    SIGNUPS_CLOSED,
    ApiError,
    invalid,
)

PAGE = "/auth/invitations/ivt_1/c0de"


@pytest.fixture(autouse=True)
def answers(bus: Any) -> None:
    bus.answers |= {
        "view_invitation": api.OpenedInvitation(
            brand_name="<i>Acme</i>", invited_by="ann@example.com", email="sam@example.com", role="full",
            has_account=False,
        ),
        "accept_invitation": api.AcceptedInvitation(
            brand_id="brd_1", brand_name="Acme", user_id="usr_2", email="sam@example.com", role="full"
        ),
    }  # fmt: skip


@pytest.fixture
def person(client: Any) -> Any:
    """A client without a token."""
    del client.environ_base["HTTP_AUTHORIZATION"]
    return client


def test_the_page_names_the_brand_and_its_owner_escaped_and_changes_nothing(person: Any, bus: Any) -> None:
    response = person.get(PAGE)
    assert response.status_code == 200
    assert "ann@example.com invites you to work on the brand &lt;i&gt;Acme&lt;/i&gt;" in response.text
    assert 'autocomplete="new-password"' in response.text
    assert bus.asked("accept_invitation") == []


def test_the_page_asks_somebody_with_an_account_for_its_password(person: Any, bus: Any) -> None:
    bus.answers["view_invitation"] = api.OpenedInvitation(
        brand_name="Acme",
        invited_by="ann@example.com",
        email="sam@example.com",
        role="limited",
        has_account=True,
    )
    assert 'autocomplete="current-password"' in person.get(PAGE).text


def test_the_form_accepts_with_the_password_and_the_network_of_the_person(person: Any, bus: Any) -> None:
    response = person.post(PAGE, data={"decision": "accept", "password": "long enough"})
    assert (response.status_code, "Acme now" in response.text) == (200, True)
    [(caller, asked)] = bus.asked("accept_invitation")
    assert (asked.invitation_id, asked.code, asked.password, asked.asker) == (
        "ivt_1", "c0de", "long enough", "127.0.0.1",
    )  # fmt: skip
    assert caller.operation_id


@pytest.mark.parametrize(
    ("error", "status", "has_form"),
    [(ApiError(INVALID_LINK), 400, False), (ApiError(INVALID_CREDENTIALS), 400, True),
     (invalid("password", "must have 8 to 256 characters"), 400, True), (ApiError(RATE_LIMITED), 429, False),
     (ApiError(SIGNUPS_CLOSED), 403, False), (ApiError(SERVICE_UNAVAILABLE), 503, False)],
)  # fmt: skip
def test_a_refusal_is_a_page_that_asks_again_where_that_helps(
    person: Any, bus: Any, error: ApiError, status: int, has_form: bool
) -> None:
    bus.answers["accept_invitation"] = error
    response = person.post(PAGE, data={"password": "x"})
    assert (response.status_code, "<form" in response.text) == (status, has_form)


def test_a_program_accepts_and_gets_the_code_of_a_refusal(person: Any, bus: Any) -> None:
    body = {"invitation_id": "ivt_1", "code": "c0de", "password": "long enough", "firstname": "Sam"}
    response = person.post("/auth/invitations/accept", json=body)
    assert (response.status_code, response.json["role"]) == (200, "full")
    assert bus.asked("accept_invitation")[0][1].firstname == "Sam"
    bus.answers["accept_invitation"] = ApiError(INVALID_LINK)
    assert person.post("/auth/invitations/accept", json=body).json["code"] == "INVALID_LINK"


def test_a_program_learns_what_the_link_offers_and_accepts_nothing_by_that(person: Any, bus: Any) -> None:
    body = {"invitation_id": "ivt_1", "code": "c0de"}
    response = person.post("/auth/invitations/open", json=body)
    assert response.status_code == 200
    assert response.json == {
        "brand_name": "<i>Acme</i>", "invited_by": "ann@example.com", "email": "sam@example.com", "role": "full",
        "has_account": False, "has_totp": False,
    }  # fmt: skip
    [(_, asked)] = bus.asked("view_invitation")
    assert (asked.invitation_id, asked.code) == ("ivt_1", "c0de")
    assert bus.asked("accept_invitation") == []
    bus.answers["view_invitation"] = ApiError(INVALID_LINK)
    refused = person.post("/auth/invitations/open", json=body)
    assert (refused.status_code, refused.json["code"]) == (400, "INVALID_LINK")


def test_a_token_for_posting_invites_nobody(client: Any) -> None:
    response = client.post("/api/v1/brands/brd_1/invitations", json={"email": "a@b.example", "role": "full"})
    assert (response.status_code, response.json["required_scope"]) == (403, "manage:brands")
