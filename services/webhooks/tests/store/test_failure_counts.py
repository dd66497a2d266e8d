"""Failures in a row are counted once each, in the order of the answers, even while the database fails."""

import random
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from contracts import webhooks as api
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from webhooks.dispatch import outcome_writer
from webhooks.dispatch.outcome_writer import OutcomeWriter
from webhooks.management import subscriptions
from webhooks.records import DueDelivery, Outcome
from webhooks.store.endpoint_queues import EndpointQueues

LEASE_SECONDS, PATIENCE_SECONDS = 8.0, 30.0


class Outage:
    """A database that records no outcome until the outage is over."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._record = EndpointQueues.record
        self.refused: set[str] = set()
        self.over = threading.Event()
        monkeypatch.setattr(outcome_writer, "_PAUSE_SECONDS", 0.005)
        monkeypatch.setattr(
            EndpointQueues, "record", lambda store, *arguments: self.record(store, *arguments)
        )

    def record(self, store: EndpointQueues, outcomes: Any, lease_seconds: float) -> Any:
        if not self.over.is_set():
            self.refused |= {one.delivery_id for one in outcomes}
            raise ApiError(SERVICE_UNAVAILABLE)
        return self._record(store, outcomes, lease_seconds)


@pytest.fixture
def outage(monkeypatch: pytest.MonkeyPatch) -> Outage:
    return Outage(monkeypatch)


def answer(desk: Any, receiver: Any, status: int) -> str:
    """Makes an attempt that is answered with `status`. Returns the id of its delivery."""
    receiver.respond_with(status)
    known = {row.id for row in desk.query("SELECT id FROM deliveries")}
    count = len(receiver.got)
    desk.arrive()
    (new,) = {str(row.id) for row in desk.query("SELECT id FROM deliveries")} - known
    desk.work(lambda: len(receiver.got) == count + 1 and receiver.at_once == 0)
    return new


def answer_first(desk: Any, receiver: Any, outage: Outage, status: int) -> str:
    """Does the same as `answer`, and then waits until the database has refused the outcome. Later answers come after
    this one.
    """
    new = answer(desk, receiver, status)
    desk.work(lambda: new in outage.refused)
    return new


def end(desk: Any, outage: Outage, count: int) -> None:
    """Ends the outage, and waits until `count` outcomes are recorded."""
    outage.over.set()
    desk.work(lambda: desk.query("SELECT count(*) FROM attempts")[0][0] == count)
    desk.settle()


def test_a_success_after_a_failure_resets_the_count_also_when_both_wait_for_the_database(
    desk: Any, receiver: Any, outage: Outage
) -> None:
    made = desk.subscribe(receiver.url)
    answer_first(desk, receiver, outage, 500)
    answer(desk, receiver, 200)
    end(desk, outage, 2)
    assert desk.show(made.id).consecutive_failures == 0


def test_failures_after_a_success_count_also_when_all_wait_for_the_database(
    desk: Any, receiver: Any, outage: Outage
) -> None:
    made = desk.subscribe(receiver.url)
    answer_first(desk, receiver, outage, 200)
    answer(desk, receiver, 500)
    answer(desk, receiver, 500)
    end(desk, outage, 3)
    shown = desk.show(made.id)
    assert shown.consecutive_failures == 2
    assert shown.last_delivery_at is not None


def test_an_edit_while_failures_wait_to_be_recorded_loses_none_of_them(
    desk: Any, receiver: Any, outage: Outage
) -> None:
    made = desk.subscribe(receiver.url)
    answer_first(desk, receiver, outage, 500)
    answer(desk, receiver, 500)
    subscriptions.edit(desk.app, desk.caller(), api.EditSubscription(id=made.id, name="Renamed"))
    answer(desk, receiver, 500)
    end(desk, outage, 3)
    assert desk.show(made.id).consecutive_failures == 3


@pytest.mark.parametrize("status", [500, 410])
def test_what_was_answered_before_an_enabling_counts_nothing_after_it(
    desk: Any, receiver: Any, outage: Outage, status: int
) -> None:
    made = desk.subscribe(receiver.url)
    desk.execute("UPDATE lanes SET consecutive_failures = 19")
    answer_first(desk, receiver, outage, status)
    subscriptions.enable(desk.app, desk.caller(), api.SubscriptionId(id=made.id))
    end(desk, outage, 1)
    shown = desk.show(made.id)
    assert (shown.status, shown.consecutive_failures) == ("active", 0)


@pytest.fixture
def load(desk: Any) -> Callable[[int], tuple[str, int, list[DueDelivery]]]:
    """Loads new deliveries of a new subscription as a dispatcher does: (subscription, fence, deliveries)."""

    def loaded(count: int) -> tuple[str, int, list[DueDelivery]]:
        made = desk.subscribe("https://hooks.example.com/")
        desk.arrive(count)
        with desk.database.reading() as connection:
            store = EndpointQueues(connection)
            ((_, fence, _),) = store.take([made.id], LEASE_SECONDS)
            return made.id, fence, store.load({made.id: count}, [])

    return loaded


def outcome(due: DueDelivery, fence: int, status: int) -> Outcome:
    now = time.monotonic()
    return Outcome(
        subscription_id=due.subscription_id,
        delivery_id=due.id,
        fence=fence,
        enabled_count=0,
        number=due.attempts + 1,
        due_at=due.due_at,
        began_at=now - 0.1,
        answered_at=now,
        status_code=status,
        error=None if status < 300 else "status",
        answer="",
        retry_wait=30.0,
    )


def record(desk: Any, outcomes: list[Outcome]) -> Any:
    with desk.database.reading() as connection:
        return EndpointQueues(connection).record(outcomes, LEASE_SECONDS)


@pytest.mark.parametrize("seed", range(8))
def test_the_count_is_the_failures_since_the_last_success_however_outcomes_are_batched_or_repeated(
    desk: Any, load: Any, seed: int
) -> None:
    chance = random.Random(seed)
    subscription_id, fence, due = load(30)
    statuses = [chance.choice((200, 500, 500)) for _ in due]
    waiting = [outcome(one, fence, status) for one, status in zip(due, statuses, strict=True)]
    while waiting:
        size = chance.randint(1, 6)
        batch, waiting = waiting[:size], waiting[size:]
        for _ in range(chance.randint(1, 2)):  # a commit that seemed to fail is repeated
            record(desk, batch)
    failures = next((n for n, status in enumerate(reversed(statuses)) if status == 200), len(statuses))
    assert desk.show(subscription_id).consecutive_failures == failures


def test_a_repeated_statement_that_overlaps_its_first_run_counts_each_failure_once(
    desk: Any, load: Any
) -> None:
    subscription_id, fence, due = load(8)
    answered_at = time.monotonic() + PATIENCE_SECONDS
    batch = [outcome(one, fence, 500)._replace(answered_at=answered_at) for one in due]
    writer = OutcomeWriter(desk.database, LEASE_SECONDS)
    repeated = threading.Thread(target=writer.write, args=(batch,))
    with desk.database.transaction() as connection:  # the connection is lost, the server goes on
        EndpointQueues(connection).record(batch, LEASE_SECONDS)
        repeated.start()
        while not desk.is_lock_awaited():
            assert repeated.is_alive()
    repeated.join()
    assert desk.show(subscription_id).consecutive_failures == 8


def test_an_outcome_younger_than_a_lease_is_kept_although_an_older_one_waits_with_it(
    desk: Any, load: Any, outage: Outage
) -> None:
    subscription_id, fence, due = load(2)
    old, young = (outcome(one, fence, 500) for one in due)
    old = old._replace(answered_at=old.answered_at - 2 * LEASE_SECONDS)
    young = young._replace(answered_at=young.answered_at + PATIENCE_SECONDS)
    writer = OutcomeWriter(desk.database, LEASE_SECONDS)
    writing = threading.Thread(target=writer.write, args=([old, young],))
    writing.start()
    desk.work(lambda: young.delivery_id in outage.refused)
    outage.over.set()
    writing.join()
    assert desk.show(subscription_id).consecutive_failures == 2


def test_a_disabling_whose_commit_seems_to_fail_ends_the_attempts(
    desk: Any, receiver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, failed = EndpointQueues.record, threading.Event()

    def record_and_fail(store: EndpointQueues, *arguments: Any) -> Any:
        recorded = record(store, *arguments)
        if not failed.is_set():
            failed.set()
            raise ApiError(SERVICE_UNAVAILABLE)
        return recorded

    monkeypatch.setattr(EndpointQueues, "record", record_and_fail)
    receiver.respond_with(410)
    made = desk.subscribe(receiver.url)
    desk.arrive(16)
    desk.app.dispatcher.tick()
    assert failed.wait(PATIENCE_SECONDS)
    (queue,) = desk.app.dispatcher.queues.values()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while queue.loaded:  # without a tick, which would read that the subscription is disabled
        assert time.monotonic() < deadline
    desk.settle()
    assert desk.show(made.id).disabled_reason == "gone"
    assert len(receiver.got) <= 8


def test_the_20th_failure_in_a_row_disables_and_the_19th_does_not(desk: Any, load: Any) -> None:
    subscription_id, fence, due = load(20)
    for one in due[:19]:
        record(desk, [outcome(one, fence, 500)])
    assert desk.show(subscription_id).status == "active"
    recorded = record(desk, [outcome(due[19], fence, 500)])
    assert recorded[due[19].id].disabled_reason == "consecutive_failures"
    assert recorded[due[19].id].state == "failed"
    assert desk.show(subscription_id).status == "disabled"


def test_an_earlier_holder_of_a_queue_records_nothing(desk: Any, load: Any) -> None:
    subscription_id, fence, (due,) = load(1)
    desk.execute("UPDATE lanes SET fence = fence + 1")
    assert record(desk, [outcome(due, fence, 410)]) == {}
    assert desk.show(subscription_id).status == "active"
    assert desk.query("SELECT 1 FROM attempts") == []


def test_a_failure_for_lack_of_a_local_resource_is_logged_and_not_counted(desk: Any, load: Any) -> None:
    subscription_id, fence, (due,) = load(1)
    recorded = record(desk, [outcome(due, fence, 500)._replace(status_code=None, is_local=True)])
    assert (recorded[due.id].state, recorded[due.id].failures) == ("pending", 0)
    assert desk.show(subscription_id).consecutive_failures == 0
