"""Which objects a token can see: tests with other accounts, tokens for single brands, and collaborators."""

import pytest
from e2e_kit.api import Api, Json, error_code, refused
from e2e_kit.operator import Account, Accounts, Operator, Refused
from e2e_kit.posting import schedule, tomorrow
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import HEARD_SECONDS, until


@pytest.fixture(scope="module")
def things(accounts: Accounts, simulator: Simulator) -> Json:
    """One object of every kind, owned by another account. Maps the kind to the id."""
    other = accounts.new(pages=("FB",))
    published = other.api.post("/posts/publish", {"page_id": other.page_id(), "message": "theirs"})
    simulator.comment("FB", published["platform_post_id"], "hi")
    [comment] = other.api.get("/comments", post_id=published["post_id"])["comments"]
    return {
        "brand": other.brand_id, "page": other.page_id(), "published": published["post_id"],
        "queued": schedule(other, message="theirs")["id"], "comment": comment["id"], "account": other,
    }  # fmt: skip


def by_id(kind: str, method: str, path: str, body: Json | None = None) -> tuple[str, str, str, Json | None]:
    return kind, method, path, body


#: `{id}` is the object's id; PAGE is a page of the caller.
BY_ID = (
    by_id("brand", "GET", "/brands/{id}"),
    by_id("brand", "GET", "/brands/{id}/pages"),
    by_id("brand", "GET", "/pages?brand_id={id}"),
    by_id("page", "GET", "/pages/{id}"),
    by_id("page", "POST", "/posts/publish", {"page_id": "{id}", "message": "x"}),
    by_id("page", "POST", "/posts/schedule", {"page_id": "{id}", "message": "x", "scheduled_at": tomorrow()}),
    by_id("page", "POST", "/posts/validate", {"page_id": "{id}", "message": "x"}),
    by_id("page", "GET", "/posts/scheduled?page_id={id}"),
    by_id("page", "GET", "/posts/published?page_id={id}"),
    by_id("page", "POST", "/comments/reply", {"page_id": "{id}", "comment_id": "cmt_x", "message": "x"}),
    by_id("queued", "GET", "/posts/scheduled/{id}"),
    by_id("queued", "GET", "/posts/{id}"),
    by_id("published", "GET", "/posts/{id}"),
    by_id("queued", "PATCH", "/posts/scheduled/{id}", {"message": "mine now"}),
    by_id("queued", "DELETE", "/posts/scheduled/{id}"),
    by_id("queued", "POST", "/posts/scheduled/{id}/retry", {}),
    by_id("published", "GET", "/posts/published/{id}/engagement"),
    by_id("published", "GET", "/comments?post_id={id}"),
    by_id("comment", "POST", "/comments/reply", {"page_id": "PAGE", "comment_id": "{id}", "message": "x"}),
    by_id("comment", "PUT", "/comments/{id}/settled", {}),
    by_id("comment", "DELETE", "/comments/{id}/settled"),
)
PREFIXES = {"brand": "brd_", "page": "pag_", "queued": "pst_", "published": "pst_", "comment": "cmt_"}


def ask(api: Api, row: tuple[str, str, str, Json | None], thing_id: str, page_id: str) -> Json:
    """Sends the request with this id. Returns the refusal without the parts that differ between any two requests."""
    _, method, path, body = row
    filled = {
        name: str(value).replace("{id}", thing_id).replace("PAGE", page_id)
        for name, value in (body or {}).items()
    }
    answer = api.call(method, path.replace("{id}", thing_id), **({} if body is None else {"json": filled}))
    error = refused(answer, 404, "NOT_FOUND")
    del error["request_id"]
    return error


@pytest.mark.parametrize("row", BY_ID, ids=lambda row: f"{row[1]} {row[2]} {row[0]}")
def test_an_id_of_another_account_and_an_unknown_one_get_the_same_answer(
    shared: Account, things: Json, row: tuple[str, str, str, Json | None]
) -> None:
    theirs = ask(shared.api, row, things[row[0]], shared.page_id())
    unknown = ask(shared.api, row, PREFIXES[row[0]] + "01arz3ndektsv4rrffq69g5fav", shared.page_id())
    assert theirs == unknown


