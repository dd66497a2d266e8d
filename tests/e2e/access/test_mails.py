"""Tests the mails of the stack as their reader sees them: each link leads to a page that works, and works once."""

import uuid

import pytest
import requests
from e2e_kit.api import Api, refused
from e2e_kit.linking import Page, begin
from e2e_kit.mails import await_link, await_mail, to
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack

PASSWORD = "the owner's own"


@pytest.fixture
def anonymous(accounts: Accounts) -> Api:
    return accounts.client(None)


def test_from_sign_up_to_a_session_by_the_link_in_the_mail(anonymous: Api, stack: Stack) -> None:
    person = {"email": f"{uuid.uuid4().hex}@example.test", "password": PASSWORD}
    anonymous.post("/auth/signup", person)
    refused(anonymous.call("POST", "/auth/login", json=person), 409, "EMAIL_NOT_VERIFIED")
    user_id, code = await_link(stack, person["email"])
    link = {"user_id": user_id, "code": code}
    offered = {"email": person["email"], "verified": False}
    assert anonymous.post("/auth/email/verify/open", link, 200) == offered
    guessed = anonymous.call("POST", "/auth/email/verify/open", json=link | {"code": "0" * 32})
    refused(guessed, 404, "NOT_FOUND")
    assert anonymous.post("/auth/email/verify", link | {"password": PASSWORD}, 200)["verified"]
    assert anonymous.post("/auth/email/verify/open", link, 200) == {"email": None, "verified": True}
    assert anonymous.post("/auth/login", person)["session_token"]
    assert len(to(stack, person["email"])) == 1


def test_the_link_of_a_reset_mail_works_once(account: Account, anonymous: Api, stack: Stack) -> None:
    anonymous.post("/auth/password/forgot", {"email": account.email}, 202)
    reset_id, code = await_link(stack, account.email, "new password")
    body = {"reset_id": reset_id, "code": code, "password": PASSWORD}
    assert anonymous.post("/auth/password/reset", body, 200) == {"email": account.email}
    refused(anonymous.call("POST", "/auth/password/reset", json=body), 400, "INVALID_LINK")
    assert anonymous.post("/auth/login", {"email": account.email, "password": PASSWORD})


def test_an_address_without_an_account_gets_no_mail(account: Account, anonymous: Api, stack: Stack) -> None:
    stranger = f"{uuid.uuid4().hex}@example.test"
    for email in (stranger, account.email):
        anonymous.post("/auth/password/forgot", {"email": email}, 202)
    await_mail(stack, account.email, "new password")  # asked for later, and its mail has come
    assert to(stack, stranger) == []


def test_the_owner_is_told_once_by_mail_of_a_login_that_came_back_in_another_browser(
    account: Account, simulator: Simulator, stack: Stack
) -> None:
    linking = begin(account, simulator, "TW")
    back = linking.way_back()
    for _ in range(2):
        with requests.Session() as victim:
            assert Page(victim.get(back, timeout=30)).status == 403
    text = await_mail(stack, account.email, "connect a page").get_content()
    assert "X" in text
    assert "No page was connected" in text
    assert len(to(stack, account.email, "connect a page")) == 1


def test_the_operator_hands_the_links_over_where_no_mail_is_sent(
    anonymous: Api, operator: Operator, stack: Stack
) -> None:
    person = {"email": f"{uuid.uuid4().hex}@example.test", "password": PASSWORD}
    signed_up = anonymous.post("/auth/signup", person)["user"]
    made = operator("user", "verification-link", signed_up["id"])
    assert made["link"].split("/")[-2:] == await_link(stack, person["email"])
