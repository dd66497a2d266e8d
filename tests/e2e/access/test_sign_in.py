"""Tests signing in over HTTP: sessions, guessed passwords, new passwords, and what a session may do that a token may
not.
"""

import statistics
import time
import uuid

import pyotp
import pytest
from e2e_kit.api import Api, Json, error_code, refused
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.waiting import HEARD_SECONDS, until

PASSWORD = "the owner's own"


@pytest.fixture
def anonymous(accounts: Accounts) -> Api:
    return accounts.client(None)


def log_in(anonymous: Api, account: Account, password: str = PASSWORD) -> Json:
    return anonymous.post("/auth/login", {"email": account.email, "password": password})


def test_from_the_operators_link_to_a_session_that_works_everywhere(
    account: Account, accounts: Accounts, anonymous: Api
) -> None:
    made = accounts.sign_in(account, PASSWORD)
    session = accounts.client(made["session_token"])
    assert session.get("/me")["authenticated_as"]["user_id"] == account.user_id
    assert [brand["id"] for brand in session.get("/brands")["brands"]] == [account.brand_id]
    body = {"page_id": account.page_id(), "message": "signed in"}
    assert session.post("/posts/publish", body, key=uuid.uuid4().hex)["was_published"]
    [listed] = session.get("/auth/sessions")["sessions"]
    assert (listed["id"], listed["current"], listed["address"]) == (made["session"]["id"], True, "127.0.0.1")
    assert log_in(anonymous, account)["session"]["id"] != listed["id"]


def test_a_stolen_session_is_refused_after_the_logout(
    account: Account, accounts: Accounts, anonymous: Api
) -> None:
    made = accounts.sign_in(account, PASSWORD)
    owner, thief = (accounts.client(made["session_token"]) for _ in range(2))
    thief.get("/me")
    owner.post("/auth/logout", {}, 200)
    until(lambda: thief.call("GET", "/me").status_code == 401, HEARD_SECONDS, "every gateway has heard of it")
    refused(thief.call("GET", "/brands"), 401, "TOKEN_REVOKED")


def test_another_device_is_signed_out_and_a_new_password_signs_all_out(
    account: Account, accounts: Accounts, anonymous: Api
) -> None:
    made = accounts.sign_in(account, PASSWORD)
    mine, lost = accounts.client(made["session_token"]), log_in(anonymous, account)
    mine.delete(f"/auth/sessions/{lost['session']['id']}")
    lost_api = accounts.client(lost["session_token"])
    refused(lost_api.call("GET", "/me"), 401, "TOKEN_REVOKED")
    third = accounts.client(log_in(anonymous, account)["session_token"])
    change = {"current_password": PASSWORD, "new_password": "another one"}
    assert mine.post("/auth/password/change", change, 200)["ended_sessions"] == 1
    refused(third.call("GET", "/me"), 401, "TOKEN_REVOKED")
    mine.get("/me")
    refused(anonymous.call("POST", "/auth/login", json={"email": account.email, "password": PASSWORD}), 401,
            "INVALID_CREDENTIALS")  # fmt: skip
    assert log_in(anonymous, account, "another one")


