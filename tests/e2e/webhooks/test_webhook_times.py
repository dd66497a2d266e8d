"""Tests the times of webhooks with the clock shift: retries, disabled subscriptions, the end of old secrets and of
logs.
"""

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
import requests
from e2e_kit.api import error_code, instant
from e2e_kit.operator import Account, Accounts, Clock
from e2e_kit.posting import Conversation
from e2e_kit.receiver import Answer, Arrival, Receiver, await_delivery, deliveries, subscribe
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until

from posthaste import webhooks

pytestmark = pytest.mark.alone

#: Spec "Delivery rules" 2.
WAITS = tuple(dt.timedelta(seconds=seconds) for seconds in (30, 120, 600, 1_800, 7_200))
#: Issue "Must show": all within +5 %, never early.
LATE = 1.05
#: Real time before each attempt in which an early attempt would be noticed.
BEFORE = dt.timedelta(seconds=2)
#: Of a free account (spec "Limits").
DELIVERIES_A_MONTH = 2_000


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def path() -> str:
    return f"/{uuid.uuid4().hex}"


@pytest.fixture
def talk(account: Account, simulator: Simulator) -> Conversation:
    return Conversation(account, simulator)


def failures(account: Account, webhook: Any) -> int:
    count: int = account.api.get(f"/webhooks/{webhook['id']}")["consecutive_failures"]
    return count


def test_retries_come_at_their_times_and_never_early(
    talk: Conversation, clock: Clock, receiver: Receiver, path: str
) -> None:
    receiver.answers(path, Answer(503))
    webhook = subscribe(talk.account, receiver.url(path))
    talk.reply()
    for number in range(1, len(WAITS) + 1):
        receiver.await_arrivals(path, number)
        waiting = await_logged(talk.account, webhook, number)
        assert len(receiver.arrivals(path)) == number
        clock.shift_to(instant(waiting["next_attempt_at"]) - BEFORE)
    arrivals = receiver.await_arrivals(path, len(WAITS) + 1)
    failed = await_logged(talk.account, webhook, len(WAITS) + 1)
    assert (failed["status"], failed["next_attempt_at"]) == ("failed", None)
    times = [instant(attempt["at"]) for attempt in failed["attempts"]]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    print("waits", [round(gap.total_seconds(), 2) for gap in gaps])
    assert all(wait <= gap <= wait * LATE for wait, gap in zip(WAITS, gaps, strict=True)), gaps
    assert len({one.verified(webhook["secret"]).id for one in arrivals}) == 1
    assert [one.headers["x-svc-attempt"] for one in arrivals] == ["1", "2", "3", "4", "5", "6"]


def await_logged(account: Account, webhook: Any, attempts: int) -> Any:
    """Waits until the log shows this number of attempts at the subscription's only delivery."""

    def look() -> Any:
        [delivery] = deliveries(account, webhook["id"])
        return delivery if len(delivery["attempts"]) == attempts else None

    return until(look, 10, f"{attempts} attempts are in the log")


@pytest.mark.prompt
def test_twenty_failures_in_a_row_disable_a_subscription_nineteen_do_not(
    talk: Conversation, clock: Clock, receiver: Receiver, path: str
) -> None:
    account, webhook = talk.account, subscribe(talk.account, receiver.url(path))

    def fail(count: int) -> None:
        before = len(receiver.arrivals(path))
        for _ in range(count):
            talk.reply()
        receiver.await_arrivals(path, before + count)

    def shown() -> Any:
        return account.api.get(f"/webhooks/{webhook['id']}")

    receiver.answers(path, Answer(500))
    fail(19)
    until(lambda: failures(account, webhook) == 19, 30, "19 failures are counted")
    assert shown()["status"] == "active"
    receiver.answers(path, Answer(200))
    talk.reply()
    until(lambda: failures(account, webhook) == 0, 30, "a success sets the count to zero")
    receiver.answers(path, Answer(500))
    fail(19)
    until(lambda: failures(account, webhook) == 19, 30, "19 failures are counted")
    assert shown()["status"] == "active"
    fail(1)
    until(lambda: shown()["status"] == "disabled", 30, "the 20th disables")
    assert shown()["disabled_reason"]
    tried = len(receiver.arrivals(path))
    assert tried == 40
    clock.shift(hours=3)  # all retries would be due by now
    talk.reply()
    other = subscribe(account, receiver.url(f"{path}/other"))
    talk.reply()
    receiver.await_arrivals(f"{path}/other", 1)
    assert other["id"] != webhook["id"]
    assert len(receiver.arrivals(path)) == tried


