"""Many endpoints and several processes: fairness, limits, and the death of a process."""

import hashlib
import hmac
import threading
from typing import Any

import msgspec
import pytest
from cryptography.fernet import Fernet
from structlog.testing import capture_logs

from chassis.vault import Vault
from contracts import webhooks as api
from webhooks import maintenance
from webhooks.context import AppContext
from webhooks.management import subscriptions
from webhooks.security import PrivateReceivers
from webhooks.store.endpoint_queues import EndpointQueues


def test_an_endpoint_has_at_most_eight_attempts_at_once(desk: Any, receiver: Any) -> None:
    receiver.hang()
    desk.subscribe(receiver.url)
    desk.arrive(40)
    desk.work(lambda: len(receiver.got) == 8)
    for _ in range(20):
        desk.app.dispatcher.tick()
    assert receiver.most_at_once == 8
    receiver.over.set()


def test_an_endpoint_that_hangs_with_a_backlog_does_not_hold_up_the_others(desk: Any, receiver: Any) -> None:
    receiver.hang("/hang")
    desk.subscribe(f"{receiver.url}/hang")
    for number in range(15):
        desk.subscribe(f"{receiver.url}/good/{number}")
    desk.arrive(60)
    desk.work(lambda: len(receiver.await_count(0, "/good")) == 900)
    assert len(receiver.await_count(8, "/hang")) == 8
    receiver.over.set()


def test_two_processes_share_the_queues_and_send_everything_once(desk: Any, receiver: Any) -> None:
    other = desk.another()
    for number in range(10):
        desk.subscribe(f"{receiver.url}/{number}")
    desk.arrive(20)
    desk.work(lambda: other.app.dispatcher.tick() >= 0 and not desk.busy() and not other.busy())
    assert len(receiver.got) == len({(got.path, got.body) for got in receiver.got}) == 200
    assert receiver.most_at_once <= 80
    other.app.dispatcher.close()


def test_a_queue_whose_process_is_gone_lapses_and_another_takes_it_up(desk: Any, receiver: Any) -> None:
    receiver.hang()
    desk.subscribe(receiver.url)
    desk.arrive(4)
    desk.work(lambda: len(receiver.got) == 4)
    other = desk.another()
    assert other.app.dispatcher.tick() == 0
    desk.execute("UPDATE lanes SET lease_until = clock_timestamp() - interval '1 second'")
    receiver.respond_with(200)
    other.settle()
    assert {delivery.status for delivery in other.log(receiver_of(desk))} == {"delivered"}
    # The attempts of the first process end: the queue is no longer its own, and their outcomes are dropped.
    receiver.over.set()
    desk.work(lambda: desk.app.dispatcher.is_quiet)
    assert [len(delivery.attempts) for delivery in other.log(receiver_of(desk))] == [1] * 4
    assert {got.attempt for got in receiver.got} == {1}
    other.app.dispatcher.close()


def receiver_of(desk: Any) -> str:
    return str(desk.query("SELECT id FROM subscriptions")[0].id)


def test_queues_are_renewed_while_used_and_given_back_when_idle(desk: Any, receiver: Any) -> None:
    receiver.hang()
    made = desk.subscribe(receiver.url)
    desk.arrive()
    desk.work(lambda: len(receiver.got) == 1)
    desk.execute("UPDATE lanes SET lease_until = clock_timestamp() + interval '1 second'")
    desk.app.dispatcher.renew()
    left = "SELECT extract(epoch FROM lease_until - clock_timestamp()) FROM lanes"
    assert desk.query(left)[0][0] > 5
    receiver.over.set()
    desk.work(lambda: desk.log(made.id)[0].status == "delivered")
    for queue in desk.app.dispatcher.queues.values():
        queue.used_at -= 60
    desk.app.dispatcher.renew()
    assert desk.query("SELECT lease_until FROM lanes")[0][0] is None
    assert desk.app.dispatcher.queues == {}


def test_a_process_that_ends_gives_its_queues_back_at_once(desk: Any, receiver: Any) -> None:
    desk.subscribe(receiver.url)
    desk.arrive(3)
    desk.settle()
    desk.app.dispatcher.close()
    assert desk.query("SELECT lease_until FROM lanes")[0][0] is None
    desk.arrive()
    other = desk.another()
    other.settle()
    assert len(receiver.got) == 4
    other.app.dispatcher.close()


def test_a_changed_url_holds_for_what_waits_already(desk: Any, receiver: Any) -> None:
    receiver.respond_with(500)
    made = desk.subscribe(f"{receiver.url}/old")
    desk.arrive()
    desk.settle()
    edit = api.EditSubscription(id=made.id, url=f"{receiver.url}/new")
    subscriptions.edit(desk.app, desk.caller(), edit)
    desk.shift(31)
    desk.settle()
    assert [got.path for got in receiver.got] == ["/old", "/new"]


def test_a_name_that_leads_to_a_private_address_is_not_called(desk: Any, receiver: Any) -> None:
    asked: list[str] = []

    def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["93.184.216.34", "10.0.0.1"]

    settings = msgspec.structs.replace(desk.app.settings, private_receivers=PrivateReceivers())
    desk.app.dispatcher.close()
    desk.app = AppContext(desk.database, settings, Vault(settings.secret_keys), desk.quota, resolve)
    made = desk.subscribe(f"http://rebound.example.com:{receiver.server_port}/")
    desk.arrive()
    desk.settle()
    assert asked == ["rebound.example.com"]
    assert desk.log(made.id)[0].attempts[0].error == "private_address"
    assert receiver.got == []


