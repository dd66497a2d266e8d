"""Calls services over one connection per process, with calls batched into frames.

`bus = connect(amqp_url, signatures)`, `publishing = bus.service("publishing")`, `publishing.schedule_post(caller,
request)`. Works in real threads (the gateway) and in green threads (services). Calls raise only ApiError: the service's
refusal, or SERVICE_UNAVAILABLE when no answer came in time.

If the broker is away, or no process consumes the service's calls (`consumer_watch.py`), a call raises `ServiceAway`
within 2 s. `ServiceAway` is a kind of SERVICE_UNAVAILABLE. Further calls are refused at once as long as the outage
lasts. If a process or connection is lost during a call, the call may have run, or may still run until its deadline. So
after any SERVICE_UNAVAILABLE repeat a write with the same operation id.

Batching is adaptive. A call is sent at once if all earlier frames to its service have been answered. Otherwise the call
waits until they are, but at most 2 ms, and is then sent together with the other waiting calls. A frame that is
unanswered for longer than 20 ms delays no calls.
"""

import itertools
import math
import secrets
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
import pika
import structlog
from msgspec import Raw
from pika.channel import Channel

from chassis.bus import topology
from chassis.bus.clients import Clients
from chassis.bus.consumer_watch import ConsumerWatch
from chassis.bus.frames import (
    MAX_FRAME_BYTES,
    PING,
    UNREADABLE,
    Call,
    Method,
    RequestFrame,
    decode_replies,
    encode,
)
from chassis.bus.link import Link
from chassis.bus.pending import PendingCall, ServiceAway, failed, unavailable
from chassis.bus.refusals import note_refused
from chassis.signatures import Refused, Signatures
from chassis.telemetry import tracing
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.events import Event
from contracts.record import Nothing, Record

log = structlog.get_logger()

#: Frames to one service that may be unanswered before calls wait for a batch. Architecture "Speed" allows one or two:
#: with two, a read at 64 connections cost a fifth more CPU.
FRAMES_ON_THEIR_WAY = 1
#: The longest that a call waits for a batch. Architecture, "Speed".
GATHER_SECONDS = 0.002
#: A frame that is unanswered for longer delays no others: its calls are slow, or will never be answered. Usual calls
#: take some milliseconds.
FRESH_SECONDS = 0.02
#: How long after its deadline a call without a waiting thread is ended.
_SWEEP_SECONDS = 0.5
#: After this time without an answer, the caller asks the broker for the service's consumers. Two checks, a tick (0.25
#: s) apart, and the tick before them make it 1.5 s until the call is refused.
UNANSWERED_SECONDS = 1.0
#: Calls are refused after this time without a connection. A lost one is usually back in 0.1 s.
DISCONNECTED_SECONDS = 1.5
#: The reason given for refusing calls to an absent service.
NOBODY = "no process consumes its calls"
_REPLY_TO = "amq.rabbitmq.reply-to"


def connect(amqp_url: str, signatures: Signatures, name: str = "") -> "Bus":
    """Returns a bus that connects to RabbitMQ in the background; the first call waits for the connection.

    `signatures` sign the calls; `name` is the connection's name at the broker.
    """
    return Bus(amqp_url, signatures, name or signatures.name)


