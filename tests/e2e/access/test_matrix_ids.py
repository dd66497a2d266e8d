"""Sends every request that can name an id with six kinds of token that may not see the object. No response and no
response time reveals anything about it.
"""

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
from e2e_kit.attacks.id_rows import EVERYTHING, GONE, NOT_FOR_BRANDS, ROWS, Asker, Row, asker, unknown
from e2e_kit.files import uploaded
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import tomorrow
from e2e_kit.receiver import Receiver, await_delivery
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import HEARD_SECONDS, until

#: Texts of the owner, which no response to another account may contain.
SECRET = "a-word-of-theirs"
#: Number of accounts that ask in turn: each may send 300 requests a minute.
STRANGERS = 12
#: A sandbox token may send 5 a minute.
SANDBOX_REQUESTS = 5
#: First number of pairs of a foreign and an unknown id; more are measured if the times differ.
PAIRS = (int(os.environ.get("E2E_PAIRS", "12")), 40, 120)
#: Allowed difference of medians, in standard errors and, in addition, in seconds. Our choice: five errors hardly ever
#: happen by chance, and through a network nobody measures a third of a millisecond.
DEVIATIONS, GRAIN_SECONDS = 5.0, 0.0003
#: Routes that a sandbox token may call: the others need a scope that it lacks.
SANDBOX_READS = ("/brands", "/pages/{page}", "/pages?", "/posts", "/comments", "/media", "/logs/")


@dataclass(frozen=True)
class Theirs:
    """The second brand of an account, with one object of every kind."""

    account: Account
    #: For that brand.
    api: Api
    ids: dict[str, str]

    def shown(self) -> dict[str, Any]:
        """Returns all these objects as the API shows them to their owner."""
        paths = (
            "/brands/{brand}", "/pages/{page}", "/pages/connect/{session}", "/posts/scheduled/{queued}",
            "/comments?post_id={published}", "/media/{media}", "/ai/jobs/{job}", "/webhooks/{webhook}",
            "/webhooks/{webhook}/deliveries?limit=100", "/posts/scheduled?status=all", "/posts/published", "/webhooks",
            "/media",
        )  # fmt: skip
        shown = {path: self.api.get(path.format(**self.ids)) for path in paths}
        token = self.account.api.get(f"/tokens/{self.ids['token']}")
        kept = {name: token[name] for name in ("name", "scopes", "brand_ids", "revoked_at")}
        owners = ("/auth/sessions", f"/brands/{self.ids['brand']}/invitations")
        return shown | {"token": kept} | {path: self.account.api.get(path) for path in owners}


@pytest.fixture(scope="module")
def theirs(accounts: Accounts, simulator: Simulator, jpeg: bytes) -> Theirs:
    account = accounts.new(pages=(), scopes=EVERYTHING)
    brand = accounts.brand(account.user_id, SECRET)["id"]
    page = accounts.page(brand)
    limited = accounts.client(accounts.token(account.user_id, "*", "--brand", brand)["api_token"])
    post = {"page_id": page["id"], "message": SECRET}
    request_id = "req_01m7wd3a6vk238gf482f6cma1w"
    named = {"X-Request-Id": request_id}
    published = limited.call("POST", "/posts/publish", json=post, headers=named).json()
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
        "invitation": account.api.post(
            f"/brands/{brand}/invitations", {"email": f"{SECRET}@example.test", "role": "full"}
        )["id"],
        "webhook": webhook, "delivery": delivery, "user": account.user_id, "request": request_id,
        "token": account.token_id, "signed_in": accounts.sign_in(account)["session"]["id"],
    }  # fmt: skip
    until(lambda: account.api.get("/logs", request_id=request_id)["entries"], 10)
    return Theirs(account, limited, ids)


@pytest.fixture(scope="module")
def strangers(accounts: Accounts) -> list[Asker]:
    """Other accounts. Each has a brand, a page, a post, a webhook and a token."""
    return [asker(accounts.new(pages=("FB",), scopes=EVERYTHING)) for _ in range(STRANGERS)]


@pytest.fixture(scope="module", autouse=True)
def untouched(theirs: Theirs) -> Iterator[None]:
    """Asserts at the end that every object of the owner is unchanged."""
    before = theirs.shown()
    yield
    assert theirs.shown() == before


def words(answer: requests.Response, ids: dict[str, str]) -> tuple[int, Json, set[str]]:
    """Returns status, body and header names of an answer, without the parts that differ between any two requests."""
    text = answer.text
    for kind, one in ids.items():
        text = text.replace(one, kind)
    body: Json = json.loads(text)
    body.pop("request_id", None)
    return answer.status_code, body, {name.lower() for name in answer.headers} - {"retry-after"}


