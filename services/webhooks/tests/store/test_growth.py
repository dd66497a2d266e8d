"""The number of rows that the dispatcher and maintenance read does not depend on how many deliveries wait or are
kept.
"""

import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from chassis.bus import inbox
from chassis.db.database import Compiled
from contracts.errors import ApiError
from webhooks import maintenance
from webhooks.store import endpoint_queues, retention
from webhooks.store.subscriptions import Subscriptions

#: Endpoints, each with deliveries that wait for a retry, and as many that were disabled long ago.
FEW, MANY, EACH = 4, 2_000, 10

SEED = """
WITH made AS (SELECT 'whk_' || lpad(n::text, 6, '0') AS id, n FROM generate_series({first}, {last}) AS n),
accounts AS (INSERT INTO accounts (id, tier) VALUES ('usr_seed', 'pro') ON CONFLICT DO NOTHING),
subscriptions AS (
    INSERT INTO subscriptions (id, account_id, name, url, events, brand_ids, status, created_at)
    SELECT id, 'usr_seed', '', 'http://127.0.0.1:9/', '{{}}', '{{}}',
        CASE WHEN n % 2 = 0 THEN 'disabled' ELSE 'active' END, clock_now() FROM made),
lanes AS (INSERT INTO lanes (subscription_id) SELECT id FROM made),
secrets AS (
    INSERT INTO secrets (id, subscription_id, secret, created_at) SELECT 'sec' || id, id, '', clock_now() FROM made),
events AS (
    INSERT INTO events (id, event, body, received_at) SELECT 'evt' || id, 'post.failed', '', clock_now() FROM made),
asks AS (
    INSERT INTO asks (operation_id, subscription_id, delivery_id, created_at) SELECT id, id, id, clock_now() FROM made)
INSERT INTO deliveries (subscription_id, id, event_id, event, state, due_at, created_at)
SELECT id, 'dlv_' || lpad(m::text, 6, '0'), 'evt_seed', 'post.failed',
    CASE WHEN n % 2 = 0 THEN 'failed' ELSE 'pending' END, clock_now() + interval '1 hour', clock_now()
FROM made, generate_series(1, {each}) AS m
"""


class Cost:
    """Measures statements by EXPLAIN ANALYZE."""

    def __init__(self, desk: Any) -> None:
        self.desk = desk

    def of(self, statement: Compiled, parameters: dict[str, Any]) -> tuple[int, int]:
        """Returns (buffers, rows) that the statement reads, on a connection that has run it before."""
        explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement._text}"
        with self.desk.database.reading() as connection:
            statement.run(connection, parameters)
            [explained] = connection.exec_driver_sql(explain, statement._constants | parameters).scalar_one()
        plan = explained["Plan"]
        return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], sum(rows_of(plan))


