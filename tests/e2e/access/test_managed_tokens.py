"""People manage tokens over HTTP. No token can give itself or another token more rights than it has."""

import uuid

from e2e_kit.api import Api, refused
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.waiting import HEARD_SECONDS, until


def session_of(accounts: Accounts, account: Account) -> Api:
    return accounts.client(accounts.sign_in(account)["session_token"])


def test_a_person_makes_a_token_that_posts_changes_rotates_and_revokes_it(
    account: Account, accounts: Accounts
) -> None:
    session = session_of(accounts, account)
    key = uuid.uuid4().hex
    made = session.post("/tokens", {"name": "CI", "scopes": ["write:posts"]}, key=key)
    again = session.post("/tokens", {"name": "CI", "scopes": ["write:posts"]}, key=key)
    assert again == made
    poster, token_id = accounts.client(made["api_token"]), made["token"]["id"]
    assert poster.post("/posts/publish", {"page_id": account.page_id(), "message": "hi"})["was_published"]
    refused(poster.call("GET", "/pages"), 403, "MISSING_SCOPE")
    edited = session.patch(f"/tokens/{token_id}", {"scopes": ["write:posts", "read:pages"], "name": "CI 2"})
    assert (edited["name"], edited["scopes"]) == ("CI 2", ["write:posts", "read:pages"])
    until(lambda: poster.call("GET", "/pages").status_code == 200, HEARD_SECONDS, "the gateways know")
    rotated = session.post(f"/tokens/{token_id}/rotate", {})
    until(lambda: poster.call("GET", "/pages").status_code == 401, HEARD_SECONDS, "the gateways know")
    refused(poster.call("GET", "/pages"), 401, "TOKEN_REVOKED")
    accounts.client(rotated["api_token"]).get("/pages")
    session.delete(f"/tokens/{rotated['token']['id']}")
    listed = {token["id"]: token for token in session.get("/tokens")["tokens"]}
    assert listed[rotated["token"]["id"]]["revoked_at"]
    assert not any("api_token" in token for token in listed.values())


def test_no_token_makes_a_stronger_one(account: Account, accounts: Accounts) -> None:
    """Neither a token with `*` nor one with `manage:tokens` can get more rights, for itself or a new token."""
    everything = account.api
    for method, path, body in (
        ("POST", "/tokens", {"name": "x", "scopes": ["manage:*"]}),
        ("PATCH", f"/tokens/{account.token_id}", {"scopes": ["*", "manage:*"]}),
        ("POST", f"/tokens/{account.token_id}/rotate", {}),
        ("GET", "/tokens", None),
    ):
        answer = everything.call(method, path, **({} if body is None else {"json": body}))
        refused(answer, 403, "MISSING_SCOPE", required_scope="manage:tokens")
    session = session_of(accounts, account)
    made = session.post("/tokens", {"name": "helper", "scopes": ["manage:tokens", "read:posts"]})
    helper = accounts.client(made["api_token"])
    strong = session.post("/tokens", {"name": "strong", "scopes": ["*", "manage:*"]})["token"]["id"]
    for path, body in (
        ("/tokens", {"name": "x", "scopes": ["*"]}),
        ("/tokens", {"name": "x", "scopes": ["manage:*"]}),
        ("/tokens", {"name": "x", "scopes": ["read:posts", "manage:account"]}),
        (f"/tokens/{strong}/rotate", {}),
    ):
        refused(helper.call("POST", path, json=body), 403, "MISSING_SCOPE")
    for token_id in (strong, made["token"]["id"], account.token_id):
        answer = helper.call("PATCH", f"/tokens/{token_id}", json={"scopes": ["*", "manage:*"]})
        refused(answer, 403, "MISSING_SCOPE")
    refused(
        helper.call("POST", "/tokens", json={"name": "x", "scopes": ["operator"]}), 400, "VALIDATION_ERROR"
    )
    assert helper.post("/tokens", {"name": "x", "scopes": ["read:posts"]})["token"]["scopes"] == [
        "read:posts"
    ]


def test_a_collaborator_issues_a_token_for_the_brand_and_loses_it_with_the_role(
    account: Account, accounts: Accounts, operator: Operator
) -> None:
    guest = accounts.new(pages=())
    operator("collaborator", "add", "--brand", account.brand_id, "--user", guest.user_id, "--role", "full")
    session = session_of(accounts, guest)
    body = {"name": "agency", "scopes": ["*"], "brand_ids": [account.brand_id]}
    made = session.post("/tokens", body)
    assert made["token"]["issued_by_collaborator_id"] == guest.user_id
    acting = accounts.client(made["api_token"])
    assert account.page_id() in {page["id"] for page in acting.get("/pages")["pages"]}
    owner = session_of(accounts, account)
    log = owner.get("/audit", brand_id=account.brand_id)["entries"]
    assert (log[0]["action"], log[0]["actor_id"]) == ("token.created", guest.user_id)
    operator("collaborator", "remove", "--brand", account.brand_id, "--user", guest.user_id)
    until(lambda: acting.call("GET", "/pages").status_code == 401, HEARD_SECONDS, "the gateways know")
    refused(session.call("POST", "/tokens", json=body), 404, "NOT_FOUND", field="brand_ids")


def test_a_person_changes_their_name(account: Account, accounts: Accounts) -> None:
    session = session_of(accounts, account)
    assert session.patch("/account", {"firstname": "Grace"})["firstname"] == "Grace"

    def is_shown() -> bool:
        return session.get("/me")["authenticated_as"]["firstname"] == "Grace"

    until(is_shown, HEARD_SECONDS, "the gateways know")
    refused(account.api.call("PATCH", "/account", json={"firstname": "x"}), 403, "MISSING_SCOPE")
