"""Tests the event comment.received: a visitor's comment reaches a subscriber once, by Meta's webhook or by a poll."""

import hashlib
import hmac
import json
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from e2e_kit.api import Api, Json, instant, refused
from e2e_kit.operator import Account, Accounts
from e2e_kit.receiver import Receiver, subscribe
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

#: Longest time by webhook, which Meta batches for a moment, and by poll, every 5 s, on a busy machine.
HOOK_SECONDS, POLL_SECONDS = 30.0, 45.0
#: Longest time after a kill: the claims of the dead process lapse after a minute.
RESTART_SECONDS = 100.0
READY_SECONDS = 30.0


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


class Inbox:
    """A subscription of an account, and the events that its receiver got."""

    def __init__(self, account: Account, receiver: Receiver, *events: str) -> None:
        self.path = f"/{uuid.uuid4().hex}"
        self._receiver = receiver
        self.secret = subscribe(account, receiver.url(self.path), *(events or ("comment.received",)))[
            "secret"
        ]

    def events(self) -> list[Json]:
        """Verifies the signatures of all deliveries. Returns each event once, even if it was delivered
        several times.
        """
        arrivals = self._receiver.arrivals(self.path)
        for arrival in arrivals:
            arrival.verified(self.secret)
        bodies = [json.loads(arrival.body) for arrival in arrivals]
        return list({body["id"]: body for body in bodies}.values())

    def texts(self) -> list[str]:
        return [event["data"]["comment"]["text"] for event in self.events()]

    def until(self, count: int, seconds: float) -> list[Json]:
        return until(
            lambda: found if len(found := self.events()) >= count else None, seconds, f"{count} events"
        )


@pytest.fixture
def inbox(account: Account, receiver: Receiver) -> Inbox:
    return Inbox(account, receiver)


def publish(account: Account, platform: str = "FB", **body: Any) -> Json:
    body = {"page_id": account.page_id(platform), "message": "Ask me", **body}
    return account.api.post("/posts/publish", body)


@pytest.mark.parametrize("platform", ["FB", "IG"])
def test_a_visitors_comment_arrives_signed_and_as_get_comments_shows_it(
    account: Account, inbox: Inbox, simulator: Simulator, photo: str, platform: str
) -> None:
    post = publish(account, platform, media_urls=[photo])
    remote_id = simulator.comment(platform, post["platform_post_id"], "Open on Sunday? \u2615", "Vera")
    [event] = inbox.until(1, HOOK_SECONDS)
    data = event["data"]
    assert event["event"] == "comment.received"
    assert data.keys() == {"userId", "brandId", "pageId", "postId", "comment"}
    assert (data["userId"], data["brandId"]) == (account.user_id, account.brand_id)
    assert (data["pageId"], data["postId"]) == (account.page_id(platform), post["post_id"])
    [shown] = account.api.get("/comments", post_id=post["post_id"])["comments"]
    told = data["comment"]
    assert told["from"].pop("id")
    shown["from"].pop("id")  # Instagram names visitors in its webhooks only
    assert told == shown
    assert (told["text"], told["from"]) == ("Open on Sunday? \u2615", {"name": "Vera"})
    assert instant(told["created_time"])
    batches = [row for row in simulator.hooks()["webhooks"] if remote_id in row["comments"]]
    assert all(row["delivered"] and row["tries"] == 1 for row in batches)


def test_what_meta_does_not_tell_is_found_by_a_poll(
    account: Account, inbox: Inbox, simulator: Simulator, photo: str
) -> None:
    posts = [publish(account, platform, media_urls=[photo]) for platform in ("FB", "IG")]
    for page in account.pages.values():
        simulator.unsubscribe(page)

    def write(text: str) -> list[str]:
        return [
            simulator.comment(post["platform"], post["platform_post_id"], f"{text} {post['platform']}")
            for post in posts
        ]

    first = write("first")
    inbox.until(2, POLL_SECONDS)
    assert sorted(inbox.texts()) == ["first FB", "first IG"]
    write("second")
    events = inbox.until(4, POLL_SECONDS)
    assert sorted(inbox.texts()[2:]) == ["second FB", "second IG"]
    assert len({event["id"] for event in events}) == 4
    assert not any({*first} & {*row["comments"]} for row in simulator.hooks()["webhooks"])


