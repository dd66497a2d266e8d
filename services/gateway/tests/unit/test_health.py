"""GET /readyz answers one word and pings the services at most once a second. A service that hangs does not delay it."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.health import Readiness

SERVICES = ("accounts", "quota", "publishing")


class Clock:
    """A monotonic clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def readiness(bus: Any, clock: Clock) -> Readiness:
    return Readiness(bus, SERVICES, clock)


def test_the_answer_is_a_word_and_names_no_service(client: Any, bus: Any) -> None:
    bus.away = {"quota": "no process consumes its calls"}
    response = client.get("/readyz")
    assert (response.status_code, response.json) == (503, {"status": "unready"})


def test_the_answer_of_a_whole_installation(client: Any) -> None:
    response = client.get("/readyz")
    assert (response.status_code, response.json) == (200, {"status": "ready"})


def test_a_result_is_shared_for_a_second(readiness: Readiness, bus: Any, clock: Clock) -> None:
    assert readiness.is_ready()
    bus.away = {"quota": "gone"}
    clock.now += 0.99
    assert readiness.is_ready()
    assert bus.pings == list(SERVICES)
    clock.now += 0.01
    assert not readiness.is_ready()
    assert bus.pings == list(SERVICES) * 2


def test_those_who_ask_while_services_are_being_asked_share_the_result(bus: Any, clock: Clock) -> None:
    waiting: list[Callable[[], None]] = []

    class Slow:
        def start_ping(self, service: str, timeout_seconds: float, then: Callable[[Any], None]) -> None:
            waiting.append(lambda: bus.start_ping(service, timeout_seconds, then))

    readiness = Readiness(Slow(), SERVICES, clock)
    answers: list[bool] = []
    askers = [threading.Thread(target=lambda: answers.append(readiness.is_ready())) for _ in range(20)]
    for asker in askers:
        asker.start()
    while len(waiting) < len(SERVICES):
        askers[0].join(0.01)
    for answer in waiting:
        answer()
    for asker in askers:
        asker.join(30)
    assert answers == [True] * 20
    assert bus.pings == list(SERVICES)


def test_a_service_that_never_answers_holds_nobody_beyond_the_deadline(
    readiness: Readiness, bus: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.health.READY_SECONDS", 0.05)
    bus.silent = {"quota"}
    assert not readiness.is_ready()
    clock.now += 0.04
    assert not readiness.is_ready()
    assert bus.pings == list(SERVICES)


def test_after_the_deadline_the_services_are_asked_again(
    readiness: Readiness, bus: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.health.READY_SECONDS", 0.05)
    bus.silent = {"quota"}
    assert not readiness.is_ready()
    bus.silent = set()
    clock.now += 0.1
    assert readiness.is_ready()


def test_the_log_says_once_which_services_are_away_and_why(
    readiness: Readiness, bus: Any, clock: Clock
) -> None:
    with capture_logs() as lines:
        for away in ({}, {"quota": "gone"}, {"quota": "gone"}, {}):
            bus.away = away
            readiness.is_ready()
            clock.now += 1
    logged = [line for line in lines if line["event"].startswith("services_")]
    assert [line["event"] for line in logged] == ["services_away", "services_answer"]
    assert logged[0]["services"] == {"quota": "gone"}
