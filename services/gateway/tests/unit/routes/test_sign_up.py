"""Sign-up at the gateway: the calls to accounts, and the page that the link in the mail opens."""

from html.parser import HTMLParser
from typing import Any

import pytest

from contracts import accounts
from contracts.accounts import ConfirmVerification, Verification, VerificationLink
from contracts.errors import NOT_FOUND, RATE_LIMITED, SERVICE_UNAVAILABLE, SIGNUPS_CLOSED, ApiError, invalid

BODY = {"email": "a@example.com", "password": "long enough"}
PAGE = "/auth/verify/usr_1/c0de"
LINK = VerificationLink(user_id="usr_1", code="c0de")


@pytest.fixture(autouse=True)
def answers(bus: Any, kit: Any) -> None:
    bus.answers["sign_up"] = accounts.CreatedUser(user=kit.USER, sandbox_api_token="svc_test_x")
    bus.answers["view_verification"] = Verification(email="<b>ann</b>@example.com", verified=False)
    bus.answers["confirm_verification"] = Verification(email="ann@example.com", verified=True)
    bus.answers["refuse_verification"] = Verification(email="ann@example.com", verified=False)


@pytest.fixture
def person(client: Any) -> Any:
    """A client without a token."""
    del client.environ_base["HTTP_AUTHORIZATION"]
    return client


class Seen(HTMLParser):
    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fields: dict[str, str] = {}
        self.buttons: list[str] = []
        self.outcome = self.text = ""
        assert answer.content_type == "text/html; charset=utf-8"
        self.feed(answer.get_data(as_text=True))

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.outcome = given.get("data-outcome") or self.outcome
        if tag == "input":
            self.fields[given["name"]] = given["type"]
        if tag == "button":
            self.buttons.append(given["value"])

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_newcomer_gets_a_sandbox_token_and_cannot_choose_a_tier(person: Any, bus: Any) -> None:
    response = person.post("/auth/signup", json=BODY | {"tier": "elite", "firstname": "A"})
    assert (response.status_code, response.json["sandbox_api_token"]) == (201, "svc_test_x")
    [(caller, asked)] = bus.asked("sign_up")
    assert not hasattr(asked, "tier")
    assert (asked.email, asked.firstname, asked.invite_code) == ("a@example.com", "A", None)
    assert caller.operation_id
    assert bus.asked("admit") == []


def test_an_invite_is_handed_on(person: Any, bus: Any) -> None:
    person.post("/auth/signup", json=BODY | {"invite_code": "abc"})
    assert bus.asked("sign_up")[0][1].invite_code == "abc"


def test_the_addresses_of_one_ipv6_customer_ask_as_one_network(person: Any, bus: Any) -> None:
    for address in ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", "2001:db8:0:2::1", "192.0.2.1"):
        person.post("/auth/signup", json=BODY, environ_base={"REMOTE_ADDR": address})
    first, second, third, fourth = (asked.asker for _, asked in bus.asked("sign_up"))
    assert first == second
    assert len({first, third, fourth}) == 3


def test_a_limit_says_when_to_come_again(person: Any, bus: Any) -> None:
    bus.answers["sign_up"] = ApiError(RATE_LIMITED, retry_after_seconds=90)
    response = person.post("/auth/signup", json=BODY)
    assert (response.status_code, response.headers["Retry-After"]) == (429, "90")


def test_an_installation_without_sign_ups_says_so(person: Any, bus: Any) -> None:
    bus.answers["sign_up"] = ApiError(SIGNUPS_CLOSED)
    response = person.post("/auth/signup", json=BODY)
    assert (response.status_code, response.json["code"]) == (403, "SIGNUPS_CLOSED")


# -- the page ------------------------------------------------------------------------------------------------------


def test_following_the_link_changes_nothing_and_shows_a_form_with_the_password(person: Any, bus: Any) -> None:
    response = person.get(PAGE)
    seen = Seen(response)
    assert (response.status_code, seen.outcome) == (200, "verify")
    assert "<b>ann</b>@example.com" in seen.text
    assert "b" not in seen.tags
    assert (seen.fields, seen.buttons) == ({"password": "password"}, ["confirm", "delete"])
    assert {name for name, _, _ in bus.calls} == {"view_verification"}
    assert person.head(PAGE).status_code == 200
    assert {name for name, _, _ in bus.calls} == {"view_verification"}


