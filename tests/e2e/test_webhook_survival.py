"""No event is lost when processes die: every post that went out and every reply is delivered, under one event id."""

import json
import uuid
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from e2e_kit.api import Json
from e2e_kit.crowd import Crowd
from e2e_kit.operator import Account, Accounts, Clock, Operator
from e2e_kit.receiver import Receiver, subscribe
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.talking import Conversation
from e2e_kit.waiting import until

pytestmark = pytest.mark.alone

MEMBERS = 24
#: From the start of a killed process until every service answers.
READY_SECONDS = 15.0
#: Until most posts of a round are out, a restart included.
OUT_SECONDS = 60.0
#: Leases of 15 s lapse; outcomes that were lost are settled within two minutes.
SETTLED_SECONDS = 200.0


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def crowd(
    accounts: Accounts, simulator: Simulator, operator: Operator, receiver: Receiver
) -> Iterator[Crowd]:
    """Members that each hear of their own posts and replies."""
    clock = Clock(operator)
    crowd = Crowd(accounts, simulator, clock, MEMBERS)
    for member in crowd.members:
        url = receiver.url(f"/{member.account.user_id}")
        subscribe(member.account, url, "post.published", "post.failed", "comment.replied")
    yield crowd
    clock.reset()


@pytest.mark.parametrize("name", ["webhooks", "publishing", "rabbitmq", "webhooks and publishing"])
def test_a_killed_process_loses_no_event(crowd: Crowd, stack: Stack, receiver: Receiver, name: str) -> None:
    crowd.begin_round()
    texts = crowd.schedule(crowd.members, f"{name} {uuid.uuid4().hex[:6]}")
    crowd.make_due()
    crowd.await_held(texts, len(texts) // 10, OUT_SECONDS)
    killed = {process: stack.kill(process) for process in name.split(" and ")}
    for process, starts in killed.items():
        stack.await_restart(process, starts)
    stack.await_ready(READY_SECONDS)
    crowd.await_settled(SETTLED_SECONDS)
    expected = {post["id"] for member in crowd.members for post in ended(member.account, texts)}
    assert len(expected) == len(texts)

    def heard() -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for arrival in receiver.arrivals():
            said = json.loads(arrival.body)
            if (post_id := said["data"]["post"]["id"] if "post" in said["data"] else "") in expected:
                found[post_id].append(said["id"])
        return found

    until(lambda: len(heard()) == len(expected), SETTLED_SECONDS, f"all {len(expected)} events arrive")
    check_repeated(name, heard())


def ended(account: Account, texts: list[str]) -> list[Json]:
    """The posts with these texts; all have to be out."""
    wanted, found, cursor = set(texts), [], {}
    while cursor != {"cursor": None}:
        page = account.api.get("/posts/published", 200, limit=100, **cursor)
        found += [post for post in page["published_posts"] if post["message"] in wanted]
        cursor = {"cursor": page["next_cursor"]}
    return found


def test_replies_answered_while_processes_die_are_all_heard_of(
    crowd: Crowd, stack: Stack, simulator: Simulator, receiver: Receiver
) -> None:
    """Every reply has a key and is sent again until it is answered with 201."""
    talks = [Conversation(member.account, simulator, member.written_page) for member in crowd.members[:8]]

    def talk(conversation: Conversation) -> list[str]:
        return [insist(conversation, f"reply {number}") for number in range(40)]

    with ThreadPoolExecutor(len(talks)) as pool:
        clients = [pool.submit(talk, conversation) for conversation in talks]
        for process in ("webhooks", "rabbitmq", "publishing"):
            stack.await_restart(process, stack.kill(process))
            stack.await_ready(READY_SECONDS)
        expected = {reply_id for client in clients for reply_id in client.result()}
    assert len(expected) == 8 * 40

    def heard() -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for arrival in receiver.arrivals():
            said = json.loads(arrival.body)
            if "reply" in said["data"]:
                found[said["data"]["reply"]["id"]].append(said["id"])
        return found

    until(lambda: set(heard()) >= expected, SETTLED_SECONDS, f"all {len(expected)} replies are heard of")
    check_repeated("replies", {reply: ids for reply, ids in heard().items() if reply in expected})


def insist(talk: Conversation, message: str) -> str:
    """A reply, sent with one key until there is an answer: its id."""
    key = uuid.uuid4().hex
    body = {"page_id": talk.page["id"], "comment_id": talk.comment["id"], "message": message}

    def ask() -> str | None:
        answer = talk.account.api.call("POST", "/comments/reply", json=body, key=key)
        assert answer.status_code in (201, 409, 429, 502, 503), answer.text
        return answer.json()["reply"]["id"] if answer.status_code == 201 else None

    return until(ask, SETTLED_SECONDS, "the reply is answered")


def check_repeated(name: str, heard: dict[str, list[str]]) -> None:
    """What came twice came under the same event id; it is what the dead process had on its way."""
    assert all(len(set(ids)) == 1 for ids in heard.values())
    count, repeated = len(heard), sum(len(ids) - 1 for ids in heard.values())
    print(f"{name}: {count} events, {repeated} came again")
