"""Subscriptions with the URL `log:`. Their deliveries are only logged, and can be read with their signatures."""

import json
from typing import Any

import pytest

from contracts import webhooks as api
from contracts.errors import ApiError
from posthaste import webhooks as receiver_side
from webhooks.management import deliveries, subscriptions


def content(desk: Any, made: Any, delivery_id: str) -> api.DeliveryContent:
    return deliveries.show(desk.app, desk.caller(), api.DeliveryPath(id=made.id, delivery_id=delivery_id))


def test_events_are_logged_and_neither_sent_nor_counted(desk: Any) -> None:
    made = desk.subscribe("log:")
    desk.arrive(3)
    desk.settle()
    assert [(one.status, one.attempts, one.next_attempt_at) for one in desk.log(made.id)] == [
        ("skipped", (), None)
    ] * 3
    assert desk.quota.units == {}


def test_a_test_event_is_logged_too(desk: Any) -> None:
    made = desk.subscribe("log:")
    asked = deliveries.send_test(desk.app, desk.caller(), api.SubscriptionId(id=made.id))
    desk.settle()
    assert asked.status == "skipped"
    assert json.loads(content(desk, made, asked.id).body)["event"] == "webhook.test"


def test_a_delivery_is_read_with_signatures_that_verify(desk: Any) -> None:
    made = desk.subscribe("log:")
    desk.arrive()
    [logged] = desk.log(made.id)
    found = content(desk, made, logged.id)
    body = found.body.encode()
    assert receiver_side.read_delivery(body, found.headers, made.secret).id == logged.event_id
    receiver_side.verify(body, found.headers["X-Svc-Signature"], made.secret)


def test_after_a_rotation_both_secrets_sign(desk: Any) -> None:
    made = desk.subscribe("log:")
    desk.arrive()
    rotated = subscriptions.rotate_secret(desk.app, desk.caller(), api.SubscriptionId(id=made.id))
    found = content(desk, made, desk.log(made.id)[0].id)
    for secret in (made.secret, rotated.secret):
        receiver_side.verify_delivery(found.body.encode(), found.headers, secret)


@pytest.mark.parametrize("delivery_id", ["dlv_nothing", "", "x" * 500])
def test_an_unknown_delivery_is_not_found(desk: Any, delivery_id: str) -> None:
    made = desk.subscribe("log:")
    with pytest.raises(ApiError, match="NOT_FOUND"):
        content(desk, made, delivery_id)


def test_a_delivery_of_another_subscription_or_account_is_not_found(desk: Any) -> None:
    made, other = desk.subscribe("log:"), desk.subscribe("log:", events=("post.published",))
    desk.arrive()
    path = api.DeliveryPath(id=other.id, delivery_id=desk.log(made.id)[0].id)
    with pytest.raises(ApiError, match="NOT_FOUND"):
        deliveries.show(desk.app, desk.caller(), path)
    own = api.DeliveryPath(id=made.id, delivery_id=path.delivery_id)
    with pytest.raises(ApiError, match="NOT_FOUND"):
        deliveries.show(desk.app, desk.caller(account_id="usr_b", user_id="usr_b"), own)


def test_nothing_is_sent_by_a_replay(desk: Any) -> None:
    made = desk.subscribe("log:")
    desk.arrive()
    request = api.ReplayDelivery(id=made.id, delivery_id=desk.log(made.id)[0].id)
    with pytest.raises(ApiError, match="VALIDATION_ERROR"):
        deliveries.replay(desk.app, desk.caller(), request)


@pytest.mark.parametrize("is_logged", [True, False])
def test_the_url_does_not_change_between_the_log_and_an_address(
    desk: Any, receiver: Any, is_logged: bool
) -> None:
    first, second = ("log:", receiver.url) if is_logged else (receiver.url, "log:")
    made = desk.subscribe(first)
    with pytest.raises(ApiError, match="VALIDATION_ERROR"):
        subscriptions.edit(desk.app, desk.caller(), api.EditSubscription(id=made.id, url=second))
    edited = api.EditSubscription(id=made.id, url=first, name="same")
    assert subscriptions.edit(desk.app, desk.caller(), edited).name == "same"
