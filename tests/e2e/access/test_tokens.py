"""Tests authentication by token: headers, revoked tokens, scopes, lists of allowed IP addresses, sandbox tokens."""

import datetime as dt
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from e2e_kit.api import Api, refused, stamp
from e2e_kit.operator import Account, Accounts, Operator, Refused
from e2e_kit.waiting import until

SCOPES = (
    "read:account", "read:brands", "read:pages", "read:posts", "write:posts", "read:comments", "write:comments",
    "read:media", "write:media", "manage:webhooks", "write:ai",
)  # fmt: skip
#: Spec "Endpoints" and decisions "Paths the spec does not give".
ROUTES = (
    ("GET", "/account", "read:account"),
    ("GET", "/account/credits", "read:account"),
    ("GET", "/account/credits/ledger", "read:account"),
    ("GET", "/account/usage", "read:account"),
    ("GET", "/logs", "read:account"),
    ("GET", "/logs/req_x", "read:account"),
    ("GET", "/billing", "read:account"),
    ("GET", "/billing/auto-refill", "read:account"),
    ("GET", "/brands", "read:brands"),
    ("GET", "/brands/brd_x", "read:brands"),
    ("GET", "/brands/brd_x/pages", "read:pages"),
    ("GET", "/pages", "read:pages"),
    ("GET", "/pages/pag_x", "read:pages"),
    ("POST", "/posts/schedule", "write:posts"),
    ("POST", "/posts/publish", "write:posts"),
    ("POST", "/posts/validate", "write:posts"),
    ("GET", "/posts/scheduled", "read:posts"),
    ("GET", "/posts/scheduled/pst_x", "read:posts"),
    ("PATCH", "/posts/scheduled/pst_x", "write:posts"),
    ("DELETE", "/posts/scheduled/pst_x", "write:posts"),
    ("POST", "/posts/scheduled/pst_x/retry", "write:posts"),
    ("GET", "/posts/published", "read:posts"),
    ("GET", "/posts/published/pst_x/engagement", "read:posts"),
    ("GET", "/comments?post_id=pst_x", "read:comments"),
    ("POST", "/comments/reply", "write:comments"),
    ("PUT", "/comments/cmt_x/settled", "write:comments"),
    ("DELETE", "/comments/cmt_x/settled", "write:comments"),
)


def body_for(method: str) -> dict[str, object]:
    return {"json": {}} if method in ("POST", "PUT", "PATCH") else {}


@pytest.fixture
def stranger(accounts: Accounts) -> Iterator[Api]:
    """A client without a token."""
    return accounts.client(None)


def test_either_header_carries_the_token(shared: Account, stranger: Api) -> None:
    assert stranger.call("GET", "/me", headers={"Authorization": f"Bearer {shared.api.token}"}).ok
    assert stranger.call("GET", "/me", headers={"Authorization": f"bearer {shared.api.token}"}).ok
    assert stranger.call("GET", "/me", headers={"X-API-Key": str(shared.api.token)}).ok


@pytest.mark.parametrize(
    ("method", "path"), [(method, path) for method, path, _ in ROUTES] + [("GET", "/me")]
)
def test_every_route_asks_for_a_token(stranger: Api, method: str, path: str) -> None:
    refused(stranger.call(method, path, **body_for(method)), 401, "MISSING_TOKEN")


def test_a_token_that_is_none_is_refused(shared: Account, stranger: Api) -> None:
    token = str(shared.api.token)
    mistyped = token[:-8] + ("A" if token[-8] != "A" else "B") + token[-7:]
    unknown = (
        "svc_live_",
        "nonsense",
        mistyped,
        token.replace("svc_live_", "svc_test_"),
        token + "x",
        "ü" * 20,
    )
    for value in (*unknown, "x" * 7000):
        answer = stranger.call("GET", "/me", headers={"Authorization": f"Bearer {value}".encode()})
        refused(answer, 401, "INVALID_TOKEN")
    refused(
        stranger.call("GET", "/me", headers={"Authorization": "Basic dXNlcjpwYXNz"}), 401, "INVALID_TOKEN"
    )
    for empty in ("", "Bearer", "Bearer "):
        refused(stranger.call("GET", "/me", headers={"Authorization": empty}), 401, "MISSING_TOKEN")


def test_live_tokens_have_the_live_prefix_and_the_legacy_prefix_still_works(
    shared: Account, accounts: Accounts
) -> None:
    assert str(shared.api.token).startswith("svc_live_")
    legacy = accounts.token(shared.user_id, "*", "--legacy")["api_token"]
    assert legacy.startswith("sk_live_")
    assert accounts.client(legacy).get("/me")["api_key"]["prefix"] == legacy[:12]