def test_a_hundred_comments_arrive_once_each_whoever_else_is_reading(
    account: Account, inbox: Inbox, simulator: Simulator
) -> None:
    posts = [publish(account, message=f"Ask me {number}") for number in range(4)]

    def write(number: int) -> None:
        post = posts[number % len(posts)]
        simulator.comment("FB", post["platform_post_id"], f"{number}")
        if number % 5 == 0:
            account.api.get("/comments", post_id=post["post_id"])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(100)))
    inbox.until(100, POLL_SECONDS)
    marker = publish(account, message="the last")
    simulator.comment("FB", marker["platform_post_id"], "100")
    until(lambda: "100" in inbox.texts(), HOOK_SECONDS)
    assert Counter(inbox.texts()) == Counter(f"{number}" for number in range(101))
    told = [event["data"]["comment"]["id"] for event in inbox.events()]
    assert len(set(told)) == 101
    shown = [
        row
        for post in posts
        for row in account.api.get("/comments", post_id=post["post_id"], limit=100)["comments"]
    ]
    assert {row["id"] for row in shown} < set(told)
    ours = {post["platform_post_id"].rpartition("_")[2] for post in posts}
    batches = [
        tuple(row["comments"]) for row in simulator.hooks()["webhooks"]
        if any(comment.partition("_")[0] in ours for comment in row["comments"])
    ]  # fmt: skip
    assert batches, "Meta has told of them too"


@pytest.mark.parametrize("platform", ["FB", "IG"])
def test_the_pages_own_words_are_no_comment_received(
    account: Account, inbox: Inbox, receiver: Receiver, simulator: Simulator, photo: str, platform: str
) -> None:
    replied = Inbox(account, receiver, "comment.replied")
    post = publish(account, platform, media_urls=[photo], first_comment="Recipe: #cake")
    simulator.comment(platform, post["platform_post_id"], "Open?")
    [event] = inbox.until(1, HOOK_SECONDS)
    comment = event["data"]["comment"]
    page_id = account.page_id(platform)
    body = {"page_id": page_id, "comment_id": comment["id"], "message": "Yes, from 8."}
    reply = account.api.post("/comments/reply", body)["reply"]
    [event] = replied.until(1, HOOK_SECONDS)
    assert event["data"] == {
        "userId": account.user_id, "brandId": account.brand_id, "pageId": page_id, "postId": post["post_id"],
        "reply": reply,
    }  # fmt: skip
    until(
        lambda: len(account.api.get("/comments", post_id=post["post_id"])["comments"]) == 3, POLL_SECONDS,
        "question, reply and first comment",
    )  # fmt: skip
    simulator.comment(platform, post["platform_post_id"], "Thanks!")
    inbox.until(2, HOOK_SECONDS)
    assert inbox.texts() == ["Open?", "Thanks!"]


def test_an_answer_to_a_comment_names_it(account: Account, inbox: Inbox, simulator: Simulator) -> None:
    post = publish(account)
    first = simulator.comment("FB", post["platform_post_id"], "first")
    inbox.until(1, HOOK_SECONDS)
    simulator.comment("FB", post["platform_post_id"], "answer", parent_id=first)
    begun, answered = inbox.until(2, HOOK_SECONDS)
    assert begun["data"]["comment"]["parent_id"] is None
    assert answered["data"]["comment"]["parent_id"] == begun["data"]["comment"]["id"]


