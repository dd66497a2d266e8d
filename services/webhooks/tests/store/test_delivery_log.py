"""The log of deliveries: what it shows, and how long it is kept."""

import socket
from typing import Any

import pytest

from contracts import webhooks as api
from webhooks import maintenance
from webhooks.management import deliveries, subscriptions


def test_an_acknowledged_delivery_is_in_the_log_with_its_attempt(
    desk: Any, receiver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = socket.create_connection
    monkeypatch.setattr(  # a receiver on the public internet: of others no answer is kept
        socket, "create_connection", lambda address, timeout: connect(receiver.server_address, timeout)
    )
    receiver.respond = lambda handler, got: handler.send(202, b"\x00" + b"thanks " * 3_000)
    made = desk.subscribe("http://93.184.216.34/")
    desk.arrive()
    desk.settle()
    (delivery,) = desk.log(made.id)
    (attempt,) = delivery.attempts
    assert (delivery.status, delivery.next_attempt_at) == ("delivered", None)
    assert (attempt.status_code, attempt.error) == (202, None)
    assert attempt.answer.startswith("\N{REPLACEMENT CHARACTER}thanks ")
    assert len(attempt.answer) == 1_024
    assert desk.show(made.id).last_delivery_at is not None


def test_the_log_is_listed_newest_first_by_status_and_page(desk: Any, receiver: Any) -> None:
    made = desk.subscribe(receiver.url)
    for _ in range(5):
        desk.arrive()
    desk.settle()
    desk.execute(
        "UPDATE deliveries SET state = 'failed' WHERE id IN (SELECT id FROM deliveries ORDER BY id LIMIT 2)"
    )
    everything = [delivery.id for delivery in desk.log(made.id)]
    assert everything == sorted(everything, reverse=True)
    assert [delivery.id for delivery in desk.log(made.id, status="failed")] == everything[3:]
    request = api.ListDeliveries(id=made.id, limit=2)
    first = deliveries.show_list(desk.app, desk.caller(), request)
    request = api.ListDeliveries(id=made.id, limit=3, cursor=first.next_cursor)
    second = deliveries.show_list(desk.app, desk.caller(), request)
    assert [one.id for page in (first, second) for one in page.deliveries] == everything
    assert second.next_cursor is None


def test_the_log_is_kept_thirty_days_and_goes_in_batches(desk: Any, receiver: Any) -> None:
    made = desk.subscribe(receiver.url)
    desk.arrive(3)
    desk.settle()
    desk.shift(29 * 86_400)
    desk.arrive(1)
    desk.settle()
    assert maintenance.remove_old(desk.app) == 0
    desk.shift(1.5 * 86_400)
    assert maintenance.remove_old(desk.app) == 3
    assert len(desk.log(made.id)) == 1
    assert desk.query("SELECT count(*) FROM attempts")[0][0] == 1
    desk.shift(86_400)
    maintenance.remove_old(desk.app)
    assert desk.query("SELECT count(*) FROM events")[0][0] == 1


def test_a_deleted_subscription_takes_its_log_and_waiting_deliveries_along(desk: Any, receiver: Any) -> None:
    made = desk.subscribe(receiver.url)
    desk.arrive(3)
    subscriptions.delete(desk.app, desk.caller(), api.SubscriptionId(id=made.id))
    desk.app.dispatcher.tick()
    assert maintenance.remove_old(desk.app) == 3
    assert receiver.got == []
    desk.shift(32 * 86_400)
    maintenance.remove_old(desk.app)
    assert (
        desk.query(
            "SELECT 1 FROM subscriptions UNION ALL SELECT 1 FROM secrets UNION ALL SELECT 1 FROM lanes"
        )
        == []
    )


def test_the_deliveries_of_posts_and_of_an_operation_are_found_together(desk: Any, receiver: Any) -> None:
    first, second = desk.subscribe(receiver.url), desk.subscribe(receiver.url)
    desk.arrive(post_id="pst_1")
    desk.arrive(post_id="pst_2")
    desk.arrive()
    desk.settle()
    asker = desk.caller(operation_id="op_test")
    test = deliveries.send_test(desk.app, asker, api.SubscriptionId(id=first.id))

    def found(caller: Any = asker, **fields: Any) -> list[tuple[str, str, str]]:
        values = {"post_ids": ("pst_1", "pst_9"), "operation_ids": ("op_test",)} | fields
        rows = deliveries.find(desk.app, caller, api.FindDeliveries(**values)).deliveries
        return [(row.webhook_id, row.event, row.status) for row in rows]

    outcomes = {(made.id, "post.failed", "delivered") for made in (first, second)}
    assert set(found()) == outcomes | {(first.id, "webhook.test", test.status)}
    assert set(found(operation_ids=())) == outcomes
    assert found(post_ids=(), operation_ids=("op_other",)) == []
    assert found(desk.caller(account_id="usr_other")) == []
    assert found(desk.caller(brand_ids=("brd_1",))) == []
