"""The webhooks service as a process on the bus, with the quota service and a live receiver."""

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import msgspec
import pika
import pytest
from cryptography.fernet import Fernet

from chassis.bus import topology
from chassis.ids import new_id
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.events import Event
from contracts.record import Nothing
from contracts.webhooks import (
    CreateSubscription,
    ListDeliveries,
    ReplayDelivery,
    SubscriptionId,
)
from testkit.fixtures import signed_event
from testkit.waiting import until

CALLER = Caller(account_id="usr_1", user_id="usr_1", tier="elite", operation_id="op_1")


def operation(operation_id: str) -> Caller:
    return msgspec.structs.replace(CALLER, operation_id=operation_id)


def events(count: int, name: str = "post.failed") -> list[Event]:
    return [
        Event(
            id=new_id("evt"), event=name, created_at=datetime.now(UTC), account_id="usr_1", brand_id="brd_1",
            data={"userId": "usr_1", "number": number},
        )
        for number in range(count)
    ]  # fmt: skip


def publish(url: str, *published: Event) -> None:
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        for event in published:
            body, headers = signed_event(event)
            lasting = pika.BasicProperties(delivery_mode=2, headers=headers)
            connection.channel().basic_publish(topology.EVENT_EXCHANGE, event.event, body, lasting)


@pytest.fixture
def services(running_service: Any) -> tuple[Any, Any]:
    """Quota and webhooks, both running."""
    keys = {
        "WEBHOOK_SECRET_KEYS": Fernet.generate_key().decode(),
        "WEBHOOK_ALLOWED_CIDRS": "*=127.0.0.1/32:1-65535",
    }
    return running_service("quota"), running_service("webhooks", env=keys)


def subscribe(webhooks: Any, url: str) -> Any:
    return webhooks.create_subscription(
        CALLER, CreateSubscription(name="Shop", url=url, events=("post.failed",))
    )


def test_events_of_the_bus_arrive_are_counted_and_logged(services: tuple[Any, Any], receiver: Any) -> None:
    quota, webhooks = services
    made = subscribe(webhooks, receiver.url)
    published = events(30)
    publish(webhooks.env["AMQP_URL"], *published, *published[:5])
    receiver.await_count(30)
    request = ListDeliveries(id=made.id, status="delivered")
    until(lambda: len(webhooks.list_deliveries(CALLER, request).deliveries) == 30)
    assert len(receiver.got) == 30
    assert quota.get_usage(CALLER, Nothing()).webhooks.used == 30
    delivery = webhooks.list_deliveries(CALLER, request).deliveries[0]
    webhooks.replay_delivery(operation("op_2"), ReplayDelivery(id=made.id, delivery_id=delivery.id))
    webhooks.send_test(operation("op_3"), SubscriptionId(id=made.id))
    assert [got.attempt for got in receiver.await_count(32)[30:]].count(2) == 1
    assert quota.get_usage(CALLER, Nothing()).webhooks.used == 30


def test_a_service_killed_again_and_again_loses_nothing(services: tuple[Any, Any], receiver: Any) -> None:
    _, webhooks = services
    subscribe(webhooks, receiver.url)
    published = events(400)
    kills = 3
    for number in range(4):
        publish(webhooks.env["AMQP_URL"], *published[number * 100 : number * 100 + 100])
        receiver.await_count(number * 60 + 20)
        if number < kills:
            webhooks.kill()
            webhooks.restart()
    wanted = {event.id for event in published}

    def ids() -> Counter[str]:
        return Counter(json.loads(got.body)["id"] for got in list(receiver.got))

    until(lambda: ids().keys() == wanted)
    # What was on its way when it was killed may come again, under the same id: eight at most each time.
    assert ids().total() - len(wanted) <= 8 * kills


def test_while_quota_is_down_deliveries_wait_and_then_go_out(
    services: tuple[Any, Any], receiver: Any
) -> None:
    quota, webhooks = services
    made = subscribe(webhooks, receiver.url)
    quota.kill()
    publish(webhooks.env["AMQP_URL"], *events(5))
    request = ListDeliveries(id=made.id, status="pending")
    until(lambda: len(webhooks.list_deliveries(CALLER, request).deliveries) == 5)
    assert receiver.got == []
    quota.restart()
    receiver.await_count(5)


def test_a_process_that_is_told_to_end_writes_down_what_is_on_its_way(
    services: tuple[Any, Any], receiver: Any
) -> None:
    _, webhooks = services
    made = subscribe(webhooks, receiver.url)
    receiver.respond = lambda handler, got: (receiver.over.wait(1.0), handler.send(200))
    publish(webhooks.env["AMQP_URL"], *events(8))
    receiver.await_count(8)
    assert webhooks.terminate() == 0
    webhooks.restart()
    delivered = webhooks.list_deliveries(CALLER, ListDeliveries(id=made.id, status="delivered")).deliveries
    assert [len(delivery.attempts) for delivery in delivered] == [1] * 8
    assert len(receiver.got) == 8


def test_refusals_come_over_the_bus(services: tuple[Any, Any]) -> None:
    _, webhooks = services
    with pytest.raises(ApiError) as refused:
        subscribe(webhooks, "http://169.254.169.254/latest")
    assert refused.value.code == "VALIDATION_ERROR"
    assert refused.value.extras["errors"][0]["field"] == "url"
