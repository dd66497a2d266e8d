"""Every id in a request × six kinds of token without access to it: no response or response time reveals anything."""

import json
import os
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import pytest
import requests
from e2e_kit.api import Api, Json, error_code, inputs_of, told
from e2e_kit.files import uploaded
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import schedule, tomorrow
from e2e_kit.receiver import Receiver, await_delivery
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import HEARD_SECONDS, until

#: Texts of the owner, which no response to another account may contain.
SECRET = "a-word-of-theirs"
PREFIXES = {
    "brand": "brd_", "page": "pag_", "queued": "pst_", "published": "pst_", "comment": "cmt_", "media": "med_",
    "upload": "upl_", "job": "job_", "webhook": "whk_", "delivery": "dlv_", "session": "lnk_", "user": "usr_",
    "signed_in": "ses_", "token": "tok_",
}  # fmt: skip
#: Number of accounts that ask in turn: each may send 300 requests a minute.
STRANGERS = 12
#: A sandbox token may send 5 a minute.
SANDBOX_REQUESTS = 5
#: First number of pairs of a foreign and an unknown id; more are measured if the times differ.
PAIRS = (int(os.environ.get("E2E_PAIRS", "12")), 40, 120)
#: Allowed difference of medians, in standard errors and, in addition, in seconds (our choice).
DEVIATIONS, GRAIN_SECONDS = 5.0, 0.0003


@dataclass(frozen=True)
class Row:
    """`{kind}` in path and body is an id of the owner, `<kind>` one of the caller."""

    method: str
    path: str
    body: Json | None = None
    #: Responses to a token for another brand: brands and their objects are refused, the rest is not found.
    other_brand: tuple[int, str | None] = (403, "BRAND_NOT_AUTHORIZED")

    def __str__(self) -> str:
        return " ".join((self.method, self.path, *self.fields))

    @property
    def fields(self) -> list[str]:
        """The fields of the body that hold an id of the owner."""
        return [name for name, value in (self.body or {}).items() if re.search(r"{\w+}", str(value))]


