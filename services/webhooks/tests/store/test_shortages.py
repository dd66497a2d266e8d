"""A failure of our own machine is not counted against the receiver, and a postponed delivery uses only one unit."""

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from chassis.http.resolver import resolver
from chassis.vault import Vault
from contracts import webhooks as api
from webhooks.context import AppContext
from webhooks.dispatch.endpoint_queue import MAX_POSTPONED_SECONDS
from webhooks.management import deliveries, subscriptions


def without_names(desk: Any, receiver: Any, until: Callable[[], bool]) -> str:
    """Subscribes a host whose name cannot be resolved until the condition holds. Returns the subscription's id."""

    def resolve(host: str, port: int) -> list[str]:
        if not until():
            raise socket.gaierror(socket.EAI_AGAIN, "try again")
        return ["127.0.0.1"]

    desk.app.dispatcher.close()
    vault = Vault(desk.app.settings.secret_keys)
    desk.app = AppContext(desk.database, desk.app.settings, vault, desk.quota, resolve)
    return str(desk.subscribe(f"http://hooks.example.com:{receiver.server_port}/").id)


def go_on(desk: Any) -> None:
    """Ends the pauses of all queues."""
    for queue in desk.app.dispatcher.queues.values():
        queue.paused_until = time.monotonic()


def test_a_silent_resolver_disables_no_subscription(desk: Any, receiver: Any) -> None:
    over = threading.Event()
    settings = msgspec.structs.replace(desk.app.settings, timeout_seconds=0.05)

    def resolve(host: str, port: int) -> list[str]:
        over.wait(60)
        return ["127.0.0.1"]

    desk.app.dispatcher.close()
    desk.app = AppContext(desk.database, settings, Vault(settings.secret_keys), desk.quota, resolve)
    made = [desk.subscribe(f"http://{name}.example.com:{receiver.server_port}/").id for name in "ab"]
    desk.arrive(30)
    put_off: set[float] = set()

    def were_enough() -> bool:
        """Tells whether there were enough failures to disable both subscriptions."""
        held = [queue.paused_until for queue in desk.app.dispatcher.queues.values()]
        put_off.update(until for until in held if until > time.monotonic())
        go_on(desk)
        return len(put_off) > 40

    try:
        desk.work(were_enough)
        shown = [desk.show(one) for one in made]
        tried = [delivery for one in made for delivery in desk.log(one) if delivery.attempts]
    finally:
        over.set()
    assert [(one.status, one.consecutive_failures) for one in shown] == [("active", 0)] * 2
    assert not tried


def test_an_endpoint_whose_name_alone_does_not_resolve_is_postponed_and_then_disabled(
    desk: Any, receiver: Any
) -> None:
    def resolve(host: str, port: int) -> list[str]:
        if host == "lame.example.com":
            raise socket.gaierror(socket.EAI_AGAIN, "try again")
        return ["127.0.0.1"]

    desk.app.dispatcher.close()
    vault = Vault(desk.app.settings.secret_keys)
    desk.app = AppContext(desk.database, desk.app.settings, vault, desk.quota, resolve)
    lame, good = (
        desk.subscribe(f"http://{name}.example.com:{receiver.server_port}/").id for name in ("lame", "good")
    )
    desk.arrive(25)
    queues = desk.app.dispatcher.queues
    with capture_logs() as logged:
        for _ in range(3):
            desk.work(lambda: lame in queues and queues[lame].paused_until > time.monotonic())
            go_on(desk)
        desk.work(lambda: len(desk.log(good, status="delivered")) == 25)
    assert [line["event"] for line in logged].count("attempts_put_off") == 1
    assert (desk.show(lame).status, desk.show(lame).consecutive_failures) == ("active", 0)
    queues[lame].unreachable_since -= 3_600
    resolver().found.succeeded(
        "elsewhere.example.com"
    )  # a name of the public internet: the resolver answers others
    go_on(desk)
    desk.work(lambda: desk.show(lame).status == "disabled")
    assert desk.show(lame).consecutive_failures == 20
    assert desk.show(good).status == "active"


def test_a_local_failure_is_not_the_receivers(desk: Any, receiver: Any) -> None:
    there_are_names, asked = threading.Event(), []
    made = without_names(desk, receiver, lambda: asked.append(1) or there_are_names.is_set())
    desk.arrive(30)

    def were_enough() -> bool:
        """Tells whether there were enough failures to disable the subscription."""
        go_on(desk)
        return len(asked) > 20

    desk.work(were_enough)
    assert (desk.show(made).status, desk.show(made).consecutive_failures) == ("active", 0)
    assert all(delivery.attempts == () for delivery in desk.log(made))
    there_are_names.set()
    desk.settle()
    assert [(delivery.status, len(delivery.attempts)) for delivery in desk.log(made)] == [
        ("delivered", 1)
    ] * 30