def test_no_more_attempts_run_than_there_are_places_and_everybody_has_a_turn(
    desk: Any, receiver: Any
) -> None:
    receiver.hang("/hang")
    settings = msgspec.structs.replace(desk.app.settings, attempts_at_once=3, timeout_seconds=0.3)
    desk.app.dispatcher.close()
    desk.app = AppContext(desk.database, settings, Vault(settings.secret_keys), desk.quota)
    for number in range(6):
        desk.subscribe(f"{receiver.url}/hang/{number}")
    desk.arrive(10)
    most: list[int] = []
    desk.work(lambda: most.append(desk.app.dispatcher.in_flight) or len(receiver.got) >= 3)
    made = desk.subscribe(f"{receiver.url}/good", events=("post.published",))
    desk.arrive(2, event="post.published")
    desk.work(
        lambda: most.append(desk.app.dispatcher.in_flight) or len(desk.log(made.id, status="delivered")) == 2
    )
    assert max(most) == 3
    assert len(receiver.await_count(3, "/hang")) < 30  # without turns, three of them would take all slots
    receiver.over.set()


def test_an_account_that_quota_stumbles_over_holds_up_nobody_else(desk: Any, receiver: Any) -> None:
    desk.quota.stumbles_over = {"usr_bad"}
    for account in ("usr_a", "usr_bad", "usr_b"):
        desk.subscribe(f"{receiver.url}/{account}", desk.caller(account_id=account))
        desk.arrive(3, account=account)
    desk.work(lambda: len(desk.query("SELECT 1 FROM deliveries WHERE state = 'pending'")) == 3)
    assert sorted(got.path for got in receiver.got) == ["/usr_a"] * 3 + ["/usr_b"] * 3


def test_a_secret_that_no_key_reads_is_logged_now_and_then_until_it_is_rotated(
    desk: Any, receiver: Any
) -> None:
    made = desk.subscribe(receiver.url)
    unreadable = Vault([Fernet.generate_key().decode()]).encrypt(made.secret)
    desk.execute("UPDATE secrets SET secret = :secret", secret=unreadable)
    desk.arrive()
    with capture_logs() as logged:
        for _ in range(20):
            desk.app.dispatcher.tick()
    assert [line["event"] for line in logged] == ["webhook_secret_unreadable"]
    assert receiver.got == []
    rotated = subscriptions.rotate_secret(desk.app, desk.caller(), api.SubscriptionId(id=made.id))
    desk.app.dispatcher.tick()
    (got,) = receiver.await_count(1)
    signature = hmac.new(rotated.secret.encode(), got.body, hashlib.sha256).hexdigest()
    assert got.headers["X-Svc-Signature"] == f"sha256={signature}"


def test_secrets_of_queues_that_another_process_has_are_not_read(desk: Any, receiver: Any) -> None:
    receiver.hang()
    desk.subscribe(receiver.url)
    desk.arrive()
    desk.work(lambda: len(receiver.got) == 1)
    with desk.database.reading() as connection:
        (of_another,) = EndpointQueues(connection).look({})
        (own,) = EndpointQueues(connection).look({of_another.id: True})
    assert (len(of_another.secrets), len(own.secrets)) == (0, 1)
    receiver.over.set()


def test_connections_are_kept_between_deliveries(desk: Any, receiver: Any) -> None:
    peers: set[Any] = set()

    def respond(handler: Any, _got: Any) -> None:
        peers.add(handler.client_address)
        handler.send(200)

    receiver.respond = respond
    desk.subscribe(receiver.url)
    desk.arrive(100)
    desk.settle()
    assert len(peers) <= 8


@pytest.mark.parametrize("end", ["gone", "deleted", "lost"])
def test_what_is_still_being_charged_for_when_a_queue_ends_does_not_go_out_of_it(
    end: str, desk: Any, receiver: Any
) -> None:
    may_answer = threading.Event()

    def respond(handler: Any, got: Any) -> None:
        may_answer.wait(30)
        handler.send(410 if end == "gone" else 200)

    receiver.respond = respond
    made = desk.subscribe(receiver.url)
    desk.arrive()
    desk.work(lambda: len(receiver.got) == 1)
    desk.quota.may_answer.clear()
    desk.arrive(10)
    (queue,) = desk.app.dispatcher.queues.values()
    desk.work(lambda: len(queue.loaded) > 1)
    if end == "deleted":
        subscriptions.delete(desk.app, desk.caller(), api.SubscriptionId(id=made.id))
        maintenance.remove_old(desk.app)
    elif end == "lost":
        desk.execute("UPDATE lanes SET lease_until = NULL, fence = fence + 1")
        desk.app.dispatcher.renew()
    may_answer.set()
    desk.work(lambda: not queue.in_flight)
    if end == "gone":
        assert desk.show(made.id).disabled_reason == "gone"
    desk.app.dispatcher.tick()
    desk.quota.may_answer.set()
    desk.settle()
    bodies = [got.body for got in receiver.got[1:]]
    assert len(bodies) == len(set(bodies)) == (11 if end == "lost" else 0)
