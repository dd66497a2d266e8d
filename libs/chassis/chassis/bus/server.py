"""The service's side of RPC, as nameko extensions: receives framed calls and sends framed replies.

A frame (a message with several calls) is acknowledged once all its calls have begun, before they end. If the process
then dies, the broker does not deliver the frame again: the caller gets SERVICE_UNAVAILABLE, and may repeat a write with
the same operation id. If nothing consumed the queue for longer than TICK_SECONDS, the frames that waited in it are
refused, because their callers may have given the calls up already. Replies are transient and unconfirmed; replies that
are ready at the same time share a message.
"""

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial, wraps
from inspect import signature
from typing import Any, TypeVar

import eventlet
import msgspec
import pika
import structlog
from eventlet.queue import LightQueue
from eventlet.semaphore import Semaphore
from msgspec import Raw
from nameko.extensions import Entrypoint, ProviderCollector, SharedExtension, register_entrypoint
from pika.channel import Channel

from chassis.bus import quarantine, topology
from chassis.bus.frame_order import FrameOrder
from chassis.bus.frames import (
    PING,
    UNREADABLE,
    Call,
    Failure,
    Method,
    Reply,
    ReplyFrame,
    RequestFrame,
    check_types,
    decode_requests,
    encode,
    failure_of,
    methods_of,
    parts_of,
    refusal_of,
)
from chassis.bus.lateness import Lateness
from chassis.bus.link import TICK_SECONDS
from chassis.bus.refusals import note_refused
from chassis.bus.service_link import ServiceLink
from chassis.signatures import Peer, Refused, Signatures
from chassis.telemetry import logs, tracing
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, SERVER_ERROR, SERVICE_UNAVAILABLE, VALIDATION_ERROR, ApiError
from contracts.senders import CTL, PINGERS

log = structlog.get_logger()

F = TypeVar("F", bound=Callable[..., Any])

#: The longest that a reply waits for others to share its message. As long as calls may wait.
GATHER_SECONDS = 0.002
#: How long after its start a process may receive frames that waited in the queue. Our choice: thousands arrive by then.
LEFTOVER_SECONDS = 5.0
#: Reasons to refuse a call with a valid signature.
NOT_ITS_METHOD = "not its method"
NOT_THE_OPERATOR = "not the operator"
REPLAYED = "replayed"
_NO_SLOT = nullcontext()


