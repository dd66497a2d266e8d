"""Tests invitations by mail: the owner invites an address, the mail arrives, and the invited person posts for the
brand.
"""

import uuid

import pytest
import requests
from e2e_kit.api import Api, refused
from e2e_kit.mails import await_mail, to
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.stack import Stack
from e2e_kit.waiting import HEARD_SECONDS, until

from local.servers import mail

SUBJECT = "invited to work on a brand"
PASSWORD = "the guest's own"


@pytest.fixture
def session(account: Account, accounts: Accounts) -> Api:
    return accounts.client(accounts.sign_in(account)["session_token"])


@pytest.fixture
def anonymous(accounts: Accounts) -> Api:
    return accounts.client(None)


def address() -> str:
    return f"{uuid.uuid4().hex}@example.test"


def link_to(stack: Stack, email: str) -> str:
    link = mail.link_in(await_mail(stack, email, SUBJECT))
    assert link
    return link


def accepting(link: str) -> dict[str, str]:
    *_, invitation_id, code = link.split("/")
    return {"invitation_id": invitation_id, "code": code, "password": PASSWORD}


def page_of_the_gateway(stack: Stack, link: str) -> str:
    """Returns the address of the gateway's own page for this invitation. Mails of a release before 1.4.0, or of one
    without a dashboard, contain that address in place of this link.
    """
    *_, invitation_id, code = link.split("/")
    return f"{stack.root_url}/auth/invitations/{invitation_id}/{code}"


def test_a_stranger_accepts_on_the_page_of_the_gateway_signs_in_and_posts_until_removed(
    account: Account, accounts: Accounts, anonymous: Api, session: Api, stack: Stack
) -> None:
    email, path = address(), f"/brands/{account.brand_id}/invitations"
    made = session.post(path, {"email": email, "role": "full"})
    assert session.get(path)["invitations"] == [made]
    link = page_of_the_gateway(stack, link_to(stack, email))
    page = requests.get(link, timeout=30)
    assert (page.status_code, "Work on this brand?" in page.text) == (200, True)
    accepted = requests.post(link, data={"password": PASSWORD}, timeout=30)
    assert (accepted.status_code, "The invitation is accepted" in accepted.text) == (200, True)
    assert requests.post(link, data={"password": PASSWORD}, timeout=30).status_code == 400
    assert session.get(path)["invitations"] == []
    [person] = session.get(f"/brands/{account.brand_id}/collaborators")["collaborators"]
    assert (person["email"], person["role"]) == (email, "full")

    signed_in = anonymous.post("/auth/login", {"email": email, "password": PASSWORD})
    guest = accounts.client(signed_in["session_token"])
    body = {"name": "guest", "scopes": ["read:pages", "write:posts"], "brand_ids": [account.brand_id]}
    acting = accounts.client(guest.post("/tokens", body)["api_token"])
    post = {"page_id": account.page_id(), "message": "by a guest"}
    assert acting.post("/posts/publish", post, key=uuid.uuid4().hex)["was_published"]
    session.delete(f"/brands/{account.brand_id}/collaborators/{person['user_id']}")
    until(lambda: acting.call("GET", "/pages").status_code == 401, HEARD_SECONDS, "the gateways know")


def test_somebody_with_an_account_accepts_by_signing_in_and_a_wrong_password_does_not(
    account: Account, accounts: Accounts, anonymous: Api, session: Api, stack: Stack
) -> None:
    guest = accounts.new(pages=())
    accounts.sign_in(guest, PASSWORD)
    session.post(f"/brands/{account.brand_id}/invitations", {"email": guest.email, "role": "limited"})
    body = accepting(link_to(stack, guest.email))
    link = {name: body[name] for name in ("invitation_id", "code")}
    offered = anonymous.post("/auth/invitations/open", link, 200)
    assert offered == {
        "brand_name": "Corner Bakery", "invited_by": account.email, "email": guest.email, "role": "limited",
        "has_account": True, "has_totp": False,
    }  # fmt: skip
    wrong = anonymous.call("POST", "/auth/invitations/accept", json=body | {"password": "a guess of mine"})
    refused(wrong, 401, "INVALID_CREDENTIALS")
    accepted = anonymous.post("/auth/invitations/accept", body, 200)
    assert (accepted["user_id"], accepted["role"]) == (guest.user_id, "limited")
    refused(anonymous.call("POST", "/auth/invitations/open", json=link), 400, "INVALID_LINK")
    refused(anonymous.call("POST", "/auth/invitations/accept", json=body), 400, "INVALID_LINK")
    actions = [entry["action"] for entry in session.get("/audit", brand_id=account.brand_id)["entries"]]
    assert actions[:2] == ["collaborator.joined", "collaborator.invited"]


def test_a_withdrawn_invitation_is_void(account: Account, anonymous: Api, session: Api, stack: Stack) -> None:
    email, path = address(), f"/brands/{account.brand_id}/invitations"
    made = session.post(path, {"email": email, "role": "full"})
    body = accepting(link_to(stack, email))
    session.delete(f"{path}/{made['id']}")
    refused(anonymous.call("POST", "/auth/invitations/accept", json=body), 400, "INVALID_LINK")
    refused(session.call("DELETE", f"{path}/{made['id']}"), 404, "NOT_FOUND")


def test_a_repeat_with_the_same_key_sends_one_mail(account: Account, session: Api, stack: Stack) -> None:
    email, path, key = address(), f"/brands/{account.brand_id}/invitations", uuid.uuid4().hex
    body = {"email": email, "role": "full"}
    assert session.post(path, body, key=key) == session.post(path, body, key=key)
    await_mail(stack, email, SUBJECT)
    assert len(to(stack, email, SUBJECT)) == 1


def test_an_answer_does_not_tell_whether_the_address_has_an_account(
    account: Account, accounts: Accounts, session: Api
) -> None:
    path = f"/brands/{account.brand_id}/invitations"
    shapes = []
    for email in (accounts.new(pages=()).email, address()):
        answer = session.call("POST", path, json={"email": email, "role": "full"})
        shapes.append((answer.status_code, sorted(answer.json()), sorted(answer.headers)))
    assert shapes[0] == shapes[1]


def test_one_address_gets_five_invitations_a_day(account: Account, session: Api) -> None:
    body, path = {"email": address(), "role": "full"}, f"/brands/{account.brand_id}/invitations"
    for _ in range(5):
        session.post(path, body)
    refused(session.call("POST", path, json=body), 429, "RATE_LIMITED")


def test_the_operator_prints_the_link_of_the_mail(
    account: Account, operator: Operator, session: Api, stack: Stack
) -> None:
    email = address()
    session.post(f"/brands/{account.brand_id}/invitations", {"email": email, "role": "full"})
    made = operator("collaborator", "invitation-link", "--brand", account.brand_id, "--email", email)
    assert made["link"] == link_to(stack, email)