def test_a_list_is_never_longer_than_asked_for_and_loses_nothing(
    account: Account, simulator: Simulator, photo: str
) -> None:
    post = publish(account, "IG", media_urls=[photo])
    for number in range(3):
        top = simulator.comment("IG", post["platform_post_id"], f"top {number}")
        for answer in range(3):
            simulator.comment("IG", post["platform_post_id"], f"answer {number} {answer}", parent_id=top)
    seen, cursor = [], None
    while True:
        query = {"cursor": cursor} if cursor else {}
        listed = account.api.get("/comments", post_id=post["post_id"], limit=2, **query)
        assert len(listed["comments"]) <= 2
        seen += [row["text"] for row in listed["comments"]]
        cursor = listed["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 12


def signed(body: bytes, secret: str = "made up") -> dict[str, str]:
    return {"X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


@pytest.mark.parametrize("platform", ["facebook", "instagram"])
def test_nobody_but_the_platform_is_heard(stack: Stack, platform: str) -> None:
    url = f"{stack.root_url}/hooks/{platform}"
    body = json.dumps({"object": "page", "entry": []}).encode()
    for headers in (
        {},
        signed(body),
        {"X-Hub-Signature-256": "sha256=" + "0" * 64},
        {"X-Hub-Signature": "sha1=00"},
    ):
        refused(requests.post(url, body, headers=headers, timeout=10), 403, "HOOK_REFUSED")
    query = {"hub.mode": "subscribe", "hub.challenge": "<b>1</b>", "hub.verify_token": "made up"}
    refused(requests.get(url, params=query, timeout=10), 403, "HOOK_REFUSED")
    refused(requests.get(url, timeout=10), 403, "HOOK_REFUSED")
    large = requests.post(url, b"x" * (2**20 + 1), headers=signed(b""), timeout=10)
    refused(large, 413, "PAYLOAD_TOO_LARGE")


def test_platforms_that_tell_nothing_have_no_address(stack: Stack) -> None:
    url = f"{stack.root_url}/hooks/linkedin"
    refused(requests.post(url, b"{}", headers=signed(b"{}"), timeout=10), 404, "NOT_FOUND")
    refused(requests.get(url, timeout=10), 404, "NOT_FOUND")


@pytest.mark.alone
def test_a_killed_publishing_loses_no_comment_and_tells_of_none_twice(
    accounts: Accounts, receiver: Receiver, simulator: Simulator, stack: Stack, photo: str
) -> None:
    account = accounts.new(pages=("FB", "IG"))
    inbox = Inbox(account, receiver)
    posts = [publish(account, platform, media_urls=[photo]) for platform in ("FB", "IG")]
    for page in account.pages.values():
        until(lambda page=page: page["account_id"] in simulator.hooks()["subscribed"], HOOK_SECONDS)  # type: ignore[misc]

    def write(numbers: range) -> None:
        for number in numbers:
            post = posts[number % 2]
            simulator.comment(post["platform"], post["platform_post_id"], f"{number}")

    write(range(60))
    inbox.until(1, POLL_SECONDS)
    starts = stack.kill("publishing")
    write(range(60, 120))
    stack.await_restart("publishing", starts)
    stack.await_ready(READY_SECONDS)
    write(range(120, 180))
    inbox.until(180, RESTART_SECONDS)
    assert Counter(inbox.texts()) == Counter(f"{number}" for number in range(180))


def test_reading_with_a_sandbox_token_tells_nobody_and_hides_nothing(
    account: Account, accounts: Accounts, inbox: Inbox, simulator: Simulator
) -> None:
    post = publish(account)
    simulator.unsubscribe(account.pages["FB"])
    simulator.comment("FB", post["platform_post_id"], "hello")
    sandbox: Api = accounts.client(account.sandbox_token)
    [shown] = sandbox.get("/comments", post_id=post["post_id"])["comments"]
    [event] = inbox.until(1, POLL_SECONDS)
    assert event["data"]["comment"]["id"] == shown["id"]


def test_a_comment_that_needs_no_reply_is_shown_as_such_until_that_is_taken_back(
    account: Account, simulator: Simulator
) -> None:
    post = publish(account)
    for text in ("great!", "Open on Sunday?"):
        simulator.comment("FB", post["platform_post_id"], text)
    api = account.api

    def shown() -> dict[str, Any]:
        return {it["text"]: it for it in api.get("/comments", post_id=post["post_id"])["comments"]}

    thanks = shown()["great!"]
    assert thanks["settled_at"] is None
    path = f"/comments/{thanks['id']}/settled"
    settled = api.call("PUT", path, json={}).json()
    assert instant(settled["settled_at"])
    assert settled["id"] == thanks["id"]
    assert api.call("PUT", path).json() == settled, "the body may be left out, and the first time stays"
    assert {text: it["settled_at"] for text, it in shown().items()} == {
        "great!": settled["settled_at"],
        "Open on Sunday?": None,
    }
    for _ in range(2):
        assert api.call("DELETE", path).json() == {"id": thanks["id"], "settled_at": None}
    assert shown()["great!"]["settled_at"] is None
    refused(api.call("PUT", "/comments/cmt_x/settled", json={}), 404, "NOT_FOUND")
