"""Calls every operation without an id in its path with two kinds of token that are valid for one brand only. No list,
count or creation reveals or changes anything of the account's other brand.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests
from e2e_kit.api import Api, Json, error_code, told
from e2e_kit.attacks.id_rows import EVERYTHING, NOT_FOR_BRANDS, Asker, Row
from e2e_kit.files import upload, uploaded
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import Conversation, await_post, from_now, tomorrow
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until

#: Texts of the other brand, which no response may contain.
SECRET = "a-word-of-the-other-brand"
KINDS = ("token", "session of a collaborator")
#: They ask for no brand's things, but for the account: a token for brands is refused.
WHOLE_ACCOUNT = (403, "BRAND_NOT_AUTHORIZED")
FOUND, MADE, BEGUN = (200, None), (201, None), (202, None)
#: It ends the session that asks, and tells only that.
LEFT_OUT = {"POST /auth/logout"}
_POST = {"page_id": "<page>", "message": "own"}
_HOOK = {"name": "own", "url": "http://127.0.0.1:9/", "events": ["post.failed"]}
_WHOLE_TIME = "since=2020-01-01T00:00:00Z&until=2100-01-01T00:00:00Z"
#: Lists: the owner of the account finds the other brand in each.
LISTS = (
    Row("GET", "/brands", None, FOUND),
    Row("GET", "/pages", None, FOUND),
    Row("GET", "/posts/scheduled?status=all", None, FOUND),
    Row("GET", "/posts/published", None, FOUND),
    Row("GET", "/posts/published?sort=activity", None, FOUND),
    Row("GET", f"/posts/published?search={SECRET[:20]}", None, FOUND),
    Row("GET", f"/posts/calendar?{_WHOLE_TIME}", None, FOUND),
    Row("GET", "/media", None, FOUND),
    Row("GET", f"/media?search={SECRET[:20]}", None, FOUND),
    Row("GET", "/media?unused=true", None, FOUND),
    Row("GET", "/ai/jobs", None, FOUND),
    Row("GET", "/webhooks", None, FOUND),
)
ROWS = (
    *LISTS,
    Row("GET", "/posts/scheduled/counts", None, FOUND),
    Row("GET", "/posts?post_ids=<published>,{queued},{published}", None, FOUND),
    Row("GET", "/comments?post_id=<published>", None, FOUND),
    Row("GET", "/me", None, FOUND),
    Row("GET", "/account", None, FOUND),
    Row("GET", "/account/credits", None, FOUND),
    Row("GET", "/billing", None, FOUND),
    Row("GET", "/billing/auto-refill", None, FOUND),
    Row("GET", "/account/credits/ledger", None, WHOLE_ACCOUNT),
    Row("GET", "/account/usage", None, WHOLE_ACCOUNT),
    Row("GET", "/logs", None, WHOLE_ACCOUNT),
    Row("POST", "/posts/held/release", {"made_by": "anybody"}, FOUND),
    Row("POST", "/posts/held/cancel", {"made_by": "anybody"}, FOUND),
    Row("POST", "/posts/publish", _POST, MADE),
    Row("POST", "/posts/schedule", {**_POST, "scheduled_at": "<when>"}, MADE),
    Row("POST", "/posts/validate", {**_POST, "scheduled_at": "<when>"}, FOUND),
    Row("PUT", "/comments/read", {"read_until": "2020-01-01T00:00:00Z"}, FOUND),
    Row("POST", "/comments/reply", {**_POST, "comment_id": "<comment>"}, MADE),
    Row("POST", "/pages/connect", {"platform": "FB", "brand_id": "<brand>"}, MADE),
    Row("POST", "/media/upload", None, MADE),
    Row("POST", "/media/uploads", {"filename": "a.mp4", "mime_type": "video/mp4", "size_bytes": 1}, MADE),
    Row("POST", "/ai/images", {"prompt": "own"}, MADE),
    Row("POST", "/ai/images/edit", {"prompt": "own", "media_id": "<media>"}, MADE),
    Row("POST", "/ai/videos", {"prompt": "own"}, BEGUN),
    Row("POST", "/ai/captions", {"brand_id": "<brand>", "instruction": "own"}, FOUND),
    Row("POST", "/webhooks", _HOOK, MADE),
    Row("POST", "/webhooks", {**_HOOK, "brand_ids": []}, MADE),
    *(
        Row(*operation.split(), {}, NOT_FOR_BRANDS)
        for operation in (
            "PATCH /account", "GET /audit", "GET /tokens", "POST /tokens", "GET /account/sandbox-token",
            "POST /brands", "PUT /billing/auto-refill",
            "GET /auth/brands", "GET /auth/sessions", "GET /auth/totp", "POST /auth/totp", "POST /auth/totp/confirm",
            "POST /auth/totp/disable", "POST /auth/password/change", "GET /auth/email/change",
            "POST /auth/email/change", "DELETE /auth/email/change",
        )
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Other:
    """An account whose second brand has one object of every kind."""

    account: Account
    #: For that brand alone.
    api: Api
    ids: dict[str, str]

    def shown(self) -> dict[str, Any]:
        """Returns all objects of the second brand, and what this brand's own token sees of the account."""
        paths = (
            "/brands/{brand}", "/brands/{brand}/pages", "/pages/connect/{session}",
            "/comments?post_id={published}", "/ai/jobs/{job}", "/webhooks/{webhook}/deliveries",
        )  # fmt: skip
        paths += tuple(row.path for row in LISTS)
        return {path: of_brands(self.api.get(path.format(**self.ids))) for path in paths}


