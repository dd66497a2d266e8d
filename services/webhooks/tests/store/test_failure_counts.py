"""Consecutive failures follow the order of the answers, whatever the order in which they are recorded."""

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from contracts import webhooks as api
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from webhooks.dispatch import outcome_writer
from webhooks.management import subscriptions
from webhooks.store.endpoint_queues import Lanes


class Blip:
    """A database that takes the outcome of some deliveries only once the blip is over."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._record = Lanes.record
        #: Deliveries whose outcomes wait; None: of every delivery that is not in `lets_through`.
        self.lets_through: set[str] = set()
        self.refused: set[str] = set()
        self.over = threading.Event()
        monkeypatch.setattr(outcome_writer, "_PAUSE_SECONDS", 0.005)
        monkeypatch.setattr(Lanes, "record", lambda store, *arguments: self.record(store, *arguments))

    def record(self, store: Lanes, settled: Any, *rest: Any) -> Any:
        held = {one.id for one in settled} - self.lets_through
        if held and not self.over.is_set():
            self.refused |= held
            raise ApiError(SERVICE_UNAVAILABLE)
        return self._record(store, settled, *rest)


@pytest.fixture
def blip(monkeypatch: pytest.MonkeyPatch) -> Blip:
    return Blip(monkeypatch)


def attempt(desk: Any, receiver: Any, status: int, until: Callable[[str], bool]) -> str:
    """Makes an attempt that is answered with `status`; its delivery's id, when that one is as it shall be."""
    receiver.respond_with(status)
    known = {row.id for row in desk.query("SELECT id FROM deliveries")}
    desk.arrive()
    (new,) = {str(row.id) for row in desk.query("SELECT id FROM deliveries")} - known
    desk.work(lambda: until(new))
    return new


def logged(desk: Any) -> Callable[[str], bool]:
    return lambda id_: bool(desk.query("SELECT FROM attempts WHERE delivery_id = :id", id=id_))


def held_up(desk: Any, receiver: Any, blip: Blip, status: int) -> str:
    """An attempt whose outcome the database does not take for now."""
    return attempt(desk, receiver, status, lambda id_: id_ in blip.refused)


def recorded(desk: Any, receiver: Any, blip: Blip, status: int) -> str:
    """An attempt whose outcome the database takes at once."""

    def let_through(id_: str) -> bool:
        blip.lets_through.add(id_)
        return logged(desk)(id_)

    return attempt(desk, receiver, status, let_through)


def end(desk: Any, blip: Blip, *delivery_ids: str) -> None:
    """The blip is over, and what waited has been recorded."""
    blip.over.set()
    desk.work(lambda: all(map(logged(desk), delivery_ids)))
    desk.settle()


def test_a_failure_recorded_after_a_later_success_is_not_counted(
    desk: Any, receiver: Any, blip: Blip
) -> None:
    made = desk.subscribe(receiver.url)
    failed = held_up(desk, receiver, blip, 500)
    recorded(desk, receiver, blip, 200)
    end(desk, blip, failed)
    assert desk.show(made.id).consecutive_failures == 0


def test_a_success_recorded_after_later_failures_does_not_reset_them(
    desk: Any, receiver: Any, blip: Blip
) -> None:
    made = desk.subscribe(receiver.url)
    acknowledged = held_up(desk, receiver, blip, 200)
    recorded(desk, receiver, blip, 500)
    recorded(desk, receiver, blip, 500)
    end(desk, blip, acknowledged)
    shown = desk.show(made.id)
    assert shown.consecutive_failures == 2
    assert shown.last_delivery_at is not None


def test_an_edit_while_failures_wait_to_be_recorded_loses_none_of_them(
    desk: Any, receiver: Any, blip: Blip
) -> None:
    made = desk.subscribe(receiver.url)
    waiting = [held_up(desk, receiver, blip, 500) for _ in range(3)]
    subscriptions.edit(desk.house, desk.caller(), api.EditSubscription(id=made.id, name="Renamed"))
    last = recorded(desk, receiver, blip, 500)
    end(desk, blip, *waiting, last)
    assert desk.show(made.id).consecutive_failures == 4


def test_what_was_answered_before_an_enabling_counts_nothing_after_it(
    desk: Any, receiver: Any, blip: Blip
) -> None:
    made = desk.subscribe(receiver.url)
    desk.execute("UPDATE lanes SET consecutive_failures = 19")
    failed = held_up(desk, receiver, blip, 500)
    subscriptions.enable(desk.house, desk.caller(), api.SubscriptionId(id=made.id))
    end(desk, blip, failed)
    shown = desk.show(made.id)
    assert (shown.status, shown.consecutive_failures) == ("active", 0)


@pytest.mark.parametrize("seed", range(8))
def test_in_any_order_of_recording_the_newest_answer_says_how_many_failed(
    desk: Any, receiver: Any, blip: Blip, seed: int
) -> None:
    chance = random.Random(seed)
    made = desk.subscribe(receiver.url)
    statuses = [chance.choice((200, 500)) for _ in range(6)]
    waiting = [held_up(desk, receiver, blip, status) for status in statuses]
    for delivery_id in chance.sample(waiting, len(waiting)):
        blip.lets_through.add(delivery_id)
        desk.work(lambda id_=delivery_id: logged(desk)(id_))
    failures = next((n for n, status in enumerate(reversed(statuses)) if status == 200), len(statuses))
    assert desk.show(made.id).consecutive_failures == failures
