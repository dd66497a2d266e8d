"""Receives events. The module has nameko extensions that run a service's handlers for them.

An event's inbox row is written in the transaction of the event's effect. An event that fails is tried again after
delays, then quarantined. While the service's database is away, an event waits without using up its retries.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, NamedTuple, TypeVar

import msgspec
import structlog
from eventlet.queue import LightQueue
from nameko.extensions import Entrypoint, ProviderCollector, SharedExtension, register_entrypoint
from pika.channel import Channel

from chassis.bus import inbox, quarantine, topology
from chassis.bus.frames import UNREADABLE
from chassis.bus.link import Message, NotConfirmed
from chassis.bus.refusals import note_refused
from chassis.bus.service_link import ServiceLink
from chassis.signatures import Refused, Signatures
from chassis.telemetry import logs, tracing
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.events import EVENTS, Event

log = structlog.get_logger()
F = TypeVar("F", bound=Callable[..., Any])
_ATTEMPT = "x-attempt"
#: The most events in one transaction, which bounds how long its row locks are held. Our choice.
_MAX_BATCH = 256


class Received(NamedTuple):
    """An event with the parts of its AMQP delivery that are needed to acknowledge or retry it."""

    channel: Channel
    tag: int
    headers: dict[str, Any]
    body: bytes
    event: Event


class EventConsumer(SharedExtension, ProviderCollector):
    """Consumes the service's event queue, and gives each event to the entrypoint of its name."""

    service_link = ServiceLink()

    def __init__(self) -> None:
        super().__init__()
        self._handlers: dict[str, OnEvent] = {}
        self._messages: LightQueue = LightQueue()
        self._consumer_tag = ""
        self._stopping = False
        self._all_begun = threading.Event()

    def setup(self) -> None:
        self._signatures: Signatures = self.container.config["SIGNATURES"]
        self.service_link.openers.append(self._on_open)

    def register_provider(self, provider: Any) -> None:
        super().register_provider(provider)
        self._handlers.update(dict.fromkeys(provider.events, provider))

    def unregister_provider(self, provider: Any) -> None:
        """Removes an entrypoint. Removing the last one also stops consuming, and returns once every received event has
        been given to its entrypoint."""
        super().unregister_provider(provider)
        if not self._providers and not self._stopping:
            self._stopping = True
            self.service_link.cancel(self._consumer_tag)
            self._messages.put(None)
            self._all_begun.wait()

    def start(self) -> None:
        self.container.spawn_managed_thread(self._dispatch, identifier="event-dispatch")
        self.service_link.start()

    def _on_open(self, channel: Channel) -> None:
        if not self._stopping:
            queue = topology.event_queue(self.container.service_name)
            self._consumer_tag = channel.basic_consume(queue, self._on_message)

    def _on_message(self, channel: Channel, method: Any, properties: Any, body: bytes) -> None:
        self._messages.put((channel, method.delivery_tag, properties.headers or {}, body))

    def _dispatch(self) -> None:
        while (message := self._messages.get()) is not None:
            channel, tag, headers, body = message
            try:
                event = msgspec.json.decode(body, type=Event)
                handler = self._handlers[event.event]
                self._signatures.check_event(headers, EVENTS[event.event].sender, body)
            except (*UNREADABLE, KeyError, Refused) as error:
                if isinstance(error, Refused):
                    note_refused("event", error.reason, error.sender)
                self._set_aside(channel, tag, headers, body, logs.summary_of(error))
                continue
            handler.take(Received(channel, tag, headers, body, event))
        self._all_begun.set()

    def settle(self, batch: Sequence["Received"], error: BaseException | None) -> None:
        """Acknowledges a batch of events that was handled, or schedules a retry of each if the handler raised `error`.

        An event that has no retry left is quarantined.
        """
        if error is not None:
            for one in batch:
                self._try_later(one.channel, one.tag, one.headers, one.body, error)
            return

        def acknowledge() -> None:
            for one in batch:
                if one.channel.is_open:
                    one.channel.basic_ack(one.tag)

        self.service_link.link.call_soon(acknowledge)

    def _try_later(
        self, channel: Channel, tag: int, headers: dict[str, Any], body: bytes, error: BaseException
    ) -> None:
        outage = _is_outage(error)
        attempt = _attempt_of(headers)
        if not outage and attempt >= len(topology.RETRY_SECONDS):
            self._set_aside(channel, tag, headers, body, logs.summary_of(error))
            return
        log.warning("event_failed", attempt=attempt, outage=outage, exc_info=None if outage else error)
        delay = topology.RETRY_SECONDS[min(attempt, len(topology.RETRY_SECONDS) - 1)]
        queue = topology.retry_queue(self.container.service_name, delay)
        again = {**headers, _ATTEMPT: attempt if outage else attempt + 1}
        again.pop("x-death", None)
        try:
            self.service_link.link.publish_confirmed([Message("", queue, body, headers=again)])
        except NotConfirmed:
            self._settle(channel, tag, acknowledged=False)
        else:
            self._settle(channel, tag, acknowledged=True)

    def _set_aside(
        self, channel: Channel, tag: int, headers: dict[str, Any], body: bytes, error: str
    ) -> None:
        queue = topology.event_queue(self.container.service_name)
        kept = quarantine.put(self.service_link.link, queue, headers, body, error)
        self._settle(channel, tag, acknowledged=kept)

    def _settle(self, channel: Channel, tag: int, *, acknowledged: bool) -> None:
        def settle() -> None:
            if channel.is_open:
                channel.basic_ack(tag) if acknowledged else channel.basic_nack(tag, requeue=True)

        self.service_link.link.call_soon(settle)


