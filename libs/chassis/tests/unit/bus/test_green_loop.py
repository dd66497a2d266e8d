"""The RPC loop in a green thread: what wakes it, under eventlet and under gevent."""

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import eventlet
import gevent
import pytest
from eventlet import patcher
from pika.adapters.select_connection import PollEvents

from chassis.bus import green_loop
from chassis.bus.green_loop import Loop
from chassis.runtime.eventlet_hub import EventletHub
from chassis.runtime.green import GeventHub

WAIT_SECONDS = 30
HUBS: dict[str, tuple[type, Any]] = {"eventlet": (EventletHub, eventlet), "gevent": (GeventHub, gevent)}

#: Prepares a loop that is about to start. The function starts a green thread beside it.
Scenario = Callable[[Loop, Callable[[Callable[[], object]], object]], object]


@pytest.fixture(params=HUBS)
def play(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Scenario], None]:
    """Runs a loop until the scenario stops it. Uses a new thread of the system, because each thread has only one
    hub.
    """
    hub, green = HUBS[request.param]
    monkeypatch.setattr(green_loop, "_hub", hub())

    def play(scenario: Scenario) -> None:
        ended = []

        def run() -> None:
            loop = Loop()
            scenario(loop, green.spawn)
            with green.Timeout(WAIT_SECONDS):
                loop.start()
            loop.close()
            ended.append(True)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join(2 * WAIT_SECONDS)
        assert ended

    return play


def test_another_green_thread_wakes_it_without_the_pipe(play: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = []

    def scenario(loop: Loop, spawn: Any) -> None:
        loop._poller._w_interrupt.close()  # a byte in the pipe would be an error
        loop.call_later(WAIT_SECONDS * 2, lambda: None)

        def call() -> None:
            noted.append("called")
            loop.stop()

        spawn(lambda: loop.add_callback_threadsafe(call))

    play(scenario)
    assert noted == ["called"]


def test_a_real_thread_wakes_it(play: Any) -> None:
    def scenario(loop: Loop, spawn: Any) -> None:
        wake = threading.Thread(target=lambda: loop.add_callback_threadsafe(loop.stop))
        loop.call_later(0.01, wake.start)

    play(scenario)


def test_its_timers_fire_in_order_also_when_an_earlier_one_is_set_last(play: Any) -> None:
    fired = []

    def scenario(loop: Loop, spawn: Any) -> None:
        loop.call_later(0.05, lambda: (fired.append("late"), loop.stop()))
        loop.call_later(0.01, lambda: fired.append("early"))
        loop.call_later(0.02, lambda: loop.call_later(0.01, lambda: fired.append("middle")))

    play(scenario)
    assert fired == ["early", "middle", "late"]


def test_other_green_threads_run_while_its_callbacks_never_end(play: Any) -> None:
    def scenario(loop: Loop, spawn: Any) -> None:
        def again() -> None:
            loop.add_callback_threadsafe(again)

        again()
        spawn(loop.stop)

    play(scenario)


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_a_file_is_reported_as_long_as_it_can_be_read(play: Any, sockets: Any) -> None:
    read = []
    ours, theirs = sockets

    def scenario(loop: Loop, spawn: Any) -> None:
        def on_readable(_file: int, events: int) -> None:
            read.append((events, ours.recv(1)))
            if len(read) == 3:
                loop.remove_handler(ours.fileno())
                loop.call_later(0.01, loop.stop)

        theirs.send(b"abcd")
        loop.add_handler(ours.fileno(), on_readable, PollEvents.READ)

    play(scenario)
    assert read == [(PollEvents.READ, b"a"), (PollEvents.READ, b"b"), (PollEvents.READ, b"c")]


def test_a_file_is_reported_as_writable_only_while_that_is_asked_for(play: Any, sockets: Any) -> None:
    events_seen = []
    ours, theirs = sockets

    def scenario(loop: Loop, spawn: Any) -> None:
        def on_event(_file: int, events: int) -> None:
            events_seen.append(events)
            if events & PollEvents.WRITE:
                loop.update_handler(ours.fileno(), PollEvents.READ)
                theirs.send(b"x")
            else:
                loop.stop()

        loop.add_handler(ours.fileno(), on_event, PollEvents.READ)
        loop.update_handler(ours.fileno(), PollEvents.READ | PollEvents.WRITE)

    play(scenario)
    assert events_seen == [PollEvents.WRITE, PollEvents.READ]


def test_every_round_ends_with_the_callback_before_the_wait(play: Any) -> None:
    order = []

    def scenario(loop: Loop, spawn: Any) -> None:
        loop.before_wait = lambda: order.append("before the wait")
        loop.add_callback_threadsafe(lambda: order.append("callback"))
        loop.call_later(0.02, loop.stop)

    play(scenario)
    assert order[order.index("callback") + 1] == "before the wait"


def test_without_a_hub_pika_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(green_loop, "_hub", None)
    loop = Loop()
    loop.call_later(0.0, loop.stop)
    loop.start()
    loop.close()
    assert type(loop._poller).__module__ == "pika.adapters.select_connection"


def test_the_thread_is_the_operating_system_s() -> None:
    own = patcher.original("threading").get_ident()
    assert [hub().thread() for hub, _ in HUBS.values()] == [own, own]