def rows_of(plan: Any) -> Iterator[int]:
    if "Relation Name" in plan and plan["Node Type"] != "ModifyTable":
        yield (plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"]
    for below in plan.get("Plans", ()):
        yield from rows_of(below)


def seed(desk: Any, first: int, last: int) -> None:
    desk.execute(SEED.format(first=first, last=last, each=EACH))


@pytest.fixture
def cost(desk: Any) -> Cost:
    return Cost(desk)


#: The statements of each tick, and those of maintenance, every few seconds.
TICKS: dict[str, tuple[Compiled, dict[str, Any]]] = {
    "look": (endpoint_queues._LOOK, {"held": [], "busy": []}),
    "make ready": (endpoint_queues._MAKE_READY, {"limit": 1_000}),
    "backlog": (Compiled(endpoint_queues._BACKLOG), {}),
}
AGE = {"age": timedelta(days=30), "limit": 500}
CHORES: dict[str, tuple[Compiled, dict[str, Any]]] = {
    "fail of disabled": (Compiled(retention._FAIL_OF_DISABLED), {"limit": 5_000}),
    "end": (Compiled(retention._END), {}),
    "remove of deleted": (Compiled(retention._REMOVE_OF_DELETED), {"limit": 500}),
    "remove deliveries": (Compiled(retention._REMOVE_DELIVERIES), AGE),
    "remove events": (Compiled(retention._REMOVE_EVENTS), AGE),
    "remove asks": (Compiled(retention._REMOVE_ASKS), AGE),
    "remove secrets": (Compiled(retention._REMOVE_SECRETS), AGE),
    "remove subscriptions": (Compiled(retention._REMOVE_SUBSCRIPTIONS), AGE),
    "forget the inbox": (Compiled(inbox._FORGET), {}),
}


@pytest.mark.parametrize("is_analyzed", [False, True])
def test_what_a_tick_reads_does_not_grow_with_what_waits_for_a_retry(
    desk: Any, cost: Cost, is_analyzed: bool
) -> None:
    seed(desk, 1, FEW)
    few = {name: cost.of(*TICKS[name]) for name in TICKS}
    seed(desk, FEW + 1, MANY)
    if is_analyzed:
        desk.execute("ANALYZE")
    many = {name: cost.of(*TICKS[name]) for name in TICKS}
    for name, (buffers, rows) in many.items():
        assert rows <= few[name][1], name
        assert buffers <= few[name][0] + 10, name  # the indexes are a page deeper


def test_a_look_reads_one_delivery_of_each_endpoint_with_something_due(desk: Any, cost: Cost) -> None:
    seed(desk, 1, MANY)
    desk.execute(
        "UPDATE deliveries SET ready = true, due_at = clock_now() WHERE subscription_id < 'whk_000008'"
    )
    desk.execute("ANALYZE")
    _, rows = cost.of(*TICKS["look"])
    assert rows <= 4 * 5  # also its subscription, queue and secrets, and the planner's first rows


def test_chores_read_only_what_they_take_away(desk: Any, cost: Cost) -> None:
    seed(desk, 1, MANY)
    desk.execute("INSERT INTO inbox (event_id) SELECT 'evt_' || n FROM generate_series(1, 5000) AS n")
    desk.execute("ANALYZE")
    read = {name: cost.of(*CHORES[name]) for name in CHORES}
    assert {name: rows for name, (_, rows) in read.items() if rows > 1} == {}
    assert {name: buffers for name, (buffers, _) in read.items() if buffers > 12} == {}


def test_maintenance_locks_no_delivery_while_it_waits_for_a_subscription(desk: Any) -> None:
    made = desk.subscribe("https://hooks.example.com/")
    desk.arrive(2)
    desk.execute("UPDATE subscriptions SET status = 'disabled', ending = true")

    def end_deliveries() -> None:
        with suppress(ApiError):  # it waits for 5 s at most
            maintenance.end_deliveries(desk.app)

    ending = threading.Thread(target=end_deliveries)
    with desk.database.transaction() as connection:  # locks as a replay does
        Subscriptions(connection).lock(made.id)
        ending.start()
        while not desk.is_lock_awaited():
            assert ending.is_alive()
        connection.execute(text("SELECT 1 FROM deliveries FOR UPDATE NOWAIT"))
    ending.join()
    assert {one.status for one in desk.log(made.id)} == {"failed"}


def test_what_waits_for_a_retry_is_tried_when_its_time_has_come(desk: Any, receiver: Any) -> None:
    receiver.respond_with(500)
    made = desk.subscribe(receiver.url)
    desk.arrive()
    desk.settle()
    assert [row.ready for row in desk.query("SELECT ready FROM deliveries")] == [False]
    receiver.respond_with(200)
    desk.shift(31)
    desk.work(lambda: desk.log(made.id)[0].status == "delivered")


def test_a_delivery_stored_before_1_4_0_is_tried_at_its_time(desk: Any, receiver: Any) -> None:
    made = desk.subscribe(receiver.url)
    desk.arrive(3)
    desk.execute("UPDATE deliveries SET ready = false")  # it does not know the column
    desk.work(lambda: len(desk.log(made.id, status="delivered")) == 3)


def test_what_arrives_for_a_subscription_after_its_end_fails_as_well(desk: Any, receiver: Any) -> None:
    receiver.respond_with(410)
    made = desk.subscribe(receiver.url)
    desk.arrive()
    desk.settle()
    maintenance.end_deliveries(desk.app)
    desk.execute(
        "UPDATE subscriptions SET status = 'active'"
    )  # as a transaction saw it that began before the end
    desk.arrive()
    desk.execute("UPDATE subscriptions SET status = 'disabled'")
    desk.work(lambda: [delivery.status for delivery in desk.log(made.id)] == ["failed"] * 2)
    assert len(receiver.got) == 1
