"""A row that another transaction keeps locked does not delay other endpoints."""

import threading
import time
from typing import Any

import pytest
from sqlalchemy import text

PATIENCE_SECONDS = 30.0


def lock(connection: Any, table: str, condition: str) -> None:
    """Locks rows until the transaction ends, however long it is idle."""
    connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
    connection.execute(text(f"SELECT 1 FROM {table} WHERE {condition} FOR UPDATE"))


def tick_until(desk: Any, condition: Any) -> None:
    """Runs the dispatcher until the condition holds. Leaves out maintenance, which waits for locked rows."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        desk.app.dispatcher.tick()


@pytest.mark.parametrize("table", ["lanes", "deliveries"])
def test_a_locked_row_of_one_endpoint_does_not_delay_the_outcomes_of_others(
    table: str, desk: Any, receiver: Any
) -> None:
    may_answer = threading.Event()

    def respond(handler: Any, got: Any) -> None:
        if got.path == "/locked":
            may_answer.wait(PATIENCE_SECONDS)
        handler.send(200)

    receiver.respond = respond
    locked = desk.subscribe(f"{receiver.url}/locked")
    other = desk.subscribe(f"{receiver.url}/other", events=("post.published",))
    desk.arrive()
    desk.work(lambda: len(receiver.got) == 1)
    with desk.database.transaction() as connection:
        lock(connection, table, f"subscription_id = '{locked.id}'")
        may_answer.set()
        desk.work(desk.is_lock_awaited)
        desk.arrive(event="post.published")
        desk.work(lambda: desk.log(other.id, status="delivered"))
        assert desk.app.dispatcher.queues[locked.id].in_flight
    desk.settle()
    assert [one.status for one in desk.log(locked.id)] == ["delivered"]
    assert len(receiver.got) == 2


def test_a_queue_that_is_locked_is_taken_later(desk: Any, receiver: Any) -> None:
    locked, other = (desk.subscribe(f"{receiver.url}/{name}") for name in ("locked", "other"))
    desk.arrive()
    with desk.database.transaction() as connection:
        lock(connection, "lanes", f"subscription_id = '{locked.id}'")
        desk.work(lambda: desk.log(other.id, status="delivered"))
    desk.work(lambda: desk.log(locked.id, status="delivered"))


def test_a_queue_that_is_locked_is_not_given_back_and_the_others_are_renewed(
    desk: Any, receiver: Any
) -> None:
    locked, other = (desk.subscribe(f"{receiver.url}/{name}") for name in ("locked", "other"))
    desk.arrive()
    desk.settle()
    desk.execute("UPDATE lanes SET lease_until = clock_timestamp() + interval '1 minute'")
    desk.app.dispatcher.queues[locked.id].used_at -= 60
    desk.app.dispatcher.queues[other.id].used_at += 60
    with desk.database.transaction() as connection:
        lock(connection, "lanes", f"subscription_id = '{locked.id}'")
        desk.app.dispatcher.renew()
    left = "SELECT subscription_id, lease_until > clock_timestamp() + interval '2 minutes' AS is_renewed FROM lanes"
    assert {row.subscription_id: row.is_renewed for row in desk.query(left)} == {
        locked.id: False,
        other.id: True,
    }


def test_a_dropped_delivery_that_is_locked_is_marked_as_charged_later(desk: Any, receiver: Any) -> None:
    may_answer = threading.Event()

    def respond(handler: Any, got: Any) -> None:
        if got.path == "/gone":
            may_answer.wait(PATIENCE_SECONDS)
        handler.send(410 if got.path == "/gone" else 200)

    receiver.respond = respond
    gone = desk.subscribe(f"{receiver.url}/gone")
    other = desk.subscribe(f"{receiver.url}/other", events=("post.published",))
    desk.arrive(16)
    queue_of = desk.app.dispatcher.queues
    desk.work(lambda: gone.id in queue_of and len(queue_of[gone.id].in_flight) == 8)
    dropped = [one.id for one in queue_of[gone.id].ready]
    assert len(dropped) == 8
    with desk.database.transaction() as connection:
        lock(connection, "deliveries", f"id = ANY(ARRAY{dropped})")
        may_answer.set()
        tick_until(desk, lambda: not queue_of[gone.id].loaded)
        desk.arrive(event="post.published")
        tick_until(desk, lambda: desk.log(other.id, status="delivered"))
    desk.app.dispatcher.tick()
    assert {row.id for row in desk.query("SELECT id FROM deliveries WHERE charged")} == set(dropped)
