"""Tests that no event is lost when processes die: every published post and every reply is delivered, under one event
id.
"""

import json
import uuid
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from e2e_kit.api import Json
from e2e_kit.operator import Account, Accounts, Clock, Operator
from e2e_kit.posting import Conversation
from e2e_kit.receiver import Receiver, subscribe
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until
from e2e_kit.workload import Workload

pytestmark = pytest.mark.alone

CLIENTS = 24
REPLIES = 40
#: Process to kill after this share of the posts is published.
KILLS = ((0.1, "webhooks"), (0.3, "rabbitmq"), (0.6, "publishing"))
#: Longest time until every service answers. test_survival.py has the tighter bar.
READY_SECONDS = 60.0
#: Longest time until most posts of a round are published, a restart included.
OUT_SECONDS = 60.0
#: Leases lapse after 15 s, and lost outcomes are settled within two minutes.
SETTLED_SECONDS = 200.0


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def workload(
    accounts: Accounts, simulator: Simulator, operator: Operator, receiver: Receiver
) -> Iterator[Workload]:
    """Clients that each have a subscription to the events of their own posts and replies."""
    clock = Clock(operator)
    workload = Workload(accounts, simulator, clock, CLIENTS)
    for client in workload.clients:
        url = receiver.url(f"/{client.account.user_id}")
        subscribe(client.account, url, "post.published", "post.failed", "comment.replied")
    yield workload
    clock.reset()


def restart(stack: Stack, name: str) -> None:
    stack.await_restart(name, stack.kill(name), READY_SECONDS)
    stack.await_ready(READY_SECONDS)


@pytest.fixture(scope="module")
def texts(workload: Workload, stack: Stack) -> list[str]:
    """The texts of posts that were published while processes were killed. Some of the posts take a minute to settle."""
    texts = workload.schedule(workload.clients, "heard of")
    workload.make_due()
    for share, name in KILLS:
        workload.await_published(texts, int(len(texts) * share), OUT_SECONDS)
        restart(stack, name)
    return texts


@pytest.mark.usefixtures("texts")
def test_replies_answered_while_processes_die_are_all_heard_of(
    workload: Workload, stack: Stack, simulator: Simulator, receiver: Receiver
) -> None:
    """Every reply has an idempotency key and is repeated until it is answered with 201."""
    talks = [Conversation(client.account, simulator, client.written_page) for client in workload.clients[:8]]

    def talk(conversation: Conversation) -> list[str]:
        return [insist(conversation, f"reply {number}") for number in range(REPLIES)]

    with ThreadPoolExecutor(len(talks)) as pool:
        clients = [pool.submit(talk, conversation) for conversation in talks]
        for _, name in KILLS:
            restart(stack, name)
        expected = {reply_id for client in clients for reply_id in client.result()}
    assert len(expected) == len(talks) * REPLIES
    until(lambda: heard(receiver, "reply").keys() >= expected, SETTLED_SECONDS, "all are heard of")
    check_repeated("replies", heard(receiver, "reply"), expected)


def test_of_posts_that_went_out_while_processes_died_every_one_is_heard_of(
    workload: Workload, texts: list[str], receiver: Receiver
) -> None:
    workload.await_settled(SETTLED_SECONDS)
    expected = {post["id"] for client in workload.clients for post in out(client.account, texts)}
    assert len(expected) == len(texts)
    until(lambda: heard(receiver, "post").keys() >= expected, SETTLED_SECONDS, "all are heard of")
    check_repeated("posts", heard(receiver, "post"), expected)


def out(account: Account, texts: list[str]) -> list[Json]:
    """Returns the account's published posts with these texts."""
    wanted, found, cursor = set(texts), [], {}
    while cursor != {"cursor": None}:
        page = account.api.get("/posts/published", 200, limit=100, **cursor)
        found += [post for post in page["published_posts"] if post["message"] in wanted]
        cursor = {"cursor": page["next_cursor"]}
    return found


def heard(receiver: Receiver, what: str) -> dict[str, list[str]]:
    """Returns the ids of the delivered events, by the id of the post or reply that they are about. `what`: "post" or
    "reply".
    """
    found: dict[str, list[str]] = defaultdict(list)
    for arrival in receiver.arrivals():
        said = json.loads(arrival.body)
        if what in said["data"]:
            found[said["data"][what]["id"]].append(said["id"])
    return found


def insist(talk: Conversation, message: str) -> str:
    """Repeats a reply with the same idempotency key until it is answered with 201. Returns the reply's id."""
    key = uuid.uuid4().hex
    body = {"page_id": talk.page["id"], "comment_id": talk.comment["id"], "message": message}

    def ask() -> str | None:
        answer = talk.account.api.call("POST", "/comments/reply", json=body, key=key)
        assert answer.status_code in (201, 409, 429, 502, 503), answer.text
        return answer.json()["reply"]["id"] if answer.status_code == 201 else None

    return until(ask, SETTLED_SECONDS, "the reply is answered")


def check_repeated(name: str, heard: dict[str, list[str]], expected: set[str]) -> None:
    """Asserts that all deliveries about the same post or reply have the same event id. A killed process may have begun
    a delivery that came again.
    """
    told = {one: heard[one] for one in expected}
    assert all(len(set(event_ids)) == 1 for event_ids in told.values())
    repeated = sum(len(event_ids) - 1 for event_ids in told.values())
    print(f"{name}: {len(told)} events, {repeated} deliveries came again")