GONE = (404, "NOT_FOUND")
#: A token for brands cannot manage the account.
NOT_FOR_BRANDS = (403, "MISSING_SCOPE")
#: Of a token that may call every route.
EVERYTHING = "*,manage:*"
_POST = {"page_id": "<page>", "message": "x"}
ROWS = (
    Row("GET", "/brands/{brand}"),
    Row("GET", "/brands/{brand}/pages"),
    Row("GET", "/pages?brand_id={brand}"),
    Row("POST", "/pages/connect", {"platform": "FB", "brand_id": "{brand}"}),
    Row("POST", "/ai/captions", {"brand_id": "{brand}", "instruction": "x"}),
    Row("POST", "/ai/images", {"prompt": "x", "brand_id": "{brand}"}),
    Row("POST", "/ai/videos", {"prompt": "x", "brand_id": "{brand}"}),
    Row(
        "POST",
        "/webhooks",
        {"name": "x", "url": "http://127.0.0.1:9/", "events": ["post.failed"], "brand_ids": ["{brand}"]},
    ),
    Row("PATCH", "/webhooks/<webhook>", {"brand_ids": ["{brand}"]}),
    Row("GET", "/pages/connect/{session}"),
    Row("POST", "/pages/connect/{session}", {"account_ids": ["x"]}),
    Row("GET", "/pages/{page}"),
    Row("DELETE", "/pages/{page}"),
    Row("POST", "/pages/{page}/check", {}),
    Row("POST", "/posts/publish", {"page_id": "{page}", "message": "x"}),
    Row("POST", "/posts/schedule", {"page_id": "{page}", "message": "x", "scheduled_at": tomorrow()}),
    Row("POST", "/posts/publish", {"page_ids": ["{page}"], "message": "x"}),
    Row("POST", "/posts/schedule", {"page_ids": ["{page}"], "message": "x", "scheduled_at": tomorrow()}),
    Row("POST", "/posts/validate", {"page_id": "{page}", "message": "x"}),
    Row("GET", "/posts/scheduled?page_id={page}"),
    Row("GET", "/posts/published?page_id={page}"),
    Row("POST", "/comments/reply", {"page_id": "{page}", "comment_id": "cmt_x", "message": "x"}),
    Row("GET", "/posts/scheduled/{queued}"),
    Row("PATCH", "/posts/scheduled/{queued}", {"message": "mine now"}),
    Row("DELETE", "/posts/scheduled/{queued}"),
    Row("POST", "/posts/scheduled/{queued}/retry", {}),
    Row("POST", "/posts/held/release", {"post_ids": ["{queued}"]}),
    Row("POST", "/posts/held/cancel", {"post_ids": ["{queued}"]}),
    Row("POST", "/posts/held/release", {"made_by": "{user}"}, (200, None)),
    Row("POST", "/posts/held/cancel", {"made_by": "{user}"}, (200, None)),
    Row("GET", "/posts/published/{published}/engagement"),
    Row("GET", "/comments?post_id={published}"),
    Row("GET", "/comments?post_id={published}&page_id={page}"),
    Row("POST", "/comments/reply", {"page_id": "<page>", "comment_id": "{comment}", "message": "x"}, GONE),
    Row("GET", "/media/{media}", None, GONE),
    Row("DELETE", "/media/{media}", None, GONE),
    Row("POST", "/posts/publish", {**_POST, "media_ids": ["{media}"]}, GONE),
    Row("POST", "/posts/schedule", {**_POST, "media_ids": ["{media}"], "scheduled_at": tomorrow()}, GONE),
    Row("POST", "/posts/validate", {**_POST, "media_ids": ["{media}"]}, (200, None)),
    Row("PATCH", "/posts/scheduled/<queued>", {"media_ids": ["{media}"]}, GONE),
    Row(
        "POST",
        "/ai/images",
        {"prompt": "x", "reference_media_ids": ["{media}"]},
        (400, "INVALID_REFERENCE_MEDIA"),
    ),
    Row("POST", "/ai/images/edit", {"prompt": "x", "media_id": "{media}"}, (400, "INVALID_REFERENCE_MEDIA")),
    Row("POST", "/ai/videos", {"prompt": "x", "media_id": "{media}"}, (400, "INVALID_REFERENCE_MEDIA")),
    Row("POST", "/media/uploads/{upload}/complete", {"parts": [{"number": 1, "etag": "x"}]}, GONE),
    Row("GET", "/ai/jobs/{job}", None, GONE),
    Row("GET", "/webhooks/{webhook}", None, GONE),
    Row("PATCH", "/webhooks/{webhook}", {"name": "mine now"}, GONE),
    Row("DELETE", "/webhooks/{webhook}", None, GONE),
    Row("POST", "/webhooks/{webhook}/enable", {}, GONE),
    Row("POST", "/webhooks/{webhook}/test", {}, GONE),
    Row("POST", "/webhooks/{webhook}/rotate-secret", {}, GONE),
    Row("GET", "/webhooks/{webhook}/deliveries", None, GONE),
    Row("POST", "/webhooks/{webhook}/deliveries/{delivery}/replay", {}, GONE),
    Row("POST", "/webhooks/<webhook>/deliveries/{delivery}/replay", {}, GONE),
    Row("DELETE", "/auth/sessions/{signed_in}", None, NOT_FOR_BRANDS),
    Row("GET", "/tokens/{token}", None, NOT_FOR_BRANDS),
    Row("PATCH", "/tokens/{token}", {"name": "mine now"}, NOT_FOR_BRANDS),
    Row("POST", "/tokens/{token}/rotate", {}, NOT_FOR_BRANDS),
    Row("DELETE", "/tokens/{token}", None, NOT_FOR_BRANDS),
    Row("POST", "/tokens", {"name": "x", "scopes": ["*"], "brand_ids": ["{brand}"]}, NOT_FOR_BRANDS),
    Row("PATCH", "/tokens/<token>", {"brand_ids": ["{brand}"], "scopes": ["*"]}, NOT_FOR_BRANDS),
    Row("GET", "/audit?brand_id={brand}", None, NOT_FOR_BRANDS),
)
#: Routes that a sandbox token may call: the others need a scope that it lacks.
SANDBOX_READS = ("/brands", "/pages/{page}", "/pages?", "/posts", "/comments", "/media")


