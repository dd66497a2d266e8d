"""A frozen link takes bytes and gives none, and reports no error. Every request is answered within its deadline all
the same.
"""

import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
import requests
from e2e_kit.api import Json, told
from e2e_kit.files import uploaded
from e2e_kit.operator import Account, Accounts
from e2e_kit.posting import from_now
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until
from fault_kit.figures import Figures
from fault_kit.stack import FaultyStack

#: What a deadline may be missed by (a bar of the project).
GRACE_SECONDS = 1.0
#: Heartbeats and leases are noticed; then it works again.
BACK_SECONDS = 30.0
#: Every request is sent so often, so far apart.
PAUSE_SECONDS, ROUNDS, CORE_ROUNDS = 2.0, 3, 2


@dataclass(frozen=True)
class Ask:
    """A request, and the deadline that the gateway has for it."""

    method: str
    path: str
    deadline_seconds: float = 10.0
    body: Json | None = None


READS = tuple(
    Ask("GET", path)
    for path in (
        "/me",
        "/account",
        "/account/credits",
        "/brands",
        "/pages",
        "/posts/scheduled",
        "/media",
        "/ai/jobs",
        "/webhooks",
    )
)
WRITES = (
    Ask("POST", "/posts/schedule", body={"page_id": "PAGE", "message": "TEXT", "scheduled_at": "AT"}),
    Ask("POST", "/posts/validate", body={"page_id": "PAGE", "message": "TEXT", "scheduled_at": "AT"}),
    Ask("POST", "/webhooks", body={"name": "TEXT", "url": "http://127.0.0.1:9/", "events": ["post.failed"]}),
)
AT_PLATFORMS = (
    Ask("POST", "/posts/publish", 60.0, {"page_id": "PAGE", "message": "TEXT"}),
    Ask("GET", "/posts/published/PUBLISHED/engagement", 20.0),
    Ask("GET", "/comments?post_id=PUBLISHED", 30.0),
    Ask("POST", "/pages/PAGE/check", 40.0, {}),
    Ask("POST", "/ai/captions", 60.0, {"brand_id": "BRAND", "instruction": "TEXT"}),
)
FILES = (
    Ask("GET", "/media"),
    Ask("GET", "FILE"),
    Ask("POST", "/media/uploads", body={"filename": "a.mp4", "mime_type": "video/mp4", "size_bytes": 9}),
)

#: Which links freeze together, and what is asked meanwhile.
FREEZES = {
    "every database": ("→database", READS + WRITES),
    "the gateway's database": ("gateway→database", READS + WRITES),
    "the broker, for all": ("→amqp", READS + WRITES),
    "the broker, for the gateway": ("gateway→amqp", READS + WRITES),
    "the broker, for publishing": ("publishing→amqp", READS + WRITES),
    "publishing's database": ("publishing→database", READS + WRITES),
    "quota's database": ("quota→database", READS + WRITES),
    "platforms and providers": ("→simulator", AT_PLATFORMS),
    "the storage": ("→s3", FILES),
}
CORE = ("every database", "the broker, for the gateway")


@pytest.fixture(scope="module")
def names(accounts: Accounts, simulator: Simulator, jpeg: bytes) -> tuple[list[Account], dict[str, str]]:
    """Enough accounts for all requests, and the values for the words in capitals in a request: ids of the first
    account.
    """
    made = [accounts.new(pages=("FB",), pool_size=100) for _ in range(4)]
    first = made[0]
    published = first.api.post("/posts/publish", {"page_id": first.page_id(), "message": "before"})
    url = uploaded(first.api, jpeg)["url"]
    return made, {
        "PAGE": first.page_id(), "BRAND": first.brand_id, "PUBLISHED": published["post_id"],
        "FILE": url.partition("/api/v1")[2],
    }  # fmt: skip


@pytest.mark.parametrize("name", FREEZES)
def test_behind_a_frozen_link_every_request_is_answered_within_its_deadline(
    stack: FaultyStack,
    names: tuple[list[Account], dict[str, str]],
    figures: Figures,
    is_core: bool,
    name: str,
) -> None:
    if is_core and name not in CORE:
        pytest.skip("in full only")
    ending, asks = FREEZES[name]
    [account, *_], words = names
    links = [link for link in stack.links.ports if link.endswith(ending)]
    assert links
    rounds = CORE_ROUNDS if is_core else ROUNDS
    stack.links.freeze(*links)
    with ThreadPoolExecutor(len(asks) * rounds) as pool:
        answers = []
        for number in range(rounds):
            answers += [pool.submit(send, account, ask, words, number) for ask in asks]
            time.sleep(PAUSE_SECONDS)
        done = [answer.result() for answer in answers]
    stack.links.thaw()
    begin = time.monotonic()
    until(lambda: stack.is_ready() and account.api.call("GET", "/pages").ok, BACK_SECONDS, "it works again")
    back = time.monotonic() - begin
    over = [
        f"{seconds:.1f} s: {ask.method} {ask.path} → {status}"
        for ask, seconds, status, _ in done
        if seconds > ask.deadline_seconds + GRACE_SECONDS
    ]
    statuses = Counter(status for _, _, status, _ in done)
    slowest = max(done, key=lambda one: one[1] - one[0].deadline_seconds)
    figures.note(
        f"frozen: {name}", answers=dict(statuses), links=len(links), back=f"after {back:.1f} s",
        closest=f"{slowest[1]:.1f} s of {slowest[0].deadline_seconds:.0f} s ({slowest[0].method} {slowest[0].path})",
    )  # fmt: skip
    assert not over, over
    assert set(statuses) <= {200, 201, 409, 502, 503}, [text for *_, text in done if text]


def send(account: Account, ask: Ask, words: dict[str, str], number: int) -> tuple[Ask, float, int, str]:
    """Sends a request. Returns it with the seconds it took, the status (0 without an answer) and the text of an
    unexpected answer.
    """
    said = words | {"TEXT": uuid.uuid4().hex, "AT": from_now(days=2, minutes=number * 60)}
    body = ask.body and {
        name: said.get(value, value) if isinstance(value, str) else value for name, value in ask.body.items()
    }
    path = ask.path
    for word, value in words.items():
        path = path.replace(word, value)
    options = {} if body is None else {"json": body}
    key = uuid.uuid4().hex if ask.method == "POST" else None
    begin = time.monotonic()
    try:
        answer = account.api.call(ask.method, path, key=key, timeout=ask.deadline_seconds + 20, **options)
    except requests.RequestException as error:
        return ask, time.monotonic() - begin, 0, repr(error)
    seconds = time.monotonic() - begin
    return (
        ask,
        seconds,
        answer.status_code,
        told(answer) if answer.status_code not in (200, 201, 502, 503) else "",
    )
