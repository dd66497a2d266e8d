"""The owner of an account manages brands and collaborators over HTTP."""

import uuid

import pytest
from e2e_kit.api import Api, refused
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.waiting import HEARD_SECONDS, until


@pytest.fixture
def session(account: Account, accounts: Accounts) -> Api:
    return accounts.client(accounts.sign_in(account)["session_token"])


def test_an_owner_makes_a_brand_once_changes_archives_and_restores_it(session: Api) -> None:
    key, body = uuid.uuid4().hex, {"name": "Acme", "timezone": "Europe/Berlin", "description": "Rockets"}
    made = session.post("/brands", body, key=key)
    assert session.post("/brands", body, key=key) == made
    path = f"/brands/{made['id']}"
    edited = session.patch(path, {"name": "Acme Ltd", "description": None})
    assert edited == made | {"name": "Acme Ltd", "description": None}
    assert session.post(f"{path}/archive", {}, 200)["archived_at"]
    assert made["id"] not in {brand["id"] for brand in session.get("/brands")["brands"]}
    assert made["id"] in {brand["id"] for brand in session.get("/brands", archived="true")["brands"]}
    link = {"platform": "FB", "brand_id": made["id"]}
    refused(session.call("POST", "/pages/connect", json=link), 409, "BRAND_ARCHIVED")
    assert session.post(f"{path}/restore", {}, 200) == edited
    assert session.post("/pages/connect", link)["session_id"]


def test_the_pages_of_a_renamed_brand_soon_have_its_new_name(account: Account, session: Api) -> None:
    page_id = session.get("/pages", limit=1)["pages"][0]["id"]
    for name in ("Acme Bakery", "Acme Bakery & Sons"):
        session.patch(f"/brands/{account.brand_id}", {"name": name})
    until(
        lambda: {page["brand_name"] for page in session.get("/pages")["pages"]} == {name},
        seconds=HEARD_SECONDS,
    )
    assert session.get(f"/pages/{page_id}")["page"]["brand_name"] == name


def test_a_brand_with_pages_is_not_archived(account: Account, session: Api) -> None:
    refused(session.call("POST", f"/brands/{account.brand_id}/archive", json={}), 409, "BRAND_IN_USE")
    for page in session.get(f"/brands/{account.brand_id}")["brand"]["pages"]:
        session.delete(f"/pages/{page['id']}")
    assert session.post(f"/brands/{account.brand_id}/archive", {}, 200)["archived_at"]


@pytest.mark.parametrize(
    ("body", "code"),
    [({}, "MISSING_FIELD"), ({"name": " "}, "VALIDATION_ERROR"),
     ({"name": "x", "timezone": "Mars"}, "VALIDATION_ERROR"),
     ({"name": "x", "logo": "ftp://x"}, "VALIDATION_ERROR"),
     ({"name": None}, "MISSING_FIELD")],
)  # fmt: skip
def test_an_invalid_brand_is_refused(session: Api, body: dict[str, str], code: str) -> None:
    refused(session.call("POST", "/brands", json=body), 400, code)


def test_an_owner_lists_changes_and_removes_a_collaborator(
    account: Account, accounts: Accounts, operator: Operator, session: Api
) -> None:
    guest = accounts.new(pages=())
    people = f"/brands/{account.brand_id}/collaborators"
    path = f"{people}/{guest.user_id}"
    refused(session.call("PATCH", path, json={"role": "full"}), 404, "NOT_FOUND")  # nobody is added unasked
    operator("collaborator", "add", "--brand", account.brand_id, "--user", guest.user_id, "--role", "full")
    [listed] = session.get(people)["collaborators"]
    assert (listed["user_id"], listed["email"], listed["role"]) == (guest.user_id, guest.email, "full")
    issued = ("--brand", account.brand_id, "--issued-by", guest.user_id)
    acting = accounts.client(accounts.token(account.user_id, "*", *issued)["api_token"])
    acting.get("/pages")
    assert session.patch(path, {"role": "limited"})["role"] == "limited"
    until(lambda: acting.call("GET", "/pages").status_code == 403, HEARD_SECONDS, "the gateways know")
    refused(acting.call("GET", "/pages"), 403, "COLLABORATOR_INSUFFICIENT")
    session.delete(path)
    until(lambda: acting.call("GET", "/pages").status_code == 401, HEARD_SECONDS, "the gateways know")
    assert session.get(people)["collaborators"] == []
    refused(session.call("DELETE", path), 404, "NOT_FOUND")
    actions = [entry["action"] for entry in session.get("/audit", brand_id=account.brand_id)["entries"]]
    assert actions.count("collaborator.removed") == 1


def test_a_guest_and_a_token_for_posting_manage_no_brand(
    account: Account, accounts: Accounts, operator: Operator
) -> None:
    guest = accounts.new(pages=())
    operator("collaborator", "add", "--brand", account.brand_id, "--user", guest.user_id, "--role", "full")
    guests_own = accounts.client(accounts.sign_in(guest)["session_token"])
    for method, path, body in (
        ("PATCH", f"/brands/{account.brand_id}", {"name": "mine"}),
        ("GET", f"/brands/{account.brand_id}/collaborators", None),
        ("DELETE", f"/brands/{account.brand_id}/collaborators/{guest.user_id}", None),
    ):
        sent = {} if body is None else {"json": body}
        refused(guests_own.call(method, path, **sent), 404, "NOT_FOUND")
        refused(account.api.call(method, path, **sent), 403, "MISSING_SCOPE", required_scope="manage:brands")
    refused(account.api.call("POST", "/brands", json={"name": "x"}), 403, "MISSING_SCOPE")