@dataclass(frozen=True)
class Asker:
    """The caller, and the caller's own ids for the rest of the request."""

    api: Api
    own: dict[str, str]

    def ask(self, row: Row, ids: dict[str, str]) -> requests.Response:
        filled = json.dumps([row.path, row.body])
        for name, one in ids.items():
            filled = filled.replace("{" + name + "}", one)
        for name, one in self.own.items():
            filled = filled.replace(f"<{name}>", one)
        path, body = json.loads(filled)
        return self.api.call(row.method, path, **({} if body is None else {"json": body}))


@dataclass(frozen=True)
class Theirs:
    """One object of every kind, on the second brand of an account."""

    account: Account
    #: For that brand.
    api: Api
    ids: dict[str, str]

    def shown(self) -> dict[str, Any]:
        """All of it."""
        paths = (
            "/brands/{brand}", "/pages/{page}", "/pages/connect/{session}", "/posts/scheduled/{queued}",
            "/comments?post_id={published}", "/media/{media}", "/ai/jobs/{job}", "/webhooks/{webhook}",
            "/webhooks/{webhook}/deliveries?limit=100", "/posts/scheduled?status=all", "/posts/published", "/webhooks",
            "/media",
        )  # fmt: skip
        shown = {path: self.api.get(path.format(**self.ids)) for path in paths}
        token = self.account.api.get(f"/tokens/{self.ids['token']}")
        kept = {name: token[name] for name in ("name", "scopes", "brand_ids", "revoked_at")}
        return shown | {"token": kept, "sessions": self.account.api.get("/auth/sessions")}


@pytest.fixture(scope="module")
def theirs(accounts: Accounts, simulator: Simulator, jpeg: bytes) -> Theirs:
    account = accounts.new(pages=(), scopes=EVERYTHING)
    brand = accounts.brand(account.user_id, SECRET)["id"]
    page = accounts.page(brand)
    limited = accounts.client(accounts.token(account.user_id, "*", "--brand", brand)["api_token"])
    post = {"page_id": page["id"], "message": SECRET}
    published = limited.post("/posts/publish", post)
    simulator.comment("FB", published["platform_post_id"], SECRET)
    [comment] = limited.get("/comments", post_id=published["post_id"])["comments"]
    with Receiver() as receiver:
        webhook = limited.post(
            "/webhooks", {"name": SECRET, "url": receiver.url("/"), "events": ["post.failed"]}
        )["id"]
        delivery = limited.post(f"/webhooks/{webhook}/test", status=202)["id"]
        await_delivery(account, webhook, status="delivered")
    ids = {
        "brand": brand, "page": page["id"], "published": published["post_id"], "comment": comment["id"],
        "queued": limited.post("/posts/schedule", {**post, "scheduled_at": tomorrow()})["scheduled_post"]["id"],
        "media": uploaded(limited, jpeg, f"{SECRET}.jpg")["media_id"],
        "upload": limited.post(
            "/media/uploads", {"filename": f"{SECRET}.mp4", "mime_type": "video/mp4", "size_bytes": 1}
        )["upload_id"],
        "job": limited.post("/ai/images", {"prompt": SECRET})["job"]["job_id"],
        "session": limited.post("/pages/connect", {"platform": "FB", "brand_id": brand})["session_id"],
        "webhook": webhook, "delivery": delivery, "user": account.user_id,
        "token": account.token_id, "signed_in": accounts.sign_in(account)["session"]["id"],
    }  # fmt: skip
    return Theirs(account, limited, ids)


@pytest.fixture(scope="module")
def strangers(accounts: Accounts) -> list[Asker]:
    """Other accounts, which have their own."""
    return [asker(accounts.new(pages=("FB",), scopes=EVERYTHING)) for _ in range(STRANGERS)]


def asker(account: Account, api: Api | None = None) -> Asker:
    body = {"name": "own", "url": "http://127.0.0.1:9/", "events": ["post.failed"]}
    own = {
        "page": account.page_id(),
        "queued": schedule(account, message="own")["id"],
        "webhook": account.api.post("/webhooks", body | {"brand_ids": [account.brand_id]})["id"],
        "token": account.token_id,
    }
    return Asker(api or account.api, own)