def test_a_shortage_that_does_not_end_ends_deliveries_and_disables_nobody(desk: Any, receiver: Any) -> None:
    made = without_names(desk, receiver, lambda: False)
    desk.arrive(25)
    for number, wait in enumerate((*desk.app.settings.retry_seconds, 0), 1):
        desk.shift(MAX_POSTPONED_SECONDS + 1)
        desk.work(lambda done=number: all(len(one.attempts) == done for one in desk.log(made)))
        desk.shift(wait + 1)
    assert {delivery.status for delivery in desk.log(made)} == {"failed"}
    assert {attempt.error for one in desk.log(made) for attempt in one.attempts} == {"unknown_host"}
    assert (desk.show(made).status, desk.show(made).consecutive_failures) == ("active", 0)


def replay_all(desk: Any, subscription_id: str) -> set[str]:
    """Makes the fake quota service forget its charges, then replays all deliveries. Returns the deliveries that were
    charged before.
    """
    charged = set(desk.quota.units)
    desk.quota.units.clear()
    subscriptions.enable(desk.app, desk.caller(), api.SubscriptionId(id=subscription_id))
    for one in desk.log(subscription_id):
        request = api.ReplayDelivery(id=subscription_id, delivery_id=one.id)
        deliveries.replay(desk.app, desk.caller(), request)
    desk.settle()
    assert {one.status for one in desk.log(subscription_id)} == {"delivered"}
    return charged


@pytest.mark.parametrize("is_late", [False, True])
def test_what_was_charged_and_never_tried_takes_no_other_unit_weeks_later(
    is_late: bool, desk: Any, receiver: Any
) -> None:
    may_answer = threading.Event()

    def respond(handler: Any, got: Any) -> None:
        may_answer.wait(30)
        handler.send(410)

    receiver.respond = respond
    made = desk.subscribe(receiver.url)
    desk.arrive(1 if is_late else 30)
    desk.work(lambda: len(receiver.got) >= 1)
    if is_late:  # the queue ends while quota is still being asked
        desk.quota.may_answer.clear()
        desk.arrive(29)
        (queue,) = desk.app.dispatcher.queues.values()
        desk.work(lambda: len(queue.loaded) > 1)
    may_answer.set()
    desk.work(lambda: desk.show(made.id).disabled_reason == "gone")
    desk.quota.may_answer.set()
    desk.settle()
    receiver.respond_with(200)
    charged = replay_all(desk, made.id)
    assert 1 < len(charged) < 30
    assert charged.isdisjoint(desk.quota.units)
    assert len(charged) + len(desk.quota.units) == 30


def test_what_is_put_off_takes_no_other_unit_weeks_later(desk: Any, receiver: Any) -> None:
    there_are_names = threading.Event()
    made = without_names(desk, receiver, there_are_names.is_set)
    desk.arrive(10)
    desk.work(lambda: any(queue.paused_until for queue in desk.app.dispatcher.queues.values()))
    desk.work(lambda: all(not queue.loaded for queue in desk.app.dispatcher.queues.values()))
    there_are_names.set()
    charged = replay_all(desk, made)
    assert len(charged) == 10
    assert desk.quota.units == {}


def test_what_a_process_that_ends_had_taken_up_takes_no_other_unit_weeks_later(
    desk: Any, receiver: Any
) -> None:
    may_answer = threading.Event()

    def respond(handler: Any, got: Any) -> None:
        may_answer.wait(30)
        handler.send(200)

    receiver.respond = respond
    desk.subscribe(receiver.url)
    desk.arrive(30)
    desk.work(lambda: len(receiver.got) >= 1)
    ending = threading.Thread(target=desk.app.dispatcher.close)
    ending.start()
    while not desk.app.dispatcher.is_closing:
        assert ending.is_alive()
    may_answer.set()
    ending.join()
    assert len(receiver.got) < len(desk.quota.units) < 30
    other = desk.another()
    other.settle()
    assert other.quota.units.keys().isdisjoint(desk.quota.units)
    assert len(desk.quota.units) + len(other.quota.units) == len(receiver.got) == 30
    other.app.dispatcher.close()