def test_a_revoked_token_is_refused_at_once_and_says_so(
    shared: Account, accounts: Accounts, operator: Operator
) -> None:
    made = accounts.token(shared.user_id, "*", "--name", "short-lived")
    client = accounts.client(made["api_token"])
    assert client.get("/me")["api_key"]["name"] == "short-lived"
    operator("token", "revoke", made["token"]["id"])
    until(
        lambda: client.call("GET", "/me").status_code == 401,
        1.0,
        "the revoked token is refused within a second",
    )
    refused(client.call("GET", "/me"), 401, "TOKEN_REVOKED")


def test_rotation_gives_a_new_token_with_the_same_rights_and_ends_the_old_one(
    shared: Account, accounts: Accounts, operator: Operator
) -> None:
    made = accounts.token(shared.user_id, "read:pages,read:posts", "--name", "rotated")
    old = accounts.client(made["api_token"])
    old.get("/pages")
    fresh = operator("token", "rotate", made["token"]["id"])
    new = accounts.client(fresh["api_token"]).get("/me")["api_key"]
    assert (new["name"], sorted(new["scopes"])) == ("rotated", ["read:pages", "read:posts"])
    until(
        lambda: old.call("GET", "/pages").status_code == 401, 1.0, "the old token is refused within a second"
    )
    refused(old.call("GET", "/pages"), 401, "TOKEN_REVOKED")


def test_a_token_ends_at_its_expiry(shared: Account, accounts: Accounts) -> None:
    expires = stamp(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=3))
    client = accounts.client(accounts.token(shared.user_id, "*", "--expires", expires)["api_token"])
    assert client.get("/me")["api_key"]["expires_at"] == expires
    until(lambda: client.call("GET", "/me").status_code == 401, 30, "the token expires")
    refused(client.call("GET", "/me"), 401, "TOKEN_EXPIRED")


def test_a_token_lives_two_years_at_most(shared: Account, accounts: Accounts) -> None:
    too_long = stamp(dt.datetime.now(dt.UTC) + dt.timedelta(days=735))
    with pytest.raises(Refused) as refusal:
        accounts.token(shared.user_id, "*", "--expires", too_long)
    assert refusal.value.error["code"] == "VALIDATION_ERROR"


def test_an_account_has_as_many_active_keys_as_its_tier_allows(
    accounts: Accounts, operator: Operator
) -> None:
    account = accounts.new("free", pages=())
    made = [accounts.token(account.user_id) for _ in range(9)]
    with pytest.raises(Refused) as refusal:
        accounts.token(account.user_id)
    assert refusal.value.error["code"] == "LIMIT_REACHED"
    operator("token", "revoke", made[0]["token"]["id"])
    accounts.token(account.user_id)


@pytest.mark.parametrize(("method", "path", "scope"), ROUTES)
def test_every_route_asks_for_its_scope(
    shared: Account, scoped: dict[str, Api], method: str, path: str, scope: str
) -> None:
    error = refused(scoped[f"all but {scope}"].call(method, path, **body_for(method)), 403, "MISSING_SCOPE")
    assert error["required_scope"] == scope
    assert set(error["your_scopes"]) == set(SCOPES) - {scope}
    answer = scoped[scope].call(method, path, **body_for(method))
    assert answer.status_code in (200, 400, 404), answer.text


@pytest.fixture(scope="module")
def scoped(accounts: Accounts) -> dict[str, Api]:
    """Clients by name: with exactly one scope, and with all scopes but one."""
    account = accounts.new(pages=())
    clients = {}
    for scope in sorted({scope for _, _, scope in ROUTES}):
        others = ",".join(other for other in SCOPES if other != scope)
        clients[scope] = accounts.client(accounts.token(account.user_id, scope)["api_token"])
        clients[f"all but {scope}"] = accounts.client(accounts.token(account.user_id, others)["api_token"])
    return clients


def test_me_needs_no_scope_and_an_unknown_scope_is_not_given(shared: Account, accounts: Accounts) -> None:
    narrow = accounts.client(accounts.token(shared.user_id, "write:ai")["api_token"])
    assert narrow.get("/me")["api_key"]["scopes"] == ["write:ai"]
    with pytest.raises(Refused):
        accounts.token(shared.user_id, "read:everything")


