"""The delivery of an event: which subscriptions get it, what is sent, when it is retried, and when it is given up."""

import hashlib
import hmac
import json
from typing import Any

import pytest

from contracts import webhooks as api
from webhooks.events import on_events
from webhooks.management import subscriptions

WAITS = (30, 120, 600, 1_800, 7_200)


def test_an_event_goes_signed_to_whoever_asked_for_it_and_to_nobody_else(desk: Any, receiver: Any) -> None:
    wanted = desk.subscribe(f"{receiver.url}/wanted")
    desk.subscribe(f"{receiver.url}/other-event", events=("post.published",))
    desk.subscribe(f"{receiver.url}/other-account", desk.caller(account_id="usr_b"))
    desk.subscribe(f"{receiver.url}/other-brand", brand_ids=("brd_2", "brd_3"))
    desk.subscribe(f"{receiver.url}/its-brand", brand_ids=("brd_2", "brd_1"))
    gone = desk.subscribe(f"{receiver.url}/deleted")
    subscriptions.delete(desk.app, desk.caller(), api.SubscriptionId(id=gone.id))
    desk.subscribe(f"{receiver.url}/disabled")
    desk.execute("UPDATE subscriptions SET status = 'disabled' WHERE url LIKE '%/disabled'")
    (event,) = desk.arrive()
    desk.settle()
    assert sorted(got.path for got in receiver.got) == ["/its-brand", "/wanted"]
    got = next(got for got in receiver.got if got.path == "/wanted")
    assert json.loads(got.body) == {
        "id": event.id,
        "event": "post.failed",
        "created_at": f"{event.created_at:%Y-%m-%dT%H:%M:%S}.{event.created_at.microsecond // 1000:03}Z",
        "data": {"userId": "usr_a", "number": 0},
    }
    (delivery,) = desk.log(wanted.id)
    signature = hmac.new(wanted.secret.encode(), got.body, hashlib.sha256).hexdigest()
    expected = {
        "Content-Type": "application/json",
        "X-Svc-Signature": f"sha256={signature}",
        "X-Svc-Event": "post.failed",
        "X-Svc-Delivery": delivery.id,
        "X-Svc-Attempt": "1",
    }
    assert {name: got.headers[name] for name in expected} == expected
    assert got.headers["User-Agent"].startswith("Posthaste")


def test_an_event_about_no_brand_goes_to_every_subscription(desk: Any, receiver: Any) -> None:
    desk.subscribe(f"{receiver.url}/all", events=("account.quota.warning",))
    desk.subscribe(f"{receiver.url}/some", events=("account.quota.warning",), brand_ids=("brd_2",))
    desk.arrive(event="account.quota.warning", brand=None)
    desk.settle()
    assert sorted(got.path for got in receiver.got) == ["/all", "/some"]


@pytest.mark.parametrize(
    ("made_within", "told"),
    [
        (None, ["/all"]),
        (("brd_1", "brd_2"), ["/all", "/both"]),
        (("brd_2",), ["/all", "/both", "/second"]),
    ],
)
@pytest.mark.parametrize("is_old", [False, True])
def test_a_job_about_no_brand_is_told_of_to_who_may_see_it(
    is_old: bool, made_within: tuple[str, ...] | None, told: list[str], desk: Any, receiver: Any
) -> None:
    brands = {"all": None, "both": ("brd_1", "brd_2"), "second": ("brd_2",), "third": ("brd_3",)}
    for name, reach in brands.items():
        desk.subscribe(f"{receiver.url}/{name}", desk.caller(brand_ids=reach), events=("ai.job.failed",))
    if is_old:  # they do not say who made them, only whose events they are sent
        desk.execute("UPDATE subscriptions SET made_within = NULL")
    desk.arrive(event="ai.job.failed", brand=None, made_within=made_within)
    desk.settle()
    assert sorted(got.path for got in receiver.got) == told


def test_a_job_about_no_brand_is_told_of_to_its_accounts_owner_whatever_brands_he_asked_for(
    desk: Any, receiver: Any
) -> None:
    desk.subscribe(receiver.url, events=("ai.job.failed",), brand_ids=("brd_1",))
    desk.arrive(event="ai.job.failed", brand=None)
    desk.settle()
    assert len(receiver.got) == 1


def test_an_event_that_comes_twice_is_delivered_once(desk: Any, receiver: Any) -> None:
    made = desk.subscribe(receiver.url)
    events = desk.arrive(3)
    with desk.database.transaction() as connection:
        on_events(connection, events)
    desk.settle()
    assert len(receiver.got) == len(desk.log(made.id)) == 3


