"""Tests that nobody gains anything by signing up with somebody else's address."""

import uuid
from typing import Any

import pytest
from e2e_kit.api import Api, Json, refused
from e2e_kit.operator import Account, Accounts, Operator, Refused
from e2e_kit.stack import Stack


@pytest.fixture(scope="module")
def anonymous(accounts: Accounts, stack: Stack) -> Api:
    """A client without a token. Its paths are relative to the gateway's root."""
    client = accounts.client(None)
    client.base_url = stack.root_url
    return client


def sign_up(anonymous: Api, email: str | None = None, **more: str) -> Json:
    body = {"email": email or new_address(), "password": "the stranger's own", **more}
    return anonymous.post("/auth/signup", body)


def new_address() -> str:
    return f"{uuid.uuid4().hex}@example.test"


def code_of(operator: Operator, *arguments: str) -> Any:
    with pytest.raises(Refused) as caught:
        operator(*arguments)
    return caught.value.error["code"]


def test_a_stranger_who_signed_up_with_a_customers_address_reads_nothing_of_the_customer(
    anonymous: Api, accounts: Accounts, operator: Operator
) -> None:
    """An audit found this: the operator later created the customer's account with that address, and the stranger's
    token stayed valid for it.
    """
    email = new_address()
    stranger = accounts.client(sign_up(anonymous, email)["sandbox_api_token"])
    assert stranger.get("/brands")["brands"] == []  # it is in the gateway's cache
    created = operator("user", "create", "--email", email.upper(), "--tier", "pro")
    brand = accounts.brand(created["user"]["id"])
    accounts.page(brand["id"])
    refused(stranger.call("GET", "/brands"), 401, "INVALID_TOKEN")
    refused(stranger.call("GET", "/pages"), 401, "INVALID_TOKEN")
    customer = accounts.client(created["sandbox_api_token"])
    assert [it["id"] for it in customer.get("/brands")["brands"]] == [brand["id"]]
    refused(
        anonymous.call("POST", "/auth/signup", json={"email": email, "password": "long enough"}),
        409,
        "EMAIL_TAKEN",
    )


def test_an_unverified_account_has_nothing_and_is_given_nothing(
    anonymous: Api, accounts: Accounts, operator: Operator, shared: Account
) -> None:
    signed_up = sign_up(anonymous)
    user_id = signed_up["user"]["id"]
    assert signed_up["user"]["verified"] is False
    brand_id = shared.brand_id
    gifts = [
        ("brand", "create", "--user", user_id, "--name", "Bakery"),
        ("token", "create", "--user", user_id, "--scopes", "*"),
        ("user", "plan", user_id, "elite"),
        ("collaborator", "add", "--brand", brand_id, "--user", user_id, "--role", "full"),
        ("credits", "grant", "--user", user_id, "--amount", "500"),
        ("credits", "auto-refill", "--user", user_id, "--threshold", "10", "--amount", "500"),
    ]
    assert {code_of(operator, *gift) for gift in gifts} == {"EMAIL_NOT_VERIFIED"}
    client = accounts.client(signed_up["sandbox_api_token"])
    balance = client.get("/account/credits")
    assert balance["credits"]["available"] == 0
    assert not any(pack["available"] for pack in balance["packs"])
    for path, name in (("/brands", "brands"), ("/pages", "pages"), ("/media", "media")):
        assert client.get(path)[name] == []


def test_the_operator_confirms_an_account_by_its_id_and_it_gets_what_it_needs(
    anonymous: Api, accounts: Accounts, operator: Operator
) -> None:
    signed_up = sign_up(anonymous)
    user_id = signed_up["user"]["id"]
    client = accounts.client(signed_up["sandbox_api_token"])
    assert client.get("/account")["credits"]["remaining"] == 0
    assert user_id in {user["id"] for user in operator("user", "unverified")}
    operator("user", "verify", user_id)
    brand = accounts.brand(user_id)
    assert [it["id"] for it in client.get("/brands")["brands"]] == [brand["id"]]
    assert client.get("/account")["credits"]["remaining"] == 30


def test_an_invited_person_signs_up_once_and_is_verified(anonymous: Api, operator: Operator) -> None:
    email = new_address()
    invite = operator("user", "invite", email)
    wrong = {"email": new_address(), "password": "long enough", "invite_code": invite["code"]}
    refused(anonymous.call("POST", "/auth/signup", json=wrong), 403, "INVITE_REQUIRED")
    assert sign_up(anonymous, email, invite_code=invite["code"])["user"]["verified"] is True
    again = {"email": email, "password": "long enough", "invite_code": invite["code"]}
    refused(anonymous.call("POST", "/auth/signup", json=again), 403, "INVITE_REQUIRED")


def test_an_address_is_asked_for_five_times_and_then_nobody_learns_more(
    anonymous: Api, shared: Account
) -> None:
    def answers(email: str) -> list[int]:
        body = {"email": email, "password": "long enough"}
        return [anonymous.call("POST", "/auth/signup", json=body).status_code for _ in range(7)]

    assert answers(shared.email) == [409] * 5 + [429] * 2
    assert answers(new_address()) == [201] + [409] * 4 + [429] * 2


def test_a_link_that_nobody_was_sent_leads_nowhere(anonymous: Api) -> None:
    user_id = sign_up(anonymous)["user"]["id"]
    for method in ("GET", "POST"):
        answer = anonymous.call(method, f"/auth/verify/{user_id}/{'0' * 32}")
        assert (answer.status_code, answer.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
