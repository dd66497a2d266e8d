"""A person who is signed in is shown the sandbox token of the account again. No token and no collaborator is."""

import pytest
from e2e_kit.api import Api, error_code, refused
from e2e_kit.operator import Account, Accounts
from e2e_kit.waiting import HEARD_SECONDS, until

PATH = "/account/sandbox-token"


def session_of(accounts: Accounts, account: Account) -> Api:
    return accounts.client(accounts.sign_in(account)["session_token"])


def test_a_session_is_shown_the_token_of_its_own_account_which_only_reads(
    account: Account, accounts: Accounts
) -> None:
    other = accounts.new(pages=())
    for one in (account, other):
        answer = session_of(accounts, one).call("GET", PATH)
        assert (answer.status_code, answer.json()) == (200, {"sandbox_api_token": one.sandbox_token})
        assert answer.headers["Cache-Control"] == "no-store"
    sandbox = accounts.client(account.sandbox_token)
    assert sandbox.get("/pages")["pages"]
    post = {"page_id": account.page_id(), "message": "Rye"}
    refused(sandbox.call("POST", "/posts/publish", json=post), 403, "MISSING_SCOPE")


@pytest.mark.parametrize("scopes", ["*", "read:account,read:pages", "manage:account,manage:brands"])
def test_a_token_that_manages_no_tokens_lacks_the_scope(
    account: Account, accounts: Accounts, scopes: str
) -> None:
    api = accounts.client(accounts.token(account.user_id, scopes)["api_token"])
    refused(api.call("GET", PATH), 403, "MISSING_SCOPE", required_scope="manage:tokens")


@pytest.mark.parametrize("scopes", ["manage:tokens", "*,manage:*"])
def test_a_token_that_manages_tokens_is_refused_as_well(
    account: Account, accounts: Accounts, scopes: str
) -> None:
    api = accounts.client(accounts.token(account.user_id, scopes)["api_token"])
    answer = api.call("GET", PATH)
    refused(answer, 400, "VALIDATION_ERROR")
    assert [it["field"] for it in answer.json()["errors"]] == ["token"]


def test_the_sandbox_token_is_not_shown_to_itself(account: Account, accounts: Accounts) -> None:
    refused(accounts.client(account.sandbox_token).call("GET", PATH), 403, "MISSING_SCOPE")


@pytest.mark.parametrize("role", ["full", "limited"])
def test_a_collaborators_session_on_the_brand_is_refused(
    account: Account, accounts: Accounts, role: str
) -> None:
    inside = accounts.client(accounts.enter(account.brand_id, role)["session_token"])
    refused(inside.call("GET", PATH), 403, "MISSING_SCOPE")


def test_nobody_is_shown_it_without_a_token(accounts: Accounts) -> None:
    refused(accounts.client(None).call("GET", PATH), 401, "MISSING_TOKEN")


def test_a_revoked_one_is_not_found(account: Account, accounts: Accounts) -> None:
    session = session_of(accounts, account)
    [listed] = [it for it in session.get("/tokens")["tokens"] if it["sandbox"]]
    session.delete(f"/tokens/{listed['id']}")
    refused(session.call("GET", PATH), 404, "NOT_FOUND")
    sandbox = accounts.client(account.sandbox_token)
    until(
        lambda: error_code(sandbox.call("GET", "/me")) == "TOKEN_REVOKED", HEARD_SECONDS, "the gateways know"
    )