@pytest.mark.parametrize(
    ("listed", "status"),
    [("127.0.0.1", 200), ("127.0.0.0/8", 200), ("10.0.0.0/8", 403), ("2001:db8::/32", 403)],
)
def test_a_token_with_an_address_list_is_taken_from_there_alone(
    shared: Account, accounts: Accounts, listed: str, status: int
) -> None:
    client = accounts.client(accounts.token(shared.user_id, "*", "--ip", listed)["api_token"])
    answer = client.call("GET", "/me", headers={"X-Forwarded-For": "10.1.2.3"})
    assert answer.status_code == status
    if status == 403:
        refused(answer, 403, "IP_NOT_ALLOWED")


def test_a_wrong_address_burns_no_quota_and_a_missing_scope_no_month_unit(
    account: Account, accounts: Accounts
) -> None:
    before = account.api.get("/account")["quota"]["monthly"]
    elsewhere = accounts.client(accounts.token(account.user_id, "*", "--ip", "192.0.2.1")["api_token"])
    narrow = accounts.client(accounts.token(account.user_id, "read:pages")["api_token"])
    for _ in range(3):
        refused(elsewhere.call("GET", "/pages"), 403, "IP_NOT_ALLOWED")
        refused(narrow.call("GET", "/brands"), 403, "MISSING_SCOPE")
    after = account.api.get("/account")["quota"]["monthly"]
    assert after["reads"]["used"] - before["reads"]["used"] == 1


def test_a_sandbox_token_reads_and_nothing_else(account: Account, accounts: Accounts) -> None:
    before = account.api.get("/account")["quota"]["monthly"]["reads"]["used"]
    sandbox = accounts.client(account.sandbox_token)
    assert account.sandbox_token.startswith("svc_test_")
    answer = sandbox.call("GET", "/pages")
    assert answer.json()["pages"]
    assert (answer.headers["X-API-Tier"], answer.headers["X-RateLimit-Limit"]) == ("sandbox", "5")
    assert set(answer.headers["X-API-Scopes"].split()) == {
        scope for scope in SCOPES if scope.startswith("read:")
    }
    body = {"page_id": account.page_id(), "message": "x"}
    refused(
        sandbox.call("POST", "/posts/publish", json=body), 403, "MISSING_SCOPE", required_scope="write:posts"
    )
    assert account.api.get("/account")["quota"]["monthly"]["reads"]["used"] - before == 1, (
        "not on the paid quota"
    )


def test_a_sandbox_token_works_a_hundred_times(
    account: Account, accounts: Accounts, operator: Operator
) -> None:
    [token] = [row for row in operator("token", "list", "--user", account.user_id) if row["sandbox"]]
    operator("token", "set-used", token["id"], "99")
    sandbox = accounts.client(account.sandbox_token)
    sandbox.get("/pages")
    for _ in range(2):
        error = refused(sandbox.call("GET", "/pages"), 402, "SANDBOX_EXHAUSTED")
        assert error["upgrade_url"].startswith("http")
    account.api.get("/pages")


def test_uses_of_a_token_are_counted(account: Account, accounts: Accounts, operator: Operator) -> None:
    made = accounts.token(account.user_id, "read:pages")
    client = accounts.client(made["api_token"])
    for _ in range(5):
        client.get("/pages")

    def count() -> bool:
        rows = {row["id"]: row for row in operator("token", "list", "--user", account.user_id)}
        row = rows[made["token"]["id"]]
        return row["request_count"] == 5 and row["last_used_at"] is not None

    until(count, 30.0, "the batch of uses is written")


def test_a_token_revoked_under_load_is_refused_by_every_gateway_process_within_a_second(
    account: Account, accounts: Accounts, operator: Operator
) -> None:
    made = accounts.token(account.user_id)
    headers = {"Authorization": f"Bearer {made['api_token']}"}
    url, stop = f"{accounts.base_url}/me", threading.Event()

    #: When each request was sent, and the status of its response.
    seen: list[tuple[float, int]] = []

    def ask() -> None:
        """Opens a new connection for each request, so that requests reach every gateway process."""
        while not stop.wait(0.05):
            sent_at = time.monotonic()
            seen.append((sent_at, requests.get(url, headers=headers, timeout=30).status_code))

    with ThreadPoolExecutor(6) as pool:
        clients = [pool.submit(ask) for _ in range(6)]
        try:
            until(lambda: account.api.get("/account")["quota"]["monthly"]["reads"]["used"] > 60, 60.0, "load")
            operator("token", "revoke", made["token"]["id"])
            revoked_at = time.monotonic()
            until(lambda: sum(at > revoked_at + 1 for at, _ in seen) > 20, 60.0, "requests after a second")
        finally:
            stop.set()
        for client in clients:
            client.result()
    before = Counter(status for at, status in seen if at < revoked_at - 0.5)
    after = Counter(status for at, status in seen if at > revoked_at + 1)
    assert set(before) == {200}, before
    assert set(after) == {401}, after