def test_an_old_secret_signs_for_24_hours(
    talk: Conversation, clock: Clock, receiver: Receiver, path: str
) -> None:
    webhook = subscribe(talk.account, receiver.url(path))
    rotated = talk.account.api.post(f"/webhooks/{webhook['id']}/rotate-secret", status=200)
    ends_at = instant(rotated["previous_secret_expires_at"])
    assert abs(ends_at - clock.now() - dt.timedelta(hours=24)) < dt.timedelta(seconds=5)
    clock.shift_to(ends_at - dt.timedelta(minutes=1))
    talk.reply()
    [arrival] = receiver.await_arrivals(path, 1)
    assert arrival.verified(webhook["secret"]) == arrival.verified(rotated["secret"])
    clock.shift_to(ends_at + dt.timedelta(seconds=1))
    talk.reply()
    arrival = receiver.await_arrivals(path, 2)[-1]
    arrival.verified(rotated["secret"])
    assert arrival.signature.count("sha256=") == 1
    with pytest.raises(webhooks.SignatureMismatch):
        arrival.verified(webhook["secret"])


def test_the_log_is_kept_for_30_days(talk: Conversation, clock: Clock, receiver: Receiver, path: str) -> None:
    webhook = subscribe(talk.account, receiver.url(path))
    talk.reply()
    delivery = await_delivery(talk.account, webhook["id"], status="delivered")
    clock.shift_to(instant(delivery["created_at"]) + dt.timedelta(days=29, hours=23))
    talk.reply("later")
    until(
        lambda: len(deliveries(talk.account, webhook["id"], status="delivered")) == 2,
        10,
        "both are in the log",
    )
    clock.shift(hours=2)
    until(lambda: len(deliveries(talk.account, webhook["id"])) == 1, 90, "the older one is gone")
    replay = f"/webhooks/{webhook['id']}/deliveries/{delivery['id']}/replay"
    assert talk.account.api.call("POST", replay, json={}).status_code == 404


def test_with_the_months_deliveries_used_up_they_are_skipped_and_can_be_replayed(
    accounts: Accounts, clock: Clock, simulator: Simulator, receiver: Receiver, path: str
) -> None:
    """Uses a free account: 20 subscriptions get 100 events each, at ten requests a minute."""
    account = accounts.new(tier="free", pages=("FB",))
    patient(account, clock)
    talk = Conversation(account, simulator)
    made = [subscribe(account, receiver.url(f"{path}/{number}")) for number in range(20)]
    account.api.patch(f"/webhooks/{made[0]['id']}", {"events": ["comment.replied", "account.quota.warning"]})
    for _ in range(DELIVERIES_A_MONTH // len(made)):
        talk.reply()
    until(lambda: used(account) >= DELIVERIES_A_MONTH, 90, "all are counted")
    until(lambda: len(came(receiver, path)) == DELIVERIES_A_MONTH, 30, "all are delivered")
    [warning] = [one for one in came(receiver, path) if one.headers["x-svc-event"] == "account.quota.warning"]
    said = warning.verified(made[0]["secret"]).data
    assert (said["bucket"], said["limit"], said["percent"]) == ("webhooks", DELIVERIES_A_MONTH, 80)
    reply = talk.reply("one too many")
    skipped = await_delivery(account, made[1]["id"], seconds=30, status="skipped")
    assert (skipped["attempts"], skipped["next_attempt_at"]) == ([], None)
    assert (used(account), len(came(receiver, path))) == (DELIVERIES_A_MONTH, DELIVERIES_A_MONTH)
    clock.shift_to(next_month(clock.now()))
    account.api.post(f"/webhooks/{made[1]['id']}/deliveries/{skipped['id']}/replay", status=202)
    until(lambda: len(came(receiver, path)) > DELIVERIES_A_MONTH, 30, "the replay is delivered")
    last = came(receiver, path)[-1]
    assert last.verified(made[1]["secret"]).data["reply"]["id"] == reply["id"]
    assert used(account) == 1


def came(receiver: Receiver, path: str) -> list[Arrival]:
    """Returns the requests to this path and to paths below it."""
    return [one for one in receiver.arrivals() if one.path.startswith(path)]


def used(account: Account) -> int:
    count: int = account.api.get("/account")["quota"]["monthly"]["webhooks"]["used"]
    return count


def next_month(now: dt.datetime) -> dt.datetime:
    return (now.replace(day=1, hour=0, minute=0, second=0, microsecond=0) + dt.timedelta(days=32)).replace(
        day=1, minute=1
    )


def patient(account: Account, clock: Clock) -> None:
    """Makes the account's client shift the clock to the next minute when the minute's requests are used up."""
    call: Callable[..., requests.Response] = account.api.call

    def patiently(method: str, path: str, **options: Any) -> requests.Response:
        while error_code(answer := call(method, path, **options)) == "RATE_LIMITED":
            clock.shift(seconds=60)
        return answer

    account.api.call = patiently  # type: ignore[method-assign]