@pytest.fixture(scope="module", autouse=True)
def untouched(theirs: Theirs) -> Iterator[None]:
    """Asserts at the end that every object of the owner is unchanged."""
    before = theirs.shown()
    yield
    assert theirs.shown() == before


def unknown() -> dict[str, str]:
    """Well-formed ids of objects that do not exist."""
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    return {
        kind: f"{prefix}01m{''.join(random.choices(alphabet, k=23))}" for kind, prefix in PREFIXES.items()
    }


def words(answer: requests.Response, ids: dict[str, str]) -> tuple[int, Json, set[str]]:
    """Status, body and header names, without the parts that differ between requests."""
    text = answer.text
    for kind, one in ids.items():
        text = text.replace(one, kind)
    body: Json = json.loads(text)
    body.pop("request_id", None)
    return answer.status_code, body, {name.lower() for name in answer.headers} - {"retry-after"}


def gives_nothing(answer: requests.Response) -> bool:
    """Whether the response is a refusal, or found nothing to change."""
    if answer.status_code in (400, 404):
        return True
    body = answer.json()
    return body.get("valid") is False or body.get("released", body.get("cancelled")) == []


def check(answer: requests.Response, status: int, code: str | None) -> None:
    """Asserts exactly this refusal, without any text of the owner."""
    assert (answer.status_code, error_code(answer)) == (status, code), told(answer)
    assert SECRET not in answer.text + str(answer.headers), told(answer)


def test_the_rows_are_all_routes_with_an_id(accounts: Accounts) -> None:
    named = {f"{row.method} {re.sub('{.+?}|<.+?>', '{}', row.path.split('?')[0])}" for row in ROWS}
    described = {
        f"{method.upper()} {re.sub('{.+?}', '{}', path)}"
        for path, operations in accounts.client(None).get("/openapi.json")["paths"].items()
        for method, operation in operations.items()
        if "{" in path and "scope" in operation.get("description", "")
    }
    assert described - named == set()


def test_the_rows_are_all_fields_with_an_id(accounts: Accounts) -> None:
    """Of every body and query. `account_ids` of a login are the platform's."""
    named = {
        (f"{row.method} {re.sub('{.+?}|<.+?>', '{}', row.path.split('?')[0])}", field)
        for row in ROWS
        for field in (*row.fields, *re.findall(r"[?&](\w+)={", row.path))
    }
    description = accounts.client(None).get("/openapi.json")
    described = {
        (f"{method.upper()} {re.sub('{.+?}', '{}', path)}", field)
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
        if "scope" in operation.get("description", "")
        for field in inputs_of(operation, description["components"]["schemas"])
        if re.fullmatch(r"\w+_ids?|made_by", field) and field != "account_ids"
    }
    assert described == named


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_of_another_account_it_is_answered_like_an_unknown_one(
    theirs: Theirs, strangers: list[Asker], row: Row
) -> None:
    stranger = strangers[ROWS.index(row) % STRANGERS]
    nothing = unknown()
    answer = stranger.ask(row, theirs.ids)
    assert gives_nothing(answer), told(answer)
    assert SECRET not in answer.text
    assert words(answer, theirs.ids) == words(stranger.ask(row, nothing), nothing)


def test_of_another_account_it_takes_as_long_as_an_unknown_one(
    theirs: Theirs, strangers: list[Asker]
) -> None:
    turns, suspects, taken = cycle(strangers), list(ROWS), 0
    seen: dict[str, tuple[float, float]] = {}
    for pairs in PAIRS:
        for row in suspects:
            seconds = [pair_of(row, next(turns), theirs.ids) for _ in range(pairs)]
            differences = [foreign - nothing for foreign, nothing in seconds]
            seen[str(row)] = abs(statistics.median(differences)), chance(differences)
            taken += pairs
        suspects = [row for row in suspects if seen[str(row)][0] > seen[str(row)][1]]
    most = max(seen, key=lambda name: seen[name][0])
    usual, (largest, bound) = statistics.median(one for one, _ in seen.values()), seen[most]
    print(
        f"{taken} pairs over {len(ROWS)} rows: medians differ by {usual * 1000:.2f} ms in the middle, at most by "
        f"{largest * 1000:.2f} ms where chance makes up to {bound * 1000:.2f} ms ({most})"
    )
    assert not suspects, {str(row): seen[str(row)] for row in suspects}