class Bus(Clients):
    """One process's connection to all services. Thread safe."""

    def __init__(self, amqp_url: str, signatures: Signatures, name: str) -> None:
        self.signatures = signatures
        #: Starts at a random number, so that a replayed reply matches no call of this process.
        self._ids = itertools.count(secrets.randbits(40))
        self._pending: dict[int, PendingCall] = {}
        self._queues: dict[str, _SendQueue] = {}
        self._on_event: Callable[[Event], None] | None = None
        self._on_reset: Callable[[], None] = lambda: None
        #: A new name for each connection, because the broker keeps the order of frames only within one.
        self.connection_name = ""
        #: Whether replies can be received. Until then nothing may be sent, or the broker closes the channel.
        self.ready = False
        #: Since when there has been no connection (monotonic). The first connection may take until the calls'
        #: deadlines.
        self._disconnected_at = math.inf
        self.link = Link(amqp_url, name, self._on_open, self._lost, self._tick)
        self.link.start()

    def ping(self, service: str, timeout_seconds: float = 2.0) -> None:
        """Pings a service. Raises ApiError when the service or its database does not answer in time."""
        self.start_ping(service, timeout_seconds).result()

    def start_ping(
        self, service: str, timeout_seconds: float, then: Callable[[PendingCall], None] | None = None
    ) -> PendingCall:
        """Sends a ping without waiting for its answer. `then` is called with the call once it is answered or has
        failed.
        """
        method = Method(name=PING, request=Nothing, result=Nothing)
        caller = Caller(account_id="", user_id="")
        return self.start(service, method, caller, Nothing(), timeout_seconds, then)

    def subscribe(self, on_event: Callable[[Event], None], on_reset: Callable[[], None]) -> None:
        """Receives broadcasts from now on, and passes each to `on_event`.

        `on_reset` is called when some broadcasts may have been missed. Both functions must be quick.
        """
        self._on_event, self._on_reset = on_event, on_reset
        self.link.call_soon(self._consume_broadcasts)

    def close(self) -> None:
        self.link.stop()

    def start(
        self,
        service: str,
        method: Method,
        caller: Caller,
        request: Record,
        timeout_seconds: float,
        then: Callable[[PendingCall], None] | None = None,
    ) -> PendingCall:
        """Sends a call without waiting for its answer. `then` is called with the call once it is answered or has
        failed.

        If no answer comes, `then` is called soon after the call's deadline.
        """
        span, traceparent = tracing.calling(service, method.name)
        call = Call(
            id=next(self._ids),
            method=method.name,
            ttl=timeout_seconds,
            caller=Raw(encode(caller)),
            request=Raw(encode(request)),
            traceparent=traceparent,
        )
        pending = PendingCall(service, method, call, time.monotonic() + timeout_seconds)
        pending.forget, pending.then, pending.span = self._forget, then, span
        self._pending[call.id] = pending
        queue = self._queues.get(service) or self._queues.setdefault(service, _SendQueue(self, service))
        queue.add(pending)
        return pending

    # -- I/O thread -----------------------------------------------------------------------------------

    def _on_open(self, channel: Channel) -> None:
        channel.basic_consume(_REPLY_TO, self._on_replies, auto_ack=True)
        channel.add_on_return_callback(self._on_return)
        self._consume_broadcasts()
        self.connection_name = secrets.token_hex(8)
        self.ready = True
        for queue in list(self._queues.values()):
            queue.reset()

    def _tick(self) -> None:
        """Fails calls past their deadline, and every call once the broker has been away for DISCONNECTED_SECONDS. If a
        service has not answered a call for UNANSWERED_SECONDS, asks the broker whether any process consumes its queue.

        Runs every TICK_SECONDS.
        """
        now = time.monotonic()
        is_cut_off = not self.ready and self._disconnected_at < now - DISCONNECTED_SECONDS
        unanswered: set[str] = set()
        for pending in list(self._pending.values()):
            if pending.deadline < now - _SWEEP_SECONDS:
                self._fail(pending.call.id, "did not answer in time")
            elif is_cut_off:
                self._fail(pending.call.id, "there is no connection to the broker", ServiceAway)
            elif pending.sent_at and pending.sent_at < now - UNANSWERED_SECONDS:
                unanswered.add(pending.service)
        for service, queue in list(self._queues.items()):
            if not self.ready:
                queue.drop_ended()
            elif service in unanswered or queue.watch.is_away:
                queue.watch.look()

    def _consume_broadcasts(self) -> None:
        channel = self.link.channel
        if channel is None or self._on_event is None:
            return

        def on_declared(frame: Any) -> None:
            queue = frame.method.queue
            channel.queue_bind(queue, topology.BROADCAST_EXCHANGE)
            channel.basic_consume(queue, self._on_broadcast, auto_ack=True)
            self._on_reset()

        channel.queue_declare("", exclusive=True, callback=on_declared)

    def _on_broadcast(self, _channel: Channel, _method: Any, _properties: Any, body: bytes) -> None:
        try:
            event = msgspec.json.decode(body, type=Event)
            if self._on_event is not None:
                self._on_event(event)
        except UNREADABLE:
            log.warning("broadcast_malformed")

    def _on_replies(self, _channel: Channel, _method: Any, properties: Any, body: bytes) -> None:
        try:
            signed_by = self.signatures.sender_of_reply(properties.app_id, body)
            frame = decode_replies(body)
        except Refused as error:
            note_refused("reply", error.reason, error.sender)
            return
        except UNREADABLE:
            log.error("reply_malformed")
            return
        service = ""
        for reply in frame.replies:
            pending = self._pending.get(reply.id)
            if pending is None:
                continue  # the reply came after the deadline
            if signed_by != pending.service:
                note_refused("reply", "not the called service", signed_by, service=pending.service)
                continue
            if self._pending.pop(reply.id, None) is None:
                continue  # the caller gave up meanwhile
            service = pending.service
            self._queues[service].answered(pending.frame_id)
            pending.finish(reply.result, failed(service, reply.error))
        if service:
            self._queues[service].flush_if_free()

    def _on_return(self, _channel: Channel, method: Any, _properties: Any, body: bytes) -> None:
        """Fails calls to a service whose queue does not exist: it was never started on this broker."""
        for call in msgspec.json.decode(body, type=RequestFrame).calls:
            self._fail(call.id, f"{method.routing_key} does not exist", ServiceAway)

    def _lost(self) -> None:
        """Fails the calls that were sent over the lost connection, because their answers are lost too. Calls that were
        not sent yet wait for the next connection."""
        self.ready, self._disconnected_at = False, time.monotonic()
        for pending in list(self._pending.values()):
            if pending.sent_at:
                self._fail(pending.call.id, "the connection to the broker was lost")
        self._on_reset()

    def refuse(self, pending: PendingCall, reason: str) -> None:
        """Fails a call that was not sent, with the error `ServiceAway`; `reason` is for the operator."""
        self._fail(pending.call.id, reason, ServiceAway)

    def give_up(self, service: str, after_frame: int) -> None:
        """Fails the calls that wait in the queue of a service that does not run: those in frames with a number above
        `after_frame`.
        """
        for pending in list(self._pending.values()):
            if pending.service == service and pending.frame_id > after_frame:
                self._fail(pending.call.id, NOBODY, ServiceAway)

    def _fail(self, call_id: int, reason: str, error_type: type[ApiError] = ApiError) -> None:
        pending = self._pending.pop(call_id, None)
        if pending is not None:
            self._queues[pending.service].answered(pending.frame_id)
            pending.finish(Raw(b"null"), unavailable(f"{pending.service}: {reason}", error_type))

    def _forget(self, call_id: int) -> None:
        pending = self._pending.pop(call_id, None)
        if pending is not None:
            self._queues[pending.service].answered(pending.frame_id)