def test_nothing_of_another_account_was_touched_or_listed(shared: Account, things: Json) -> None:
    other: Account = things["account"]
    [queued] = other.api.get("/posts/scheduled")["scheduled_posts"]
    assert (queued["id"], queued["message"]) == (things["queued"], "theirs")
    assert shared.api.get("/posts/published")["published_posts"] == []
    assert [brand["id"] for brand in shared.api.get("/brands")["brands"]] == [shared.brand_id]


@pytest.fixture(scope="module")
def two_brands(accounts: Accounts) -> Json:
    """An account with two brands, a post on each, and a token that is valid for the first brand only."""
    account = accounts.new(pages=("FB",))
    second_brand = accounts.brand(account.user_id, "Second")["id"]
    second_page = accounts.page(second_brand, "FB")
    queued = account.api.post(
        "/posts/schedule", {"page_id": second_page["id"], "message": "second", "scheduled_at": tomorrow()}
    )
    published = account.api.post("/posts/publish", {"page_id": second_page["id"], "message": "second"})
    schedule(account, message="first")
    token = accounts.token(account.user_id, "*", "--brand", account.brand_id)["api_token"]
    return {
        "account": account, "api": accounts.client(token), "brand": second_brand, "page": second_page["id"],
        "queued": queued["scheduled_post"]["id"], "published": published["post_id"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "row", [row for row in BY_ID if row[0] != "comment"], ids=lambda row: f"{row[1]} {row[2]} {row[0]}"
)
def test_a_token_for_one_brand_may_not_reach_another(
    two_brands: Json, row: tuple[str, str, str, Json | None]
) -> None:
    kind, method, path, body = row
    thing_id = two_brands[kind]
    filled = {name: str(value).replace("{id}", thing_id) for name, value in (body or {}).items()}
    api: Api = two_brands["api"]
    answer = api.call(method, path.replace("{id}", thing_id), **({} if body is None else {"json": filled}))
    refused(answer, 403, "BRAND_NOT_AUTHORIZED")


def test_a_token_for_one_brand_sees_that_brand_alone(two_brands: Json) -> None:
    api, account = two_brands["api"], two_brands["account"]
    assert [brand["id"] for brand in api.get("/brands")["brands"]] == [account.brand_id]
    assert [page["id"] for page in api.get("/pages")["pages"]] == [account.page_id()]
    assert [post["message"] for post in api.get("/posts/scheduled")["scheduled_posts"]] == ["first"]
    assert api.get("/posts/published")["published_posts"] == []
    assert api.get("/posts/scheduled/counts") == {"queued": 1, "held": 0, "failed": 0}
    both = account.api.get("/posts/scheduled")["scheduled_posts"]
    some = api.get("/posts", post_ids=",".join(post["id"] for post in both))["posts"]
    assert [post["message"] for post in some] == ["first"]
    assert api.get("/account")["api_key"]["brand_ids"] == [account.brand_id]
    assert len(both) == 2


def test_a_collaborators_token_works_on_the_owners_brand_for_as_long_as_he_has_full_access(
    accounts: Accounts, operator: Operator
) -> None:
    owner, guest = accounts.new("pro", pages=("FB",)), accounts.new("free", pages=("IG",))
    other_brand = accounts.brand(owner.user_id, "Not for guests")["id"]
    add = ("collaborator", "add", "--brand", owner.brand_id, "--user", guest.user_id, "--role")
    options = ("--brand", owner.brand_id, "--issued-by", guest.user_id)
    with pytest.raises(Refused):
        accounts.token(owner.user_id, "*", *options)
    operator(*add, "limited")
    with pytest.raises(Refused) as refusal:
        accounts.token(owner.user_id, "*", *options)
    assert refusal.value.error["code"] == "COLLABORATOR_INSUFFICIENT"
    operator(*add, "full")
    made = accounts.token(owner.user_id, "*", *options)
    assert made["token"]["on_behalf_of_brand_id"] == owner.brand_id
    assert made["token"]["issued_by_collaborator_id"] == guest.user_id
    client = accounts.client(made["api_token"])
    assert client.get("/me")["authenticated_as"]["user_id"] == guest.user_id
    account = client.get("/account")
    assert (account["tier"], account["user"]["id"]) == ("pro", guest.user_id)
    assert [brand["id"] for brand in client.get("/brands")["brands"]] == [owner.brand_id]
    assert [page["id"] for page in client.get("/pages")["pages"]] == [owner.page_id()]
    refused(client.call("GET", f"/brands/{other_brand}"), 403, "BRAND_NOT_AUTHORIZED")
    client.post("/posts/publish", {"page_id": owner.page_id(), "message": "by a guest"})

    def answers(status: int) -> None:
        until(lambda: client.call("GET", "/pages").status_code == status, HEARD_SECONDS, f"{status}")

    operator(*add, "limited")
    answers(403)
    refused(client.call("GET", "/pages"), 403, "COLLABORATOR_INSUFFICIENT")
    operator(*add, "full")
    answers(200)
    operator("collaborator", "remove", "--brand", owner.brand_id, "--user", guest.user_id)
    answers(401)
    refused(client.call("GET", "/pages"), 401, "TOKEN_REVOKED")
    actions = [entry["action"] for entry in operator("audit", "list", "--brand", owner.brand_id)]
    assert {"token.created", "token.revoked"} <= set(actions), actions
    guest.api.get("/pages")


def test_a_collaborators_token_is_bound_to_one_brand(accounts: Accounts, operator: Operator) -> None:
    owner, guest = accounts.new(pages=()), accounts.new(pages=())
    second = accounts.brand(owner.user_id)["id"]
    for brand in (owner.brand_id, second):
        operator("collaborator", "add", "--brand", brand, "--user", guest.user_id, "--role", "full")
    issued = ("--issued-by", guest.user_id)
    for options in (issued, ("--brand", owner.brand_id, "--brand", second, *issued)):
        with pytest.raises(Refused) as refusal:
            accounts.token(owner.user_id, "*", *options)
        assert refusal.value.error["code"] == "VALIDATION_ERROR"


def test_rotating_a_collaborators_token_is_in_the_audit_log(accounts: Accounts, operator: Operator) -> None:
    owner, guest = accounts.new(pages=()), accounts.new(pages=())
    operator("collaborator", "add", "--brand", owner.brand_id, "--user", guest.user_id, "--role", "full")
    made = accounts.token(owner.user_id, "*", "--brand", owner.brand_id, "--issued-by", guest.user_id)
    fresh = operator("token", "rotate", made["token"]["id"])
    assert fresh["token"]["issued_by_collaborator_id"] == guest.user_id
    actions = [entry["action"] for entry in operator("audit", "list", "--brand", owner.brand_id)]
    assert "token.rotated" in actions, actions


def test_an_operators_post_due_is_in_the_brands_audit_log(account: Account, operator: Operator) -> None:
    post = schedule(account, message="now please")
    operator("post", "due", post["id"])
    entries = operator("audit", "list", "--brand", account.brand_id)
    assert [entry["subject_id"] for entry in entries if entry["action"].startswith("post.")] == [post["id"]]
    with pytest.raises(Refused) as refusal:
        operator("post", "due", "pst_unknown")
    assert refusal.value.error["code"] == "NOT_FOUND"


def test_moving_to_another_tier_counts_from_the_next_request(accounts: Accounts, operator: Operator) -> None:
    account = accounts.new("free", pages=())
    assert account.api.call("GET", "/me").headers["X-RateLimit-Limit"] == "10"
    operator("user", "plan", account.user_id, "developer")

    def limits() -> tuple[str, str]:
        headers = account.api.call("GET", "/me").headers
        return headers["X-API-Tier"], headers["X-RateLimit-Limit"]

    until(lambda: limits() == ("developer", "30"), HEARD_SECONDS, "the new tier")
    assert error_code(account.api.call("GET", "/account")) is None
