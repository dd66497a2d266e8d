"""Test events, and deliveries that the owner sends again."""

import json
import threading
from typing import Any

import pytest

from contracts import webhooks as api
from contracts.errors import ApiError
from webhooks.management import deliveries

WAITS = (30, 120, 600, 1_800, 7_200)


def test_a_test_event_goes_out_of_a_disabled_subscription_too_and_is_not_counted(
    desk: Any, receiver: Any
) -> None:
    made, caller = desk.subscribe(receiver.url), desk.caller()
    desk.execute("UPDATE subscriptions SET status = 'disabled', disabled_reason = 'gone'")
    request = api.SubscriptionId(id=made.id)
    asked = deliveries.send_test(desk.app, caller, request)
    assert (asked.event, asked.status) == ("webhook.test", "pending")
    assert deliveries.send_test(desk.app, caller, request) == asked
    desk.settle()
    assert [json.loads(got.body)["event"] for got in receiver.got] == ["webhook.test"]
    assert desk.quota.units == {}


def test_a_replay_is_the_same_event_again_and_its_attempts_are_numbered_on(desk: Any, receiver: Any) -> None:
    made, caller = desk.subscribe(receiver.url), desk.caller()
    desk.arrive()
    desk.settle()
    request = api.ReplayDelivery(id=made.id, delivery_id=desk.log(made.id)[0].id)
    for _ in range(2):  # the same operation
        assert deliveries.replay(desk.app, caller, request).id == request.delivery_id
    desk.settle()
    assert [got.attempt for got in receiver.got] == [1, 2]
    assert receiver.got[0].body == receiver.got[1].body
    assert len(desk.log(made.id)[0].attempts) == 2
    assert len(desk.quota.units) == 1


@pytest.mark.parametrize("made_before", [0, 1, 5])
def test_a_replay_of_what_is_on_its_way_goes_out_at_once_when_that_attempt_fails(
    made_before: int, desk: Any, receiver: Any
) -> None:
    may_answer = threading.Event()

    def respond(handler: Any, got: Any) -> None:
        if got.attempt == made_before + 1:
            may_answer.wait(30)
        handler.send(500)

    receiver.respond = respond
    made = desk.subscribe(receiver.url)
    desk.arrive()
    for number, wait in enumerate(WAITS[:made_before], 1):
        desk.work(lambda expected=number: len(desk.log(made.id)[0].attempts) == expected)
        desk.shift(wait + 1)
    desk.work(lambda: len(receiver.got) == made_before + 1)
    request = api.ReplayDelivery(id=made.id, delivery_id=desk.log(made.id)[0].id)
    deliveries.replay(desk.app, desk.caller(), request)
    may_answer.set()
    desk.work(lambda: len(desk.log(made.id)[0].attempts) == made_before + 2)
    desk.settle()
    assert [got.attempt for got in receiver.got] == list(range(1, made_before + 3))
    (delivery,) = desk.log(made.id)
    late = delivery.next_attempt_at.timestamp() - delivery.attempts[-1].at.timestamp()
    assert WAITS[0] <= late < WAITS[0] * 1.5


def test_a_replay_of_what_is_on_its_way_is_done_when_that_attempt_is_acknowledged(
    desk: Any, receiver: Any
) -> None:
    may_answer = threading.Event()

    def respond(handler: Any, got: Any) -> None:
        may_answer.wait(30)
        handler.send(200)

    receiver.respond = respond
    made = desk.subscribe(receiver.url)
    desk.arrive()
    desk.work(lambda: len(receiver.got) == 1)
    request = api.ReplayDelivery(id=made.id, delivery_id=desk.log(made.id)[0].id)
    deliveries.replay(desk.app, desk.caller(), request)
    may_answer.set()
    desk.settle()
    assert (desk.log(made.id)[0].status, len(receiver.got)) == ("delivered", 1)


def test_a_delivery_of_another_subscription_or_account_is_not_found(desk: Any, receiver: Any) -> None:
    made, other = desk.subscribe(receiver.url), desk.subscribe(receiver.url, events=("post.published",))
    desk.arrive()
    desk.settle()
    delivery_id = desk.log(made.id)[0].id
    stranger = desk.caller(account_id="usr_b")
    for caller, subscription_id, wanted in (
        (desk.caller(), other.id, delivery_id),
        (stranger, made.id, delivery_id),
        (desk.caller(), made.id, "dlv_none"),
        (desk.caller(), made.id, "dlv_\x00"),
    ):
        with pytest.raises(ApiError) as refused:
            deliveries.replay(desk.app, caller, api.ReplayDelivery(id=subscription_id, delivery_id=wanted))
        assert refused.value.code == "NOT_FOUND"