def gives_nothing(answer: requests.Response) -> bool:
    """Whether the answer is an error, an empty list, or says that nothing was valid or done."""
    if answer.status_code in (400, 404):
        return True
    body = answer.json()
    if [] in (body.get("entries"), body.get("media"), body.get("posts")):
        return True
    return body.get("valid") is False or body.get("released", body.get("cancelled")) == []


def check(answer: requests.Response, status: int, code: str | None) -> None:
    """Asserts that the answer is exactly this refusal, and that it holds no text of the owner's objects."""
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
    """Compares the rows with the OpenAPI document: every field of a body or query that takes an id of ours.
    `account_ids` of a login are the platform's ids, and a `request_id` is the client's.
    """
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
        if re.fullmatch(r"\w+_ids?|made_by|overrides", field) and field not in ("account_ids", "request_id")
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
    """Sends a request with another account's id and one with an unknown id, in random order. Returns the seconds of
    each.
    """
    seconds = {}
    for name in random.sample(["foreign", "unknown"], 2):
        ids = foreign if name == "foreign" else unknown()
        begin = time.perf_counter()
        answer = stranger.ask(row, ids)
        seconds[name] = time.perf_counter() - begin
        assert gives_nothing(answer), told(answer)
    return seconds["foreign"], seconds["unknown"]


def chance(differences: list[float]) -> float:
    """Returns how far the median of these differences may be from zero by chance, in seconds: some standard errors,
    computed from the scatter of this run.
    """
    middle = statistics.median(differences)
    scatter = 1.4826 * statistics.median(abs(one - middle) for one in differences)
    return GRAIN_SECONDS + DEVIATIONS * 1.2533 * scatter / len(differences) ** 0.5


@pytest.mark.parametrize("kind", ["token", "session of a collaborator"])
def test_a_token_for_another_brand_is_refused(accounts: Accounts, theirs: Theirs, kind: str) -> None:
    """The caller has a token or a session for the first brand of the same account."""
    account = theirs.account
    page = accounts.page(account.brand_id)
    if kind == "token":
        token = accounts.token(account.user_id, "*", "--brand", account.brand_id)["api_token"]
    else:
        token = accounts.enter(account.brand_id)["session_token"]
    account.pages["FB"] = page
    one = asker(account, accounts.client(token))
    own = {"name": "own", "url": "http://127.0.0.1:9/", "events": ["post.failed"]}
    one.own["webhook"] = one.api.post("/webhooks", own)["id"]  # the account's own is not this token's
    for row in ROWS:
        check(one.ask(row, theirs.ids), *row.other_brand)


def test_a_collaborator_who_became_limited_is_refused(
    accounts: Accounts, operator: Operator, theirs: Theirs
) -> None:
    """The caller is a collaborator of the brand whose role was changed from full to limited."""
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


def test_a_sandbox_token_is_refused(accounts: Accounts, theirs: Theirs, strangers: list[Asker]) -> None:
    """A sandbox token of another account. It has read scopes only, and reading, or noting what was read, finds nothing
    of the owner. Only requests that are refused for their scope name things of the caller: any ids will do.
    """
    for first in range(0, len(ROWS), SANDBOX_REQUESTS):
        account = accounts.new(pages=())
        one = Asker(accounts.client(account.sandbox_token), strangers[0].own)
        for row in ROWS[first : first + SANDBOX_REQUESTS]:
            is_read = row.method == "GET" or row.path == "/comments/read"
            reads = is_read and row.path.startswith(SANDBOX_READS)
            reads = reads and row.other_brand != NOT_FOR_BRANDS
            refusal = GONE if reads else (403, "MISSING_SCOPE")
            assert not reads or "<" not in row.path
            # no requests of a token of others, and those posts and files that the caller has
            finds_nothing = row.path.startswith(("/logs?", "/media?", "/posts?"))
            check(one.ask(row, theirs.ids), *((200, None) if finds_nothing else refusal))


@pytest.mark.parametrize(("kind", "code"), [("revoked", "TOKEN_REVOKED"), ("none", "MISSING_TOKEN")])
def test_without_a_token_that_lives_it_is_refused(
    accounts: Accounts, operator: Operator, theirs: Theirs, strangers: list[Asker], kind: str, code: str
) -> None:
    """A revoked token of the owner opens nothing, and neither does a request without a token."""
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