@pytest.fixture(scope="module")
def other(accounts: Accounts, operator: Operator, simulator: Simulator, jpeg: bytes) -> Other:
    account = accounts.new(pages=("FB",), scopes=EVERYTHING)
    brand = accounts.brand(account.user_id, SECRET)["id"]
    page = accounts.page(brand, name=SECRET)
    only = ("--brand", brand)
    api = accounts.client(accounts.token(account.user_id, "*", *only)["api_token"])
    lost = accounts.token(account.user_id, "*", *only)
    post = {"page_id": page["id"], "message": SECRET}
    published = api.post("/posts/publish", post)
    simulator.comment("FB", published["platform_post_id"], SECRET)
    [comment] = api.get("/comments", post_id=published["post_id"])["comments"]
    queued = api.post("/posts/schedule", {**post, "scheduled_at": tomorrow()})["scheduled_post"]
    held = accounts.client(lost["api_token"]).post(
        "/posts/schedule", {**post, "scheduled_at": tomorrow(hours=1)}
    )["scheduled_post"]
    operator("token", "revoke", lost["token"]["id"])
    await_post(api, held["id"], status="held")
    ids = {
        "brand": brand, "page": page["id"], "published": published["post_id"], "comment": comment["id"],
        "queued": queued["id"], "held": held["id"],
        "media": uploaded(api, jpeg, f"{SECRET}.jpg")["media_id"],
        "job": api.post("/ai/images", {"prompt": SECRET})["job"]["job_id"],
        "session": api.post("/pages/connect", {"platform": "FB", "brand_id": brand})["session_id"],
        "webhook": api.post("/webhooks", {**_HOOK, "name": SECRET})["id"],
    }  # fmt: skip
    until(lambda: all(file["thumbnail_url"] for file in api.get("/media")["media"]), 30, "all is made")
    return Other(account, api, ids)


@pytest.fixture(scope="module", autouse=True)
def untouched(other: Other) -> Iterator[None]:
    """Asserts after the tests that the second brand is unchanged, and that its token does not see what the tests
    created.
    """
    before = other.shown()
    yield
    assert other.shown() == before


@pytest.fixture(scope="module")
def askers(accounts: Accounts, other: Other, simulator: Simulator, jpeg: bytes) -> dict[str, Asker]:
    """Callers with a token of each kind for the account's first brand, each with objects of its own in that brand."""
    account = other.account
    token = accounts.token(account.user_id, "*", "--brand", account.brand_id)["api_token"]
    session = accounts.enter(account.brand_id)["session_token"]
    found = {}
    for days, (kind, secret) in enumerate(zip(KINDS, (token, session), strict=True), start=2):
        api, talk = accounts.client(secret), Conversation(account, simulator)
        own = {
            "brand": account.brand_id, "page": account.page_id(), "published": talk.post["post_id"],
            "comment": talk.comment["id"], "media": uploaded(api, jpeg)["media_id"], "when": from_now(days=days),
        }  # fmt: skip
        found[kind] = Asker(api, own)
    return found


def ask(asker: Asker, row: Row, other: Other, jpeg: bytes) -> requests.Response:
    if row.path == "/media/upload":
        return upload(asker.api, jpeg, "own.jpg", "image/jpeg")
    return asker.ask(row, other.ids)


def of_brands(body: Json) -> Json:
    """Returns an answer without the fields that belong to the whole account: quota and credits."""
    return {name: value for name, value in body.items() if name not in ("quota", "credits")}


def brands_in(value: Any) -> set[str]:
    """Returns the ids of all brands in an answer."""
    return set(re.findall(r"brd_\w+", json.dumps(value)))


def test_the_rows_are_all_operations_without_an_id(accounts: Accounts) -> None:
    described = {
        f"{method.upper()} {path}"
        for path, operations in accounts.client(None).get("/openapi.json")["paths"].items()
        for method, operation in operations.items()
        if "{" not in path and operation.get("security") != []
    }
    assert described - LEFT_OUT == {f"{row.method} {row.path.partition('?')[0]}" for row in ROWS}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_nothing_of_another_brand_is_told(
    other: Other, askers: dict[str, Asker], jpeg: bytes, row: Row, kind: str
) -> None:
    answer = ask(askers[kind], row, other, jpeg)
    assert (answer.status_code, error_code(answer)) == row.other_brand, told(answer)
    text = answer.text + str(answer.headers)
    assert [it for it in (SECRET, *other.ids.values()) if it in text] == [], told(answer)
    assert brands_in(answer.json()) <= {other.account.brand_id}, told(answer)


@pytest.mark.parametrize("row", LISTS, ids=str)
def test_the_owner_is_told_of_both(other: Other, row: Row) -> None:
    """Proves that the lists are not simply empty for everybody, in which case the tests above would prove nothing."""
    assert SECRET in other.account.api.call(row.method, row.path).text


@pytest.mark.parametrize(("act", "done"), [("release", "released"), ("cancel", "cancelled")])
def test_held_posts_of_another_brand_are_not_counted(
    askers: dict[str, Asker], other: Other, act: str, done: str
) -> None:
    answer = askers["token"].api.post(f"/posts/held/{act}", {"made_by": "anybody"}, 200)
    assert answer == {done: [], "refused": [], "remaining": 0}


@pytest.mark.parametrize("kind", KINDS)
def test_a_subscription_without_brands_is_limited_to_those_of_its_token(
    askers: dict[str, Asker], other: Other, kind: str
) -> None:
    made = askers[kind].api.post("/webhooks", _HOOK)
    assert made["brand_ids"] == [other.account.brand_id]
    edited = askers[kind].api.patch(f"/webhooks/{made['id']}", {"brand_ids": []})
    assert edited["brand_ids"] == [other.account.brand_id]