def test_a_reset_link_works_once(account: Account, operator: Operator, anonymous: Api) -> None:
    *_, reset_id, code = operator("user", "reset-link", account.email)["link"].split("/")
    body = {"reset_id": reset_id, "code": code, "password": PASSWORD}
    assert anonymous.post("/auth/password/reset", body, 200) == {"email": account.email}
    refused(
        anonymous.call("POST", "/auth/password/reset", json=body | {"password": "a thief's"}),
        400,
        "INVALID_LINK",
    )
    page = anonymous.call("GET", f"/auth/reset/{reset_id}/{code}")
    assert (page.status_code, page.headers["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert log_in(anonymous, account)


def test_asking_for_a_link_reveals_nothing(account: Account, anonymous: Api) -> None:
    answers = [
        anonymous.call("POST", "/auth/password/forgot", json={"email": email})
        for email in (account.email, f"{uuid.uuid4().hex}@example.test")
    ]
    assert [(answer.status_code, answer.json()) for answer in answers] == [(202, {"success": True})] * 2


def test_guesses_are_refused_and_known_and_unknown_addresses_are_answered_alike(
    account: Account, accounts: Accounts, anonymous: Api
) -> None:
    accounts.sign_in(account, PASSWORD)

    def answers(email: str) -> list[str | None]:
        body = {"email": email, "password": "a guess of mine"}
        return [error_code(anonymous.call("POST", "/auth/login", json=body)) for _ in range(30)]

    expected = ["INVALID_CREDENTIALS"] * 20 + ["RATE_LIMITED"] * 10
    assert answers(account.email) == expected
    assert answers(f"{uuid.uuid4().hex}@example.test") == expected
    body = {"email": account.email, "password": PASSWORD}
    refused(anonymous.call("POST", "/auth/login", json=body), 429, "RATE_LIMITED")


def test_a_code_of_an_authenticator_app_is_asked_for_and_works_once(
    account: Account, accounts: Accounts, anonymous: Api, operator: Operator
) -> None:
    session = accounts.client(accounts.sign_in(account, PASSWORD)["session_token"])
    key = uuid.uuid4().hex
    made = session.post("/auth/totp", {"password": PASSWORD}, key=key)
    assert session.post("/auth/totp", {"password": PASSWORD}, key=key) == made
    code = pyotp.parse_uri(made["otpauth_url"]).now()
    first, second, *_ = session.post("/auth/totp/confirm", {"totp_code": code}, 200)["recovery_codes"]
    body = {"email": account.email, "password": PASSWORD}
    refused(anonymous.call("POST", "/auth/login", json=body), 401, "TOTP_REQUIRED")
    refused(anonymous.call("POST", "/auth/login", json=body | {"totp_code": code}), 401, "INVALID_TOTP")
    assert anonymous.post("/auth/login", body | {"totp_code": first})["session_token"]
    refused(anonymous.call("POST", "/auth/login", json=body | {"totp_code": first}), 401, "INVALID_TOTP")
    assert session.get("/auth/totp")["recovery_codes_left"] == 9
    off = {"password": PASSWORD, "totp_code": second}
    assert session.post("/auth/totp/disable", off, 200) == {"success": True}
    assert log_in(anonymous, account)


@pytest.mark.quiet
def test_the_time_of_a_refusal_tells_nothing_about_the_address(accounts: Accounts, anonymous: Api) -> None:
    """Tries known and unknown addresses in turn, each less often than the limit for sign-ins allows."""
    known = []
    for _ in range(3):
        account = accounts.new(pages=())
        accounts.sign_in(account, PASSWORD)
        known.append(account.email)

    def seconds(email: str) -> float:
        begin = time.perf_counter()
        body = {"email": email, "password": "a guess of mine"}
        refused(anonymous.call("POST", "/auth/login", json=body), 401, "INVALID_CREDENTIALS")
        return time.perf_counter() - begin

    seconds(f"{uuid.uuid4().hex}@example.test")
    pairs = [
        (seconds(known[number % 3]), seconds(f"{uuid.uuid4().hex}@example.test")) for number in range(45)
    ]
    of_known, of_unknown = (statistics.median(times) for times in zip(*pairs, strict=True))
    difference = statistics.median(one - other for one, other in pairs)
    print(
        f"known {of_known * 1000:.1f} ms, unknown {of_unknown * 1000:.1f} ms, difference {difference * 1000:.2f} ms"
    )
    assert abs(difference) < of_known * 0.15


def test_every_scope_of_a_token_does_not_manage_the_account(account: Account, accounts: Accounts) -> None:
    made = accounts.sign_in(account, PASSWORD)
    for method, path in (
        ("GET", "/auth/sessions"),
        ("DELETE", f"/auth/sessions/{made['session']['id']}"),
    ):
        refused(account.api.call(method, path), 403, "MISSING_SCOPE", required_scope="manage:account")
    change = {"current_password": PASSWORD, "new_password": "another one"}
    refused(account.api.call("POST", "/auth/password/change", json=change), 403, "MISSING_SCOPE")
    refused(account.api.call("POST", "/auth/logout", json={}), 400, "VALIDATION_ERROR")