class _SendQueue:
    """The calls of this process that wait to be sent to one service, and the frames that are on their way to it."""

    def __init__(self, bus: Bus, service: str) -> None:
        self._bus = bus
        self._service = service
        self._queue = topology.rpc_queue(service)
        self._waiting: deque[PendingCall] = deque()
        #: Unanswered frames, and when they were sent (monotonic).
        self._unanswered: dict[int, float] = {}
        self._last_frame_id = 0
        self._timer_set = False
        self._flush_asked = False
        self._can_send = bus.signatures.can_send(service)
        self.watch = ConsumerWatch(bus.link, service, self._on_away)

    def add(self, pending: PendingCall) -> None:
        """Queues a call. May be used from any thread."""
        self._waiting.append(pending)
        if not self._flush_asked:
            self._flush_asked = True
            self._bus.link.call_soon(self._asked)

    def answered(self, frame_id: int) -> None:
        self._unanswered.pop(frame_id, None)

    def reset(self) -> None:
        """Starts again on a new connection: forgets the unanswered frames, and sends the waiting calls."""
        self.watch.reset()
        self._unanswered.clear()
        self._timer_set = False
        self._flush_asked = False
        self.flush()

    def _on_away(self, waiting: int) -> None:
        """Fails the calls of the newest `waiting` frames: those that wait in the service's queue while nothing consumes
        it.

        Calls in earlier frames do not fail here. A process that is stopping has received them, and may still answer.
        """
        self._bus.give_up(self._service, self._last_frame_id - waiting)

    def drop_ended(self) -> None:
        """Drops ended calls at the head of the queue, so that they do not accumulate while there is no connection.

        Needs no lock, because other threads only append calls.
        """
        now = time.monotonic()
        while self._waiting and self._waiting[0].is_over(now):
            self._waiting.popleft()

    def _asked(self) -> None:
        self._flush_asked = False
        self.flush_if_free()
        if self._waiting and not self._timer_set:
            self._timer_set = True
            self._bus.link.call_later(GATHER_SECONDS, self._time_is_up)

    def _time_is_up(self) -> None:
        self._timer_set = False
        self.flush()

    def flush_if_free(self) -> None:
        """Sends the waiting calls, unless FRAMES_ON_THEIR_WAY frames to the service are unanswered. Frames that were
        sent more than FRESH_SECONDS ago do not count.
        """
        recently = time.monotonic() - FRESH_SECONDS
        for frame_id, sent_at in list(self._unanswered.items()):
            if sent_at < recently:
                self.answered(frame_id)
        if len(self._unanswered) < FRAMES_ON_THEIR_WAY:
            self.flush()

    def flush(self) -> None:
        channel = self._bus.link.channel
        while self._waiting and self._bus.ready and channel is not None:
            if not self._can_send:
                self._bus.refuse(self._waiting.popleft(), "there is no key to sign calls with")
            elif self.watch.is_away:
                self._bus.refuse(self._waiting.popleft(), NOBODY)
            else:
                self._send(channel)

    def _send(self, channel: Channel) -> None:
        now = time.monotonic()
        frame_id, size, longest = self._last_frame_id + 1, 0, 0.0
        calls: list[Call] = []
        while self._waiting and size < MAX_FRAME_BYTES:
            pending = self._waiting.popleft()
            if pending.is_over(now):
                continue
            left = pending.deadline - now
            pending.call.ttl = left
            pending.sent_at, pending.frame_id = now, frame_id
            calls.append(pending.call)
            longest = max(longest, left)
            size += len(bytes(pending.call.request)) + 512
        if not calls:
            return
        self._last_frame_id = frame_id
        self._unanswered[frame_id] = now
        frame = RequestFrame(calls=calls, steady=now, connection=self._bus.connection_name, number=frame_id)
        body = encode(frame)
        properties = pika.BasicProperties(
            content_type="application/json",
            reply_to=_REPLY_TO,
            expiration=str(int(longest * 1000) or 1),
            app_id=self._bus.signatures.call(self._service, body, time.time() + longest),
        )
        channel.basic_publish("", self._queue, body, properties, mandatory=True)
