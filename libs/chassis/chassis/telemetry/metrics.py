"""Instruments: declared where they are used, recorded into nothing while telemetry is off.

Attributes are of low cardinality: names from tables (route, method, platform, code), never ids. A declared
instrument is known by its name, so that a test can hold dashboards and rules against `DECLARED`.

What is recorded is added up here, a microsecond each, where the SDK's instruments take six; `exporting` puts it into
the SDK's records when it is sent. In real threads (never in a service or the gateway) a count may be lost.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

import structlog

log = structlog.get_logger()

Value = str | int | bool
Attributes = Mapping[str, Value]
#: A value and what it is the value of.
Reading = tuple[float, Attributes]
Key = tuple[tuple[str, Value], ...]
Sum = TypeVar("Sum")

#: Attributes that one instrument tells apart; what comes beyond that is a mistake, and not recorded. Our choice.
_MOST_KEYS = 2_000
#: Upper bounds in seconds. Of answers: OpenTelemetry's own. Of work that may wait: our choice.
ANSWER_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
WAIT_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)


class Instrument:
    """What all have in common. `unit` as OTLP writes it (s, By, {post})."""

    def __init__(self, name: str, unit: str, description: str) -> None:
        self.name, self.unit, self.description = name, unit, description
        DECLARED[name] = self

    def forget(self) -> None:
        """Begins anew."""


class Recorded(Instrument, Generic[Sum]):
    """One that adds up what is recorded, by attributes."""

    def __init__(self, name: str, unit: str, description: str) -> None:
        super().__init__(name, unit, description)
        self.sums: dict[Key, Sum] = {}

    def forget(self) -> None:
        self.sums = {}


class Counter(Recorded[float]):
    """Only ever grows."""

    def add(self, amount: float, attributes: Attributes | None = None) -> None:
        if not _is_on:
            return
        key = tuple(attributes.items()) if attributes else ()
        if key in self.sums or len(self.sums) < _MOST_KEYS:
            self.sums[key] = self.sums.get(key, 0.0) + amount


class Spread:
    """How many values came up to each bound, what they come to, and the two at the ends."""

    __slots__ = ("counts", "least", "most", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        self.least, self.most = float("inf"), 0.0


class Histogram(Recorded[Spread]):
    """How often which values came."""

    def __init__(self, name: str, unit: str, description: str, bounds: tuple[float, ...]) -> None:
        super().__init__(name, unit, description)
        self.bounds = bounds

    def record(self, value: float, attributes: Attributes | None = None) -> None:
        """Below zero (two clocks) is zero."""
        if not _is_on:
            return
        key = tuple(attributes.items()) if attributes else ()
        spread = self.sums.get(key)
        if spread is None:
            if len(self.sums) >= _MOST_KEYS:
                return
            spread = self.sums[key] = Spread(self.bounds)
        value = max(value, 0.0)
        spread.counts[bisect_left(self.bounds, value)] += 1
        spread.total += value
        spread.least, spread.most = min(spread.least, value), max(spread.most, value)


class Gauge(Instrument):
    """Asked for whenever metrics are sent, and only then: a question to the database costs nothing while off."""

    def __init__(self, name: str, unit: str, description: str) -> None:
        super().__init__(name, unit, description)
        self._watched: list[Callable[[], Iterable[Reading]]] = []

    def watch(self, read: Callable[[], Iterable[Reading]]) -> None:
        """Asks `read` from now on, besides those it asks already. What it raises means: not known now."""
        self._watched.append(read)

    def readings(self) -> list[Reading]:
        found: list[Reading] = []
        for read in self._watched:
            try:
                found += read()
            except Exception as error:  # noqa: BLE001 - a database that is away hides only what it would have said
                log.debug("gauge_not_read", gauge=self.name, reason=str(error))
        return found


#: Every instrument of this process, by name.
DECLARED: dict[str, Instrument] = {}
_is_on = False


def switch_on() -> None:
    global _is_on
    _is_on = True


def switch_off() -> None:
    """What was recorded is forgotten."""
    global _is_on
    _is_on = False
    for instrument in DECLARED.values():
        instrument.forget()


HTTP_DURATION = Histogram(
    "http.server.request.duration", "s", "Requests by route, method and status.", ANSWER_SECONDS
)
RPC_DURATION = Histogram(
    "rpc.server.call.duration",
    "s",
    "Calls by service and method; error.type of those that failed.",
    ANSWER_SECONDS,
)
EVENT_DURATION = Histogram(
    "messaging.process.duration", "s", "Events handled, by service and event; error.type of those that failed.",
    ANSWER_SECONDS,
)  # fmt: skip
OUTBOUND_DURATION = Histogram(
    "http.client.request.duration",
    "s",
    "Calls to platforms and providers by host and status.",
    ANSWER_SECONDS,
)
CONNECTIONS = Gauge(
    "db.client.connection.count", "{connection}", "Connections of the pool, by state (used, idle)."
)
CONNECTIONS_MAX = Gauge("db.client.connection.max", "{connection}", "The most that the pool may open.")
POOL_USED = Gauge("posthaste.pool.used", "{task}", "Tasks that run in a pool of workers.")
POOL_SIZE = Gauge("posthaste.pool.size", "{task}", "Tasks that fit into it.")
OUTBOX_AGE = Gauge(
    "posthaste.outbox.age", "s", "How long the oldest staged event has been waiting to be sent."
)
OUTBOX_WAITING = Gauge("posthaste.outbox.waiting", "{event}", "Staged events that have not been sent.")
QUARANTINED = Counter(
    "posthaste.messages.quarantined", "{message}", "Messages nobody could handle, by queue."
)
REFUSED = Counter(
    "posthaste.messages.refused",
    "{message}",
    "Calls, replies and events whose sender is not proven or may not send them, by kind, sender and reason.",
)
DROPPED_SPANS = Counter("posthaste.telemetry.dropped", "{span}", "Spans that could not be exported.")
