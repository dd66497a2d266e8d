"""A collaborator signs in and works on somebody else's brand, over HTTP, as far as the role permits."""

import pytest
from e2e_kit.api import Api, Json, refused
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import schedule, tomorrow
from e2e_kit.waiting import HEARD_SECONDS, until


@pytest.fixture
def hidden(accounts: Accounts, account: Account) -> Json:
    """Another brand of the same owner, with a page and a post, which the collaborator must not see."""
    brand = accounts.brand(account.user_id, "Hidden")["id"]
    page = accounts.page(brand)["id"]
    post = {"page_id": page, "message": "hidden", "scheduled_at": tomorrow()}
    made = account.api.post("/posts/schedule", post)["scheduled_post"]
    return {"brand": brand, "page": page, "post": made["id"]}


def inside(accounts: Accounts, account: Account, role: str = "full", guest: Account | None = None) -> Api:
    return accounts.client(accounts.enter(account.brand_id, role, guest)["session_token"])


@pytest.mark.parametrize("role", ["full", "limited"])
def test_the_person_sees_what_is_shared_and_nothing_else(
    accounts: Accounts, account: Account, hidden: Json, role: str
) -> None:
    shared = schedule(account, message="shared")["id"]
    guest = inside(accounts, account, role)
    assert [it["id"] for it in guest.get("/brands")["brands"]] == [account.brand_id]
    pages = {it["id"] for it in guest.get("/pages")["pages"]}
    assert pages == {it["id"] for it in account.pages.values()}
    assert [it["id"] for it in guest.get("/posts/scheduled")["scheduled_posts"]] == [shared]
    for path in (f"/brands/{hidden['brand']}", f"/pages/{hidden['page']}", f"/posts/{hidden['post']}"):
        refused(guest.call("GET", path), 403, "BRAND_NOT_AUTHORIZED")


def test_it_writes_posts_as_the_person_and_the_owner_sees_them(accounts: Accounts, account: Account) -> None:
    person = accounts.new(pages=())
    guest = inside(accounts, account, "limited", person)
    body = {"page_id": account.page_id(), "message": "by the guest", "scheduled_at": tomorrow()}
    made = guest.post("/posts/schedule", body)["scheduled_post"]["id"]
    assert account.api.get(f"/posts/{made}")["post"]["made_by"]["user_id"] == person.user_id


def test_the_persons_brands_are_listed_and_a_strangers_cannot_be_entered(
    accounts: Accounts, account: Account, hidden: Json
) -> None:
    person = accounts.new(pages=())
    accounts.enter(account.brand_id, "limited", person)
    own = accounts.client(accounts.sign_in(person)["session_token"])
    [listed] = own.get("/auth/brands")["brands"]
    assert (listed["brand_id"], listed["role"], listed["owner_email"]) == (
        account.brand_id, "limited", account.email,
    )  # fmt: skip
    for brand in (hidden["brand"], person.brand_id, "brd_01arz3ndektsv4rrffq69g5fav", "x"):
        refused(own.call("POST", f"/auth/brands/{brand}/session", json={}), 404, "NOT_FOUND")


def test_after_the_removal_nothing_answers_and_what_the_person_scheduled_is_held(
    accounts: Accounts, account: Account, operator: Operator
) -> None:
    person = accounts.new(pages=())
    guest = inside(accounts, account, "full", person)
    body = {"page_id": account.page_id(), "message": "by the guest", "scheduled_at": tomorrow()}
    made = guest.post("/posts/schedule", body)["scheduled_post"]["id"]
    operator("collaborator", "remove", "--brand", account.brand_id, "--user", person.user_id)
    until(lambda: guest.call("GET", "/me").status_code == 401, HEARD_SECONDS, "every gateway has heard of it")
    refused(guest.call("GET", "/pages"), 401, "TOKEN_REVOKED")
    until(
        lambda: account.api.get(f"/posts/{made}")["post"]["status"] == "held",
        HEARD_SECONDS,
        "the post is held",
    )


def test_signing_out_ends_the_work_on_the_brand_too(accounts: Accounts, account: Account) -> None:
    person = accounts.new(pages=())
    accounts.enter(account.brand_id, "full", person)
    own = accounts.client(accounts.sign_in(person)["session_token"])
    guest = accounts.client(own.post(f"/auth/brands/{account.brand_id}/session", {})["session_token"])
    guest.get("/me")
    own.post("/auth/logout", {}, 200)
    until(lambda: guest.call("GET", "/me").status_code == 401, HEARD_SECONDS, "every gateway has heard of it")
