"""The link between the broker and the service or the caller is cut, refused or frozen."""

import socket
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
import requests
from pika.adapters.utils.io_services_utils import _AsyncTransportBase
from probe.api import ProbeApi, Words

from chassis.bus import topology
from chassis.bus.link import Link, Message, NotConfirmed
from chassis.bus.rpc import connect
from contracts.caller import Caller
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.events import EVENTS
from testkit.faulty_link import FaultyLink
from testkit.fixtures import RunningService, signed_by
from testkit.waiting import until

CALLER = Caller(account_id="usr_1", user_id="usr_1")


@pytest.fixture
def faulty(virtual_host: str) -> Iterator[tuple[FaultyLink, str]]:
    """A faulty link to the broker, and the AMQP URL that goes through it."""
    parts = urlsplit(virtual_host)
    link = FaultyLink((parts.hostname, parts.port))
    url = urlunsplit(parts._replace(netloc=f"{parts.username}:{parts.password}@127.0.0.1:{link.port}"))
    yield link, url
    link.close()


@pytest.fixture
def probe_behind(
    faulty: tuple[FaultyLink, str], running_service: Callable[..., RunningService]
) -> RunningService:
    """A service that reaches the broker over the faulty link. The test's own client does not use the link."""
    return running_service("probe", env={"AMQP_URL": faulty[1]}, api=ProbeApi)


@pytest.fixture
def far_probe(
    faulty: tuple[FaultyLink, str], running_service: Callable[..., RunningService]
) -> Iterator[Any]:
    """A client that reaches the broker over the faulty link. The service does not use the link."""
    running_service("probe", api=ProbeApi)
    bus = connect(faulty[1], signed_by("gateway"), "far")
    proxy = bus.service("probe", ProbeApi)
    assert proxy.echo(CALLER, Words(text="before")).text == "before"
    yield proxy
    bus.close()