def test_the_page_loads_nothing_and_is_kept_nowhere(person: Any) -> None:
    headers = person.get(PAGE).headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Frame-Options"] == "DENY"
    assert "form-action 'self'" in headers["Content-Security-Policy"]
    assert "default-src 'none'" in headers["Content-Security-Policy"]


def test_the_password_confirms_the_address(person: Any, bus: Any) -> None:
    response = person.post(PAGE, data={"decision": "confirm", "password": "pässword &=+%"})
    assert (response.status_code, Seen(response).outcome) == (200, "verified")
    expected = ConfirmVerification(user_id="usr_1", code="c0de", password="pässword &=+%")
    assert [asked for _, asked in bus.asked("confirm_verification")] == [expected]


def test_who_did_not_sign_up_deletes_the_account(person: Any, bus: Any) -> None:
    response = person.post(PAGE, data={"decision": "delete", "password": "by the browser"})
    assert (response.status_code, Seen(response).outcome) == (200, "deleted")
    assert [asked for _, asked in bus.asked("refuse_verification")] == [LINK]
    assert bus.asked("confirm_verification") == []


def test_a_confirmed_account_is_not_deleted(person: Any, bus: Any) -> None:
    bus.answers["refuse_verification"] = Verification(email="ann@example.com", verified=True)
    response = person.post(PAGE, data={"decision": "delete"})
    assert (response.status_code, Seen(response).outcome) == (400, "failed")


def test_a_used_link_does_not_show_which_address_the_account_has_now(person: Any, bus: Any) -> None:
    now = Verification(email="ann@new.example", verified=True)
    bus.answers["view_verification"] = bus.answers["refuse_verification"] = now
    for response in (person.get(PAGE), person.post(PAGE, data={"decision": "delete"})):
        assert "new.example" not in response.text


def test_a_program_learns_the_address_of_the_link_and_confirms_nothing_by_that(person: Any, bus: Any) -> None:
    body = {"user_id": "usr_1", "code": "c0de"}
    response = person.post("/auth/email/verify/open", json=body)
    assert response.status_code == 200
    assert response.json == {"email": "<b>ann</b>@example.com", "verified": False}
    assert [asked for _, asked in bus.asked("view_verification")] == [LINK]
    assert bus.asked("confirm_verification") == []
    bus.answers["view_verification"] = ApiError(NOT_FOUND)
    refused = person.post("/auth/email/verify/open", json=body)
    assert (refused.status_code, refused.json["code"]) == (404, "NOT_FOUND")


def test_a_program_does_not_learn_which_address_the_account_of_a_used_link_has_now(
    person: Any, bus: Any
) -> None:
    bus.answers["view_verification"] = Verification(email="ann@new.example", verified=True)
    response = person.post("/auth/email/verify/open", json={"user_id": "usr_1", "code": "c0de"})
    assert response.json == {"email": None, "verified": True}


def test_another_password_is_asked_for_again(person: Any, bus: Any) -> None:
    bus.answers["confirm_verification"] = invalid("password", "is not the password from the sign-up")
    response = person.post(PAGE, data={"decision": "confirm", "password": "wrong"})
    seen = Seen(response)
    assert (response.status_code, seen.outcome, seen.fields) == (400, "failed", {"password": "password"})


@pytest.mark.parametrize(
    ("error", "status"), [(NOT_FOUND, 404), (RATE_LIMITED, 429), (SERVICE_UNAVAILABLE, 503)]
)
def test_errors_are_pages_too(person: Any, bus: Any, error: Any, status: int) -> None:
    for method in ("view_verification", "confirm_verification", "refuse_verification"):
        bus.answers[method] = ApiError(error)
    form = {"password": "long enough"}
    for response in (
        person.get(PAGE),
        person.post(PAGE, data=form),
        person.post(PAGE, data=form | {"decision": "delete"}),
    ):
        assert (response.status_code, Seen(response).outcome) == (status, "failed")


def test_a_body_that_is_no_form_confirms_nothing(person: Any, bus: Any) -> None:
    bus.answers["confirm_verification"] = invalid("password", "is not the password from the sign-up")
    for body in (b"", b"\xff\xfe", b"&".join(b"a%d=1" % n for n in range(20)), b"password=" + b"x" * 100_000):
        assert person.post(PAGE, data=body).status_code == 400
    assert max(len(asked.password) for _, asked in bus.asked("confirm_verification")) <= 300
