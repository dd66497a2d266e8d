"""The units of the month that deliveries use."""

from typing import Any

from contracts import webhooks as api
from webhooks.management import deliveries


def test_a_used_up_month_skips_and_a_replay_takes_its_unit_once_there_is_one(
    desk: Any, receiver: Any
) -> None:
    made = desk.subscribe(receiver.url)
    desk.quota.limit = 2
    desk.arrive(3)
    desk.settle()
    statuses = [delivery.status for delivery in desk.log(made.id)]
    assert sorted(statuses) == ["delivered", "delivered", "skipped"]
    skipped = desk.log(made.id, status="skipped")[0]
    assert (skipped.attempts, skipped.next_attempt_at) == ((), None)
    desk.quota.limit = 3
    deliveries.replay(desk.app, desk.caller(), api.ReplayDelivery(id=made.id, delivery_id=skipped.id))
    desk.settle()
    assert [got.attempt for got in receiver.got] == [1, 1, 1]
    assert set(desk.quota.units) == {delivery.id for delivery in desk.log(made.id)}


def test_a_delivery_counts_once_by_the_accounts_tier_whatever_its_attempts(desk: Any, receiver: Any) -> None:
    receiver.respond_with(500)
    made = desk.subscribe(receiver.url)
    desk.arrive()
    desk.settle()
    desk.shift(31)
    desk.settle()
    assert len(receiver.got) == 2
    assert desk.quota.units == {desk.log(made.id)[0].id: "pro"}


def test_while_quota_is_away_deliveries_wait_and_retries_go_on(desk: Any, receiver: Any) -> None:
    receiver.respond_with(500)
    made = desk.subscribe(receiver.url)
    desk.arrive()
    desk.settle()
    receiver.respond_with(200)
    desk.quota.is_away = True
    desk.arrive(3)
    desk.shift(31)
    desk.work(lambda: desk.log(made.id, status="delivered"))
    assert len(desk.log(made.id, status="pending")) == 3
    assert len(receiver.got) == 2
    desk.quota.is_away = False
    desk.settle()
    assert [delivery.status for delivery in desk.log(made.id)] == ["delivered"] * 4


def test_a_delivery_that_is_attempted_at_once_is_written_only_with_its_outcome(
    desk: Any, receiver: Any
) -> None:
    desk.subscribe(receiver.url)
    desk.arrive(3)
    desk.settle()
    assert [tuple(row) for row in desk.query("SELECT state, charged FROM deliveries")] == [
        ("delivered", None)
    ] * 3