def test_retries_come_after_their_waits_never_early_and_with_the_same_event(desk: Any, receiver: Any) -> None:
    receiver.respond_with(500)
    made = desk.subscribe(receiver.url)
    (event,) = desk.arrive()
    desk.settle()
    for number, wait in enumerate(WAITS, 1):
        (delivery,) = desk.log(made.id)
        failed_at = delivery.attempts[-1].at.timestamp() + delivery.attempts[-1].duration_ms / 1000
        late = round(delivery.next_attempt_at.timestamp() - failed_at - wait, 3)
        assert 0 <= late <= wait * 0.05
        now = desk.query("SELECT clock_now()")[0][0].timestamp()
        desk.shift(delivery.next_attempt_at.timestamp() - now - 2.0)
        desk.app.dispatcher.tick()
        assert len(receiver.got) == number
        desk.shift(2.0)
        desk.work(lambda expected=number + 1: len(desk.log(made.id)[0].attempts) == expected)
    (delivery,) = desk.log(made.id)
    assert (delivery.status, delivery.next_attempt_at) == ("failed", None)
    assert [attempt.error for attempt in delivery.attempts] == ["status"] * 6
    assert [got.attempt for got in receiver.got] == [1, 2, 3, 4, 5, 6]
    assert {json.loads(got.body)["id"] for got in receiver.got} == {event.id}
    assert (
        len({got.body for got in receiver.got})
        == len({got.headers["X-Svc-Delivery"] for got in receiver.got})
        == 1
    )


def test_a_redirect_is_a_failure_and_leads_nowhere(desk: Any, receiver: Any) -> None:
    receiver.respond = lambda handler, got: handler.send(302, Location=f"{receiver.url}/elsewhere")
    made = desk.subscribe(f"{receiver.url}/here")
    desk.arrive()
    desk.settle()
    assert [got.path for got in receiver.got] == ["/here"]
    assert desk.log(made.id)[0].attempts[0].status_code == 302


def test_the_20th_failure_in_a_row_is_the_last_attempt_however_many_wait(desk: Any, receiver: Any) -> None:
    receiver.respond_with(503)
    made = desk.subscribe(receiver.url)
    desk.arrive(19)
    desk.settle()
    assert (desk.show(made.id).status, desk.show(made.id).consecutive_failures) == ("active", 19)
    desk.arrive(50)
    desk.work(lambda: not desk.query("SELECT 1 FROM deliveries WHERE state = 'pending'"))
    shown = desk.show(made.id)
    assert (shown.status, shown.disabled_reason, shown.consecutive_failures) == (
        "disabled",
        "consecutive_failures",
        20,
    )
    assert len(receiver.got) == 20
    assert {delivery.status for delivery in desk.log(made.id)} == {"failed"}


def test_fifty_at_once_to_a_dead_endpoint_make_exactly_twenty_attempts(desk: Any, receiver: Any) -> None:
    receiver.respond_with(500)
    made = desk.subscribe(receiver.url)
    desk.arrive(50)
    desk.work(lambda: desk.show(made.id).status == "disabled")
    desk.settle()
    assert len(receiver.got) == 20


def test_410_disables_at_once(desk: Any, receiver: Any) -> None:
    receiver.respond_with(410)
    made = desk.subscribe(receiver.url)
    desk.arrive()
    desk.settle()
    shown = desk.show(made.id)
    assert (shown.status, shown.disabled_reason) == ("disabled", "gone")
    assert shown.disabled_at is not None
    assert shown.created_at < shown.disabled_at
    assert desk.log(made.id)[0].status == "failed"


def test_an_enabled_subscription_gets_events_again_and_counts_anew(desk: Any, receiver: Any) -> None:
    receiver.respond_with(410)
    made = desk.subscribe(receiver.url)
    desk.arrive()
    desk.settle()
    desk.arrive()  # while it is disabled: for nobody
    subscriptions.enable(desk.app, desk.caller(), api.SubscriptionId(id=made.id))
    receiver.respond_with(200)
    desk.arrive()
    desk.settle()
    assert [delivery.status for delivery in desk.log(made.id)] == ["delivered", "failed"]
    assert desk.show(made.id).consecutive_failures == 0


def test_both_secrets_sign_for_a_day_after_a_rotation(desk: Any, receiver: Any) -> None:
    made = desk.subscribe(receiver.url)
    rotated = subscriptions.rotate_secret(desk.app, desk.caller(), api.SubscriptionId(id=made.id))
    until = (
        rotated.previous_secret_expires_at.timestamp() - desk.query("SELECT clock_now()")[0][0].timestamp()
    )
    assert until == pytest.approx(24 * 3600, abs=10)
    desk.arrive()
    desk.settle()
    desk.shift(24 * 3600 - 60)
    desk.arrive()
    desk.settle()
    desk.shift(120)
    desk.arrive()
    desk.settle()

    def signed(secret: str, body: bytes) -> str:
        return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"

    for got in receiver.got[:2]:
        both = (signed(rotated.secret, got.body), signed(made.secret, got.body))
        assert got.headers["X-Svc-Signature"] == ",".join(both)
    assert receiver.got[2].headers["X-Svc-Signature"] == signed(rotated.secret, receiver.got[2].body)
