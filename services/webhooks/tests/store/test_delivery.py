"""From an event to a receiver: who gets it, what is sent, when it is tried again, when no more."""

import hashlib
import hmac
import json
import socket
import threading
from typing import Any

import pytest

from contracts import webhooks as api
from contracts.errors import ApiError
from webhooks import maintenance
from webhooks.events import intake
from webhooks.management import deliveries, subscriptions

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
        intake.on_events(connection, events)
    desk.settle()
    assert len(receiver.got) == len(desk.log(made.id)) == 3


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
