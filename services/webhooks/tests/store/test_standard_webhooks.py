"""Deliveries carry the headers of Standard Webhooks. The tests check them with its official library, as a subscriber
would.
"""

import time
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from contracts import webhooks as api
from webhooks.management import deliveries, subscriptions


def test_a_delivery_is_verified_by_the_foreign_library_with_the_secret_as_it_was_shown(
    desk: Any, receiver: Any
) -> None:
    made = desk.subscribe(receiver.url)
    (event,) = desk.arrive()
    desk.settle()
    (got,) = receiver.got
    assert Webhook(made.secret).verify(got.body, got.headers)["id"] == event.id
    assert got.headers["webhook-id"] == event.id
    assert abs(int(got.headers["webhook-timestamp"]) - time.time()) < 30
    for body, secret in ((got.body + b" ", made.secret), (got.body, desk.subscribe(receiver.url).secret)):
        with pytest.raises(WebhookVerificationError, match="No matching signature"):
            Webhook(secret).verify(body, got.headers, json_parse=False)


def test_retries_and_replays_have_the_same_id_and_the_timestamp_of_their_own_attempt(
    desk: Any, receiver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.respond_with(500)
    made = desk.subscribe(receiver.url)
    desk.arrive()
    desk.settle()
    began = time.time()
    monkeypatch.setattr(time, "time", lambda: began + 31)
    desk.shift(31)
    desk.settle()
    monkeypatch.setattr(time, "time", lambda: began + 3_600)
    (delivery,) = desk.log(made.id)
    replay = api.ReplayDelivery(id=made.id, delivery_id=delivery.id)
    deliveries.replay(desk.app, desk.caller(), replay)
    desk.settle()
    assert {got.headers["webhook-id"] for got in receiver.got} == {delivery.event_id}
    times = [int(got.headers["webhook-timestamp"]) for got in receiver.got]
    assert times[1:] == [int(began + 31), int(began + 3_600)]
    assert len({got.headers["webhook-signature"] for got in receiver.got}) == 3


def test_a_clock_that_is_shifted_does_not_shift_the_signed_time(desk: Any, receiver: Any) -> None:
    made = desk.subscribe(receiver.url)
    desk.shift(86_400)
    desk.arrive()
    desk.settle()
    Webhook(made.secret).verify(receiver.got[0].body, receiver.got[0].headers)


def test_during_a_rotation_either_secret_verifies_and_a_day_later_only_the_new_one(
    desk: Any, receiver: Any
) -> None:
    made = desk.subscribe(receiver.url)
    rotated = subscriptions.rotate_secret(desk.app, desk.caller(), api.SubscriptionId(id=made.id))
    desk.arrive()
    desk.settle()
    desk.shift(86_401)
    desk.arrive()
    desk.settle()
    within, after = receiver.got
    assert [len(got.headers["webhook-signature"].split(" ")) for got in (within, after)] == [2, 1]
    for secret, got in ((rotated.secret, within), (made.secret, within), (rotated.secret, after)):
        Webhook(secret).verify(got.body, got.headers)
    with pytest.raises(WebhookVerificationError, match="No matching signature"):
        Webhook(made.secret).verify(after.body, after.headers)


def test_a_secret_stored_before_1_4_0_verifies_as_it_stands(desk: Any, receiver: Any) -> None:
    """Such secrets have 43 characters. The library adds the missing padding."""
    old = "whsec_4tQ2mZl0c9Vb7Xe1Rk5Yp8Nd3Wf6Hs0AzLmQwErTyUi"
    desk.subscribe(receiver.url)
    desk.execute("UPDATE secrets SET secret = :secret", secret=desk.app.vault.encrypt(old))
    desk.arrive()
    desk.settle()
    Webhook(old).verify(receiver.got[0].body, receiver.got[0].headers)