class RpcServer(SharedExtension, ProviderCollector):
    """Consumes the service's call queue, and runs each call in its own worker."""

    service_link = ServiceLink()

    def __init__(self) -> None:
        super().__init__()
        self.methods: dict[str, tuple[Any, Method]] = {}
        self._frames: LightQueue = LightQueue()
        self._lateness = Lateness()
        self._order = FrameOrder()
        self._ready: dict[Peer, list[Reply]] = defaultdict(list)
        #: Frames still to come that waited without a consumer, and when this process began to consume (monotonic).
        self._leftovers, self._attached_at = 0, 0.0
        self._running = 0
        self._to_flush = Semaphore(0)
        self._consumer_tag = ""
        self._stopping = False
        self._all_begun = threading.Event()
        self.ping: Callable[[], None] = lambda: None

    def register_provider(self, provider: Any) -> None:
        super().register_provider(provider)
        surface = methods_of(self.container.service_cls.api)
        if provider.method_name not in surface:
            raise TypeError(f"{provider.method_name} is not in the Protocol of {self.container.service_name}")
        check_types(getattr(self.container.service_cls, provider.method_name), surface[provider.method_name])
        self.methods[provider.method_name] = (provider, surface[provider.method_name])

    def setup(self) -> None:
        self._signatures: Signatures = self.container.config["SIGNATURES"]
        self.service_link.openers.append(self._on_open)

    def start(self) -> None:
        missing = set(methods_of(self.container.service_cls.api)) - set(self.methods)
        if missing:
            raise TypeError(f"{self.container.service_name} does not implement {sorted(missing)}")
        self.container.spawn_managed_thread(self._dispatch, identifier="rpc-dispatch")
        self.container.spawn_managed_thread(self._gather_replies, identifier="rpc-replies")
        self.service_link.start()

    def unregister_provider(self, provider: Any) -> None:
        """Removes an RPC method. Removing the last one also stops consuming, and returns once all received calls have
        begun.

        The container then waits for these calls, before it stops what they use.
        """
        super().unregister_provider(provider)
        if not self._providers and not self._stopping:
            self._stopping = True
            self.service_link.cancel(self._consumer_tag)
            self._frames.put(None)
            self._all_begun.wait()

    @property
    def is_consuming(self) -> bool:
        link = self.service_link.link
        return link.is_open and bool(self._consumer_tag)

    # -- I/O thread -----------------------------------------------------------------------------------

    def _on_open(self, channel: Channel) -> None:
        self._ready.clear()
        if self._stopping:
            return
        queue = topology.rpc_queue(self.container.service_name)

        def on_counted(frame: Any) -> None:
            self._attached_at = time.monotonic()
            was_away = self._attached_at > self.service_link.lost_at + TICK_SECONDS
            nobody_else = not frame.method.consumer_count
            self._leftovers = frame.method.message_count if was_away and nobody_else else 0
            if not self._stopping:
                self._consumer_tag = channel.basic_consume(queue, self._on_frame)

        channel.queue_declare(queue, passive=True, callback=on_counted)

    def _on_frame(self, channel: Channel, method: Any, properties: Any, body: bytes) -> None:
        if time.monotonic() > self._attached_at + LEFTOVER_SECONDS:
            self._leftovers = 0  # counted frames that did not come have expired
        is_leftover = self._leftovers > 0
        self._leftovers -= is_leftover
        self._frames.put((channel, method, properties, body, is_leftover))

    def _flush(self) -> None:
        ready, self._ready = self._ready, defaultdict(list)
        channel = self.service_link.link.channel
        if channel is None:
            return  # the callers know already that the link was lost
        for peer, replies in ready.items():
            for part in parts_of(replies):
                body = encode(ReplyFrame(replies=part))
                signature = self._signatures.reply(peer, body) or None
                properties = pika.BasicProperties(
                    content_type="application/json", delivery_mode=1, app_id=signature
                )
                channel.basic_publish("", peer.reply_to, body, properties)

    # -- green threads --------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        """Takes frames one after another and starts their calls.

        Blocks while all workers are busy, so that further frames wait at the broker.
        """
        link = self.service_link.link
        while (frame := self._frames.get()) is not None:
            channel, method, properties, body, is_leftover = frame
            try:
                self._begin_calls(properties, body, is_leftover, is_redelivered=method.redelivered)
            except Exception as error:  # noqa: BLE001 - no message may stop the service
                quarantine.put(
                    link,
                    topology.rpc_queue(self.container.service_name),
                    properties.headers,
                    body,
                    logs.summary_of(error),
                )
            link.call_soon(partial(_ack, channel, method.delivery_tag))
        self._all_begun.set()

    def _begin_calls(
        self, properties: Any, body: bytes, is_leftover: bool, *, is_redelivered: bool = False
    ) -> None:
        if not properties.reply_to:
            raise ValueError("a call without reply_to")
        frame = decode_requests(body)
        try:
            peer = self._signatures.sender_of_call(properties.reply_to, properties.app_id, body, time.time())
        except Refused as error:
            self._refuse_frame(Peer(properties.reply_to), frame, error)
            return
        if not self._order.may_run(peer.name, frame.connection, frame.number, is_redelivered=is_redelivered):
            if not is_redelivered:  # otherwise its acknowledgement was lost
                self._note_replay(peer, frame)
            return
        if is_leftover:
            unavailable = failure_of(ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=1))
            for call in frame.calls:
                self.answer(peer, Reply(id=call.id, error=unavailable))
            return
        now = time.monotonic()
        waited = self._lateness.of(f"{peer.name} {frame.connection}", frame.steady, now)
        for call in frame.calls:
            if waited < call.ttl:  # otherwise its caller has given up
                self._begin_call(peer, call, now + call.ttl - waited)

    def _refuse_frame(self, peer: Peer, frame: RequestFrame, error: Refused) -> None:
        """Refuses the calls of a frame whose signature is invalid. The answers are unsigned, because the sender may
        have no key."""
        methods = sorted({call.method for call in frame.calls if call.method in self.methods})
        note_refused("call", error.reason, error.sender, methods=methods)
        for call in frame.calls:
            self.answer(peer, Reply(id=call.id, error=refusal_of(error.reason)))

    def _note_replay(self, peer: Peer, frame: RequestFrame) -> None:
        """Counts and logs a repeated frame. Sends no answer, because the caller would take it for the answer to the
        original."""
        methods = sorted({call.method for call in frame.calls if call.method in self.methods})
        note_refused("call", REPLAYED, peer.name, methods=methods)

    def _refuse_call(self, peer: Peer, call: Call, reason: str) -> None:
        note_refused("call", reason, peer.name, method=call.method)
        self.answer(peer, Reply(id=call.id, error=refusal_of(f"{call.method} by {peer.name}: {reason}")))

    def _begin_call(self, peer: Peer, call: Call, give_up_at: float) -> None:
        if call.method == PING:
            if peer.name not in PINGERS:
                self._refuse_call(peer, call, NOT_ITS_METHOD)
                return
            self.container.spawn_managed_thread(partial(self._answer_ping, peer, call.id), identifier="ping")
            return
        provider, method = self.methods.get(call.method, (None, None))
        if provider is None or method is None:
            self.answer(
                peer, Reply(id=call.id, error=Failure(NOT_FOUND.code, f"there is no method {call.method}"))
            )
            return
        if peer.name not in method.callers:
            self._refuse_call(peer, call, NOT_ITS_METHOD)
            return
        try:
            caller = msgspec.json.decode(call.caller, type=Caller)
            request: Any = msgspec.json.decode(call.request, type=method.request)
        except UNREADABLE as error:
            self.answer(
                peer, Reply(id=call.id, error=Failure(VALIDATION_ERROR.code, str(error), {"errors": []}))
            )
            return
        if caller.is_operator and peer.name != CTL:
            self._refuse_call(peer, call, NOT_THE_OPERATOR)
            return
        self._running += 1
        on_result = partial(self._on_result, peer, call.id, caller, method)
        provider.run(caller, request, call.traceparent, give_up_at, on_result)

    def _answer_ping(self, peer: Peer, call_id: int) -> None:
        try:
            self.ping()
            self.answer(peer, Reply(id=call_id, result=Raw(b"{}")))
        except ApiError as error:
            self.answer(peer, Reply(id=call_id, error=failure_of(error)))

    def _on_result(
        self,
        peer: Peer,
        call_id: int,
        caller: Caller,
        method: Method,
        _context: Any,
        result: Any,
        exc_info: Any,
    ) -> tuple[Any, None]:
        self._running -= 1
        if exc_info is None:
            try:
                reply = Reply(id=call_id, result=Raw(encode(result)))
            except (TypeError, ValueError):  # a lone surrogate, for example, must not end the service
                log.exception("result_not_encodable", method=method.name)
                reply = Reply(id=call_id, error=Failure(SERVER_ERROR.code, SERVER_ERROR.message))
            self.answer(peer, reply)
        elif isinstance(exc_info[1], ApiError):
            self.answer(peer, Reply(id=call_id, error=failure_of(exc_info[1])))
        else:
            log.error("call_failed", method=method.name, request_id=caller.request_id, exc_info=exc_info)
            self.answer(peer, Reply(id=call_id, error=Failure(SERVER_ERROR.code, SERVER_ERROR.message)))
        return None, None

    def answer(self, peer: Peer, reply: Reply) -> None:
        self._ready[peer].append(reply)
        if self._to_flush.counter < 1:
            self._to_flush.release()

    def _gather_replies(self) -> None:
        """Sends replies at once when no other call is running. Otherwise waits GATHER_SECONDS and sends them together
        with other replies.
        """
        while True:
            self._to_flush.acquire()
            if self._running:
                eventlet.sleep(GATHER_SECONDS)
            self.service_link.link.call_soon(self._flush)


def _ack(channel: Channel, tag: int) -> None:
    if channel.is_open:
        channel.basic_ack(tag)


class Rpc(Entrypoint):
    """The nameko entrypoint behind `@rpc`: the marked method answers the calls of its name. Request and result have the
    types in the service's Protocol.
    """

    server = RpcServer()
    expected_exceptions = (ApiError,)

    def setup(self) -> None:
        self.server.register_provider(self)

    def stop(self) -> None:
        self.server.unregister_provider(self)

    def run(
        self,
        caller: Caller,
        request: Any,
        traceparent: str,
        give_up_at: float,
        on_result: Callable[..., tuple[Any, None]],
    ) -> None:
        """Runs a call in the next free worker, unless `give_up_at` (monotonic) has passed by then."""
        arguments = (caller, request, self.method_name, traceparent, give_up_at)
        self.container.spawn_worker(self, arguments, {}, handle_result=on_result)


def rpc(function: F) -> F:
    """Marks a service method `def name(self, caller, request) -> result` as callable over the bus.

    The log lines of a call have the caller's request id, because each call has its own green thread and context.
    """

    @wraps(function)
    def call(
        self: Any,
        caller: Caller,
        request: Any,
        name: str = "",
        traceparent: str = "",
        give_up_at: float = math.inf,
    ) -> Any:
        if time.monotonic() > give_up_at:  # its caller gave up while the call waited for a worker
            raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=1)
        structlog.contextvars.bind_contextvars(request_id=caller.request_id)
        with tracing.serving(self.name, name, caller, traceparent):
            return function(self, caller, request)

    register_entrypoint(call, Rpc())
    return call  # type: ignore[return-value]


def call(use_case: Callable[..., Any], *, live: bool = False) -> Callable[..., Any]:
    """Makes an RPC method that calls `use_case` with `self.app`, and with `caller` and `request` if it has these
    parameters.

    `live`: the use case calls other servers while its client waits. So it runs only with a slot of
    `self.app.live_call`. An account gets only a share of these slots.
    """
    names = [name for name in ("caller", "request") if name in signature(use_case).parameters]

    @wraps(use_case)
    def method(self: Any, caller: Caller, request: Any) -> Any:
        given = {"caller": caller, "request": request}
        with self.app.live_call(caller.account_id) if live else _NO_SLOT:
            return use_case(self.app, *(given[name] for name in names))

    return rpc(method)