def answers_within(seconds, call):
    """Repeats the call until it is answered. Fails if that takes more than this many seconds."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return call()
        except ApiError as error:
            assert error.code == "SERVICE_UNAVAILABLE"
            assert time.monotonic() < deadline, "it did not come back in time"


def test_a_service_whose_link_was_cut_answers_again_within_seconds(faulty, probe_behind):
    faulty[0].cut()
    answers_within(30.0, lambda: probe_behind.echo(CALLER, Words(), timeout_seconds=0.5))


def test_a_service_comes_back_after_the_broker_was_away(faulty, probe_behind):
    faulty[0].refuse(True)
    faulty[0].cut()
    with pytest.raises(ApiError):
        probe_behind.echo(CALLER, Words(), timeout_seconds=1.5)
    faulty[0].refuse(False)
    answers_within(30.0, lambda: probe_behind.echo(CALLER, Words(), timeout_seconds=0.5))


def test_an_event_staged_while_the_broker_is_away_is_sent_afterwards(faulty, probe_behind):
    telling = probe_behind.bus.service("probe", ProbeApi).tell.start(CALLER, Words(text="told", seconds=0.5))
    probe_behind.echo(CALLER, Words())
    faulty[0].refuse(True)
    faulty[0].cut()
    with pytest.raises(ApiError):
        telling.result()
    faulty[0].refuse(False)
    answers_within(30.0, lambda: probe_behind.echo(CALLER, Words(), timeout_seconds=0.5))
    answers_within(30.0, lambda: told(probe_behind))


def told(probe):
    if probe.count(CALLER, Words(text="told"), timeout_seconds=0.5).count != 1:
        raise ApiError(SERVICE_UNAVAILABLE)


def test_a_call_in_flight_when_the_caller_s_link_is_cut_fails_at_once(faulty, far_probe):
    pending = far_probe.wait.start(CALLER, Words(seconds=5.0))
    assert far_probe.echo(CALLER, Words(text="gone out")).text == "gone out"
    began = time.monotonic()
    faulty[0].cut()
    with pytest.raises(ApiError) as caught:
        pending.result()
    assert caught.value.code == "SERVICE_UNAVAILABLE"
    assert time.monotonic() - began < 4.0
    answers_within(30.0, lambda: far_probe.echo(CALLER, Words(), timeout_seconds=0.5))


def test_without_a_broker_calls_are_refused_within_two_seconds_and_then_at_once(faulty, far_probe):
    pending = far_probe.wait.start(CALLER, Words(seconds=5.0))
    far_probe.echo(CALLER, Words())
    faulty[0].refuse(True)
    faulty[0].cut()
    with pytest.raises(ApiError):  # which says that the cut was noticed
        pending.result()
    began = time.monotonic()
    for allowed in (4.0, 1.5, 1.5):
        with pytest.raises(ApiError) as caught:
            far_probe.write(CALLER, Words(text="refused"), timeout_seconds=30.0)
        assert caught.value.code == "SERVICE_UNAVAILABLE"
        assert time.monotonic() - began < allowed
        began = time.monotonic()
    faulty[0].refuse(False)
    counted = answers_within(
        30.0, lambda: far_probe.count(CALLER, Words(text="refused"), timeout_seconds=0.5)
    )
    assert counted.count == 0


def test_a_write_whose_service_lost_its_link_in_the_middle_runs_once(faulty, probe_behind):
    pending = probe_behind.bus.service("probe", ProbeApi).write.start(
        CALLER, Words(text="once", seconds=1.0), timeout_seconds=3.0
    )
    probe_behind.echo(CALLER, Words())
    faulty[0].cut()
    pending.result()  # the reply goes out over the new link
    counted = answers_within(
        30.0, lambda: probe_behind.count(CALLER, Words(text="once"), timeout_seconds=0.5)
    )
    assert counted.count == 1


def test_health_says_so_while_the_consumers_are_not_attached(faulty, running_service):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    running_service("probe", env={"AMQP_URL": faulty[1], "HEALTH_PORT": str(port)}, api=ProbeApi)
    url = f"http://127.0.0.1:{port}/healthz"
    assert requests.get(url, timeout=5).status_code == 200
    faulty[0].refuse(True)
    faulty[0].cut()
    until(lambda: requests.get(url, timeout=5).status_code == 503)
    faulty[0].refuse(False)
    until(lambda: requests.get(url, timeout=5).status_code == 200)


def test_publishing_over_a_frozen_link_ends_in_time(faulty):
    link = Link(faulty[1], "publisher", lambda _channel: None)
    link.start()
    assert link.wait_open(30.0)
    faulty[0].freeze()
    began = time.monotonic()
    with pytest.raises(NotConfirmed):
        link.publish_confirmed([Message("", "quarantine", b"{}")], timeout_seconds=1.0)
    assert time.monotonic() - began < 4.0
    faulty[0].thaw()
    link.stop()


def test_messages_of_one_moment_leave_in_one_write(virtual_host, monkeypatch):
    written = []
    send = _AsyncTransportBase._sigint_safe_send  # where pika writes to its socket

    def noted(sock, data):
        written.append(len(data))
        return send(sock, data)

    link = Link(virtual_host, "publisher", lambda _channel: None)
    link.start()
    assert link.wait_open(30.0)
    # What opened the link has been written by then.
    link.publish_confirmed([Message("", "quarantine", b"{}")])
    monkeypatch.setattr(_AsyncTransportBase, "_sigint_safe_send", staticmethod(noted))
    link.publish_confirmed([Message("", "quarantine", b"{}")] * 50)
    link.stop()
    assert written[0] > 50 * len("quarantine"), f"the first of {len(written)} writes has {written[0]} bytes"


def test_a_message_that_finds_no_queue_is_not_taken_for_sent(virtual_host):
    link = Link(virtual_host, "publisher", lambda _channel: None)
    link.start()
    assert link.wait_open(30.0)
    with pytest.raises(NotConfirmed, match="no queue"):
        link.publish_confirmed([Message("", "nobody.there", b"{}", message_id="m1")])
    link.publish_confirmed([Message("", "quarantine", b"{}", message_id="m2")])
    link.stop()


def test_an_open_link_has_every_queue_an_event_can_go_to(virtual_host):
    link = Link(virtual_host, "publisher", lambda _channel: None)
    link.start()
    assert link.wait_open(30.0)
    event_queues = {
        topology.event_queue(receiver) for route in EVENTS.values() for receiver in route.receivers
    }
    link.publish_confirmed([Message("", queue, b"{}") for queue in sorted(event_queues)] * 20)
    link.stop()


def test_a_frozen_link_costs_a_caller_its_deadline_and_no_more(faulty, far_probe):
    faulty[0].freeze()
    began = time.monotonic()
    with pytest.raises(ApiError):
        far_probe.echo(CALLER, Words(), timeout_seconds=1.0)
    assert time.monotonic() - began < 4.0


def test_a_frozen_link_is_dropped_and_made_anew(faulty, probe_behind):
    """The proxy never thaws a frozen connection, so only a new connection can bring the answer."""
    faulty[0].freeze_what_is_open()
    answers_within(20.0, lambda: probe_behind.echo(CALLER, Words(), timeout_seconds=1.0))
