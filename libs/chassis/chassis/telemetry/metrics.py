"""Instruments: declared where they are used, recorded into nothing while telemetry is off.

Attributes are of low cardinality: names from tables (route, method, platform, code), never ids. A declared
instrument is known by its name, so that a test can hold dashboards and rules against `DECLARED`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import structlog

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

log = structlog.get_logger()

Attributes = Mapping[str, str | int | bool]
#: A value and what it is the value of.
Reading = tuple[float, Attributes]

#: Upper bounds in seconds. Of answers: OpenTelemetry's own. Of work that may wait: our choice.
ANSWER_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
WAIT_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)


class Instrument:
    """What all have in common. `unit` as OTLP writes it (s, By, {post})."""

    def __init__(self, name: str, unit: str, description: str) -> None:
        self.name, self.unit, self.description = name, unit, description
        self._made: Any = None
        DECLARED[name] = self
        if _meter is not None:
            self.switch_on(_meter)

    def switch_on(self, meter: "Meter") -> None:
        raise NotImplementedError

    def switch_off(self) -> None:
        self._made = None


#: Every instrument of this process, by name.
DECLARED: dict[str, Instrument] = {}
_meter: "Meter | None" = None


class Counter(Instrument):
    """Only ever grows."""

    def switch_on(self, meter: "Meter") -> None:
        self._made = meter.create_counter(self.name, self.unit, self.description)

    def add(self, amount: float, attributes: Attributes | None = None) -> None:
        if self._made is not None:
            self._made.add(amount, attributes)


class Histogram(Instrument):
    """How often which values came."""

    def __init__(self, name: str, unit: str, description: str, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        super().__init__(name, unit, description)

    def switch_on(self, meter: "Meter") -> None:
        self._made = meter.create_histogram(
            self.name, self.unit, self.description, explicit_bucket_boundaries_advisory=self.bounds
        )

    def record(self, value: float, attributes: Attributes | None = None) -> None:
        if self._made is not None:
            self._made.record(max(value, 0.0), attributes)


class Gauge(Instrument):
    """Asked for whenever metrics are sent, and only then: a question to the database costs nothing while off."""

    def __init__(self, name: str, unit: str, description: str) -> None:
        self._watched: list[Callable[[], Iterable[Reading]]] = []
        super().__init__(name, unit, description)

    def switch_on(self, meter: "Meter") -> None:
        from opentelemetry.metrics import CallbackOptions, Observation

        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            return [Observation(value, attributes) for value, attributes in self.readings()]

        self._made = meter.create_observable_gauge(self.name, [observe], self.unit, self.description)

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


def switch_on(meter: "Meter") -> None:
    global _meter
    _meter = meter
    for instrument in DECLARED.values():
        instrument.switch_on(meter)


def switch_off() -> None:
    global _meter
    _meter = None
    for instrument in DECLARED.values():
        instrument.switch_off()


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
DROPPED_SPANS = Counter("posthaste.telemetry.dropped", "{span}", "Spans that could not be exported.")
