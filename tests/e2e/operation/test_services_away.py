"""While a service or the broker is stopped, every request is answered within about two seconds, before its deadline.

With `FULL_SIZE=1 ./dev test tests/e2e/operation/test_services_away.py -rP` each service is stopped in turn, and the
times of the answers are printed.
"""

import os
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest
from e2e_kit.api import refused
from e2e_kit.files import put_in_parts
from e2e_kit.operator import Account, Accounts
from e2e_kit.posting import from_now
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

pytestmark = pytest.mark.alone

#: Time until a stopped service is recognised, and an allowance for a busy machine.
NOTICED_SECONDS, BUSY_SECONDS = 2.0, 1.0
#: Time after which refusals come at once.
AT_ONCE_SECONDS = 1.0
BACK_SECONDS = 60.0
READS = ("/me", "/pages", "/media", "/ai/jobs", "/webhooks", "/posts/scheduled")
#: The broker and three services are enough: one that some requests need, and two that every request needs.
USUAL = ("accounts", "quota", "publishing", "rabbitmq")
NAMES = (*USUAL, "media", "ai", "webhooks")


class Answer(NamedTuple):
    path: str
    status: int
    seconds: float


@pytest.mark.parametrize("name", NAMES)
def test_while_a_service_is_away_every_request_is_answered_within_about_two_seconds(
    accounts: Accounts, stack: Stack, name: str
) -> None:
    if name not in USUAL and not os.environ.get("FULL_SIZE"):
        pytest.skip("FULL_SIZE is not set: it goes the way of publishing")
    known, unknown = (accounts.new(pool_size=20) for _ in range(2))
    until(lambda: ask(known, "/pages").status == 200, BACK_SECONDS, "all is well before")
    with stack.held_down(name):
        first = ask_all(known, unknown)
        again = ask_all(known)
    stack.await_ready(BACK_SECONDS)
    until(lambda: ask(known, "/pages").status == 200, BACK_SECONDS, "it works again")
    for who, answers in (
        ("a known caller", first[::2]),
        ("an unknown caller", first[1::2]),
        ("again", again),
    ):
        print(f"{name} away, {who}: {told(answers)}")
    assert {answer.status for answer in first} <= {200, 201, 503}
    assert 503 in {answer.status for answer in first}
    late = [answer for answer in first if answer.seconds > NOTICED_SECONDS + BUSY_SECONDS]
    late += [answer for answer in again if answer.seconds > AT_ONCE_SECONDS + BUSY_SECONDS]
    assert not late


def test_an_upload_is_refused_within_about_two_seconds_while_media_is_away_and_completed_when_it_is_back(
    accounts: Accounts, stack: Stack, mp4: bytes
) -> None:
    """The gateway repeats its call that completes the upload for up to two minutes while media is busy."""
    api = accounts.new().api
    path, parts = put_in_parts(api, mp4)
    with stack.held_down("media"):
        for allowed_seconds in (NOTICED_SECONDS, AT_ONCE_SECONDS):
            begin = time.monotonic()
            answer = api.call("POST", path, json=parts, timeout=30)
            assert time.monotonic() - begin < allowed_seconds + BUSY_SECONDS
            refused(answer, 503, "SERVICE_UNAVAILABLE", retry_after_seconds=1)
            assert answer.headers["Retry-After"] == "1"
    # Each of the gateway's processes learns by itself that media is back, so that one of them may refuse once more.
    until(lambda: api.call("POST", path, json=parts).status_code != 503, BACK_SECONDS, "media is back")
    assert api.post(path, parts)["type"] == "video"


def ask(account: Account, path: str) -> Answer:
    begin = time.monotonic()
    if path == "/posts/schedule":
        body = {"page_id": account.page_id(), "message": uuid.uuid4().hex, "scheduled_at": from_now(days=2)}
        answer = account.api.call("POST", path, json=body, key=uuid.uuid4().hex)
    else:
        answer = account.api.call("GET", path)
    return Answer(path, answer.status_code, time.monotonic() - begin)


def ask_all(*of: Account) -> list[Answer]:
    """Sends all requests at the same time, so that none is answered faster because another one has failed before. The
    accounts take turns.
    """
    asks = [(account, path) for path in (*READS, "/posts/schedule") for account in of]
    with ThreadPoolExecutor(len(asks)) as pool:
        return list(pool.map(lambda one: ask(*one), asks))


def told(answers: list[Answer]) -> str:
    refused = [answer for answer in answers if answer.status == 503]
    slowest = max(answers, key=lambda answer: answer.seconds)
    return (
        f"{dict(Counter(answer.status for answer in answers))}, {len(refused)} refused, "
        f"slowest {slowest.seconds:.2f} s ({slowest.path})"
    )
