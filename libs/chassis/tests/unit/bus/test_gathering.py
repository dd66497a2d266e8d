"""When calls are sent: at once if none is waiting for an answer, otherwise together. A lost answer never delays
others.
"""

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from chassis.bus import rpc
from chassis.bus.frames import Call, Method, decode_requests
from contracts.caller import Caller
from contracts.record import Nothing
from testkit.fixtures import signed_by

CALLER = Caller(account_id="usr_1", user_id="usr_1")
METHOD = Method(name="echo", request=Nothing, result=Nothing)


class Link:
    """Runs functions for the I/O thread at once. Keeps frames and timers."""

    def __init__(self):
        self.channel = self
        self.frames = []
        self.timers = []

    def call_soon(self, function):
        function()

    def call_later(self, seconds, function):
        assert seconds == rpc.GATHER_SECONDS
        self.timers.append(function)

    def start(self):
        pass

    def basic_consume(self, queue, on_message, auto_ack):
        assert auto_ack

    def add_on_return_callback(self, on_return):
        pass

    def basic_publish(self, exchange, queue, body, properties, mandatory):
        assert (exchange, queue, mandatory) == ("", "rpc.probe", True)
        self.frames.append([call.id for call in decode_requests(body).calls])


class Bus:
    def __init__(self):
        self.link = Link()
        self.ready = True
        self.connection_name = "c1"
        self.signatures = signed_by("gateway")


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that moves only when the test moves it."""
    moment = [1000.0]
    monkeypatch.setattr(rpc.time, "monotonic", lambda: moment[0])
    return moment


@pytest.fixture
def line(now: list[float]) -> Any:
    bus = Bus()
    line = rpc._SendQueue(bus, "probe")
    line.link = bus.link
    return line


def call(line, number, now, seconds=10.0):
    message = Call(
        id=number, method="echo", ttl=seconds, caller=Raw(b"{}"), request=Raw(msgspec.json.encode({}))
    )
    pending = rpc.PendingCall("probe", METHOD, message, now[0] + seconds)
    line.add(pending)
    return pending


def test_a_call_on_an_idle_line_leaves_at_once(line, now):
    call(line, 1, now)
    assert line.link.frames == [[1]]


def test_calls_gather_while_an_answer_is_awaited_and_leave_with_it(line, now):
    first = call(line, 1, now)
    for number in (2, 3, 4):
        call(line, number, now)
    assert line.link.frames == [[1]]
    line.answered(first.frame_id)
    line.flush_if_free()
    assert line.link.frames == [[1], [2, 3, 4]]


def test_calls_leave_after_the_longest_wait_when_no_answer_comes(line, now):
    for number in (1, 2, 3):
        call(line, number, now)
    assert len(line.link.timers) == 1
    line.link.timers[0]()
    assert line.link.frames == [[1], [2, 3]]


def test_a_frame_that_is_never_answered_holds_up_nobody_for_ever(line, now):
    call(line, 1, now)
    now[0] += rpc.FRESH_SECONDS * 2
    call(line, 2, now)
    assert line.link.frames == [[1], [2]]


def test_a_call_whose_time_is_up_before_it_left_is_not_sent(line, now):
    call(line, 1, now)
    call(line, 2, now, seconds=0.001)
    call(line, 3, now)
    now[0] += 0.002
    line.link.timers[0]()
    assert line.link.frames == [[1], [3]]


def test_nothing_is_sent_before_replies_can_be_received(line, now):
    line._bus.ready = False
    call(line, 1, now)
    assert line.link.frames == []
    line._bus.ready = True
    line.reset()
    assert line.link.frames == [[1]]


@pytest.fixture
def bus(now: list[float], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A real bus over a fake link. `_on_open` connects the link, `_lost` loses it."""
    monkeypatch.setattr(rpc, "Link", lambda *_arguments: Link())
    bus = rpc.Bus("amqp://nowhere", signed_by("gateway"), "test")
    bus._lost()
    return bus


def started(bus, seconds=10.0):
    return bus.start("probe", METHOD, CALLER, Nothing(), seconds)


def waiting_of(bus):
    return list(bus._queues["probe"]._waiting)


def test_calls_that_were_refused_without_a_broker_are_not_kept(bus, now):
    now[0] += rpc.DISCONNECTED_SECONDS * 2
    refused = [started(bus) for _ in range(100)]
    bus._tick()
    assert all(pending.has_ended for pending in refused)
    assert waiting_of(bus) == []


def test_calls_whose_callers_gave_up_before_the_first_connection_are_not_kept(bus, now):
    started(bus, seconds=0.5)
    now[0] += 0.6
    later = started(bus)
    bus._tick()
    assert waiting_of(bus) == [later]


def test_a_call_that_came_after_the_others_were_refused_leaves_on_the_new_connection(bus, now):
    now[0] += rpc.DISCONNECTED_SECONDS * 2
    started(bus)
    bus._tick()
    kept = started(bus)
    bus._on_open(bus.link)
    assert bus.link.frames == [[kept.call.id]]
