"""Counters, histograms and gauges, declared in the modules that use them. While telemetry is off they record nothing.

An attribute, such as a route, a platform or an error code, has a fixed set of values; no attribute is an id. `DECLARED`
holds every instrument by name, so that tests can compare it with dashboards and rules.

Values are added up here and converted to the SDK's records when they are sent (`snapshots`): the SDK's instruments take
6 to 7 µs for each value, this module's less than one. A count may be lost if two real threads record at once; services
and the gateway have only green threads.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

import structlog

log = structlog.get_logger()

Value = str | int | bool
Attributes = Mapping[str, Value]
#: A value and its attributes.
Reading = tuple[float, Attributes]
Key = tuple[tuple[str, Value], ...]
Sum = TypeVar("Sum")

#: Limit of distinct attribute sets of an instrument; values beyond it are not recorded, because only a mistake has so
#: many. The SDK's default.
_MAX_KEYS = 2_000
#: Upper bounds of buckets in seconds. For answers: OpenTelemetry's. For work that may wait: from a tenth of a second to
#: an hour, after which only its age matters.
ANSWER_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
WAIT_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)


class Instrument:
    """Base class of metrics. `unit` is written as in OTLP, for example s, By or {post}."""

    def __init__(self, name: str, unit: str, description: str) -> None:
        self.name, self.unit, self.description = name, unit, description
        DECLARED[name] = self

    def forget(self) -> None:
        """Deletes all recorded values."""


class Summed(Instrument, Generic[Sum]):
    """A metric that adds up values, separately for each combination of attributes."""

    def __init__(self, name: str, unit: str, description: str) -> None:
        super().__init__(name, unit, description)
        self.sums: dict[Key, Sum] = {}

    def forget(self) -> None:
        self.sums = {}


class Counter(Summed[float]):
    """A metric whose value only grows."""

    def add(self, amount: float, attributes: Attributes | None = None) -> None:
        if not _is_on:
            return
        key = tuple(attributes.items()) if attributes else ()
        if key in self.sums or len(self.sums) < _MAX_KEYS:
            self.sums[key] = self.sums.get(key, 0.0) + amount


class Buckets:
    """The content of a histogram: how many values fell in each bucket, their sum, minimum and maximum."""

    __slots__ = ("counts", "max", "min", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        self.min, self.max = float("inf"), 0.0


class Histogram(Summed[Buckets]):
    """A metric that counts values by size, in buckets."""

    def __init__(self, name: str, unit: str, description: str, bounds: tuple[float, ...]) -> None:
        super().__init__(name, unit, description)
        self.bounds = bounds

    def record(self, value: float, attributes: Attributes | None = None) -> None:
        """Records a value. A negative value, which two different clocks may give, counts as zero."""
        if not _is_on:
            return
        key = tuple(attributes.items()) if attributes else ()
        found = self.sums.get(key)
        if found is None:
            if len(self.sums) >= _MAX_KEYS:
                return
            found = self.sums[key] = Buckets(self.bounds)
        value = max(value, 0.0)
        found.counts[bisect_left(self.bounds, value)] += 1
        found.total += value
        found.min, found.max = min(found.min, value), max(found.max, value)


class Gauge(Instrument):
    """A metric that is read only when metrics are sent, so that its queries cost nothing while telemetry is off."""

    def __init__(self, name: str, unit: str, description: str) -> None:
        super().__init__(name, unit, description)
        self._watched: list[Callable[[], Iterable[Reading]]] = []

    def watch(self, read: Callable[[], Iterable[Reading]]) -> None:
        """Adds a function that returns the gauge's values. If the function fails, the export leaves its values out."""
        self._watched.append(read)

    def readings(self) -> list[Reading]:
        found: list[Reading] = []
        for read in self._watched:
            try:
                found += read()
            except Exception as error:  # noqa: BLE001 - an unavailable database hides only its own readings
                log.debug("gauge_not_read", gauge=self.name, reason=str(error))
        return found


#: Every instrument of this process, by name.
DECLARED: dict[str, Instrument] = {}
_is_on = False


def switch_on() -> None:
    global _is_on
    _is_on = True


def switch_off() -> None:
    """Stops recording, and deletes all recorded values."""
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