class OnEvent(Entrypoint):
    """The nameko entrypoint behind `@on_event(name)`: runs a method for each event of that name."""

    consumer = EventConsumer()
    expected_exceptions = (ApiError,)

    def __init__(self, *events: str) -> None:
        super().__init__()
        self.events = events

    def setup(self) -> None:
        self.consumer.register_provider(self)

    def stop(self) -> None:
        self.consumer.unregister_provider(self)

    def take(self, received: Received) -> None:
        self._run([received], received.event)

    def _run(self, batch: list[Received], argument: Any) -> None:
        causes = [one.headers.get(tracing.HEADER, "") for one in batch] if tracing.is_on() else ()
        self.container.spawn_worker(
            self, (argument, causes), {}, handle_result=partial(self._on_result, batch)
        )

    def _on_result(
        self, batch: list[Received], _context: Any, _result: Any, exc_info: Any
    ) -> tuple[None, None]:
        self.consumer.settle(batch, exc_info[1] if exc_info is not None else None)
        return None, None


class OnEvents(OnEvent):
    """The nameko entrypoint behind `@on_events(names)`: runs a method for batches of events.

    While one batch is handled, the next one is collected.
    """

    def __init__(self, *events: str) -> None:
        super().__init__(*events)
        self._waiting: list[Received] = []
        #: Events of a failed batch, which are handled one at a time.
        self._alone: list[Received] = []
        self._is_busy = False

    def take(self, received: Received) -> None:
        self._waiting.append(received)
        if not self._is_busy:
            self._run_waiting()

    def _run_waiting(self) -> None:
        if self._alone:
            batch = [self._alone.pop()]
        else:
            batch, self._waiting = self._waiting[:_MAX_BATCH], self._waiting[_MAX_BATCH:]
        self._is_busy = bool(batch)
        if batch:
            self._run(batch, [one.event for one in batch])

    def _on_result(
        self, batch: list[Received], _context: Any, _result: Any, exc_info: Any
    ) -> tuple[None, None]:
        if len(batch) > 1 and exc_info is not None and not _is_outage(exc_info[1]):
            self._alone += batch  # one of them is invalid, and the others must not fail with it
        else:
            self.consumer.settle(batch, exc_info[1] if exc_info is not None else None)
        self._run_waiting()
        return None, None


def _attempt_of(headers: dict[str, Any]) -> int:
    attempt = headers.get(_ATTEMPT)
    return max(attempt, 0) if isinstance(attempt, int) else 0


def _is_outage(error: BaseException) -> bool:
    return isinstance(error, ApiError) and error.row is SERVICE_UNAVAILABLE


def on_events(*names: str) -> Callable[[F], F]:
    """Marks `def handler(self, connection, events)`, which handles a batch of events. Used for frequent events.

    Events that wait at the same time share a transaction. Each event is handled once. If one fails, the others are not
    affected.
    """

    def mark(function: F) -> F:
        @wraps(function)
        def handle(self: Any, events: list[Event], causes: Sequence[str] = ()) -> None:
            with tracing.handling(self.name, events, causes), self.database.transaction() as connection:
                ids = inbox.record_all(connection, [event.id for event in events])
                new = {event.id: event for event in events if event.id in ids}
                if new:
                    function(self, connection, list(new.values()))

        register_entrypoint(handle, OnEvents(*names))
        return handle  # type: ignore[return-value]

    return mark


def on_event(name: str) -> Callable[[F], F]:
    """Marks `def handler(self, connection, event)`, which runs once per event, in the transaction of its inbox row.

    The service class needs a `database`. A handler must be quick: for slow work it writes a row, which a worker loop
    claims.
    """

    def mark(function: F) -> F:
        @wraps(function)
        def handle(self: Any, event: Event, causes: Sequence[str] = ()) -> None:
            with tracing.handling(self.name, [event], causes), self.database.transaction() as connection:
                if inbox.record(connection, event.id):
                    function(self, connection, event)

        register_entrypoint(handle, OnEvent(name))
        return handle  # type: ignore[return-value]

    return mark