def pair_of(row: Row, stranger: Asker, foreign: dict[str, str]) -> tuple[float, float]:
    """Measures a request with a foreign and one with an unknown id, in random order, in seconds."""
    seconds = {}
    for name in random.sample(["foreign", "unknown"], 2):
        ids = foreign if name == "foreign" else unknown()
        begin = time.perf_counter()
        answer = stranger.ask(row, ids)
        seconds[name] = time.perf_counter() - begin
        assert gives_nothing(answer), told(answer)
    return seconds["foreign"], seconds["unknown"]


def chance(differences: list[float]) -> float:
    """The standard error of the median of these differences, from their scatter in this run."""
    middle = statistics.median(differences)
    scatter = 1.4826 * statistics.median(abs(one - middle) for one in differences)
    return GRAIN_SECONDS + DEVIATIONS * 1.2533 * scatter / len(differences) ** 0.5


def test_a_token_for_another_brand_is_refused(accounts: Accounts, theirs: Theirs) -> None:
    """The first brand of the same account."""
    account = theirs.account
    page = accounts.page(account.brand_id)
    token = accounts.token(account.user_id, "*", "--brand", account.brand_id)["api_token"]
    account.pages["FB"] = page
    one = asker(account, accounts.client(token))
    own = {"name": "own", "url": "http://127.0.0.1:9/", "events": ["post.failed"]}
    one.own["webhook"] = one.api.post("/webhooks", own)["id"]  # the account's own is not this token's
    for row in ROWS:
        check(one.ask(row, theirs.ids), *row.other_brand)


def test_a_collaborator_who_became_limited_is_refused(
    accounts: Accounts, operator: Operator, theirs: Theirs
) -> None:
    """A collaborator of the owner's brand."""
    guest, brand = accounts.new(pages=("FB",)), theirs.ids["brand"]
    add = ("collaborator", "add", "--brand", brand, "--user", guest.user_id, "--role")
    operator(*add, "full")
    issued = ("--brand", brand, "--issued-by", guest.user_id)
    api = accounts.client(accounts.token(theirs.account.user_id, "*", *issued)["api_token"])
    api.get(f"/brands/{brand}")
    operator(*add, "limited")
    until(
        lambda: api.call("GET", f"/brands/{brand}").status_code == 403,
        HEARD_SECONDS,
        "the gateway has heard of it",
    )
    one = asker(guest, api)
    for row in ROWS:
        check(one.ask(row, theirs.ids), 403, "COLLABORATOR_INSUFFICIENT")


def test_a_sandbox_token_is_refused(accounts: Accounts, theirs: Theirs) -> None:
    """A sandbox token of another account. It may read, but finds nothing, as a live token does."""
    for first in range(0, len(ROWS), SANDBOX_REQUESTS):
        account = accounts.new(pages=("FB",))
        one = asker(account, accounts.client(account.sandbox_token))
        for row in ROWS[first : first + SANDBOX_REQUESTS]:
            reads = row.method == "GET" and row.path.startswith(SANDBOX_READS)
            check(one.ask(row, theirs.ids), *(GONE if reads else (403, "MISSING_SCOPE")))


@pytest.mark.parametrize(("kind", "code"), [("revoked", "TOKEN_REVOKED"), ("none", "MISSING_TOKEN")])
def test_without_a_token_that_lives_it_is_refused(
    accounts: Accounts, operator: Operator, theirs: Theirs, strangers: list[Asker], kind: str, code: str
) -> None:
    """Even their own."""
    api = accounts.client(None)
    if kind == "revoked":
        made = accounts.token(theirs.account.user_id)
        api = accounts.client(made["api_token"])
        api.get("/me")
        operator("token", "revoke", made["token"]["id"])
        until(lambda: api.call("GET", "/me").status_code == 401, HEARD_SECONDS, "the gateway has heard of it")
    seen = Counter[str]()
    for row in ROWS:
        check(Asker(api, strangers[0].own).ask(row, theirs.ids), 401, code)
        seen[code] += 1
    print(f"{kind}: {dict(seen)}")
