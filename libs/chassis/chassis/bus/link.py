"""One AMQP connection that is kept open for the life of the process. All its I/O runs in one thread.

The thread is a real one in the gateway and a green one in a service. Code that uses the channel must run in that
thread: pass it to `call_soon`. A lost connection is opened again after 0.1 s, then after longer pauses of up to 2 s;
`on_lost` reports the loss.
"""

import _thread
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import pika
import structlog
from pika.channel import Channel
from pika.exceptions import AMQPError, ChannelClosedByBroker, ChannelClosedByClient

from chassis.bus import amqp, topology
from chassis.bus.connection import Connection
from chassis.bus.green_loop import Loop

log = structlog.get_logger()

#: Seconds between heartbeats. pika checks every `heartbeat + 5` seconds for traffic since its last check, so a frozen
#: link is noticed after 8 to 16 s. A shorter interval would drop healthy links on a busy machine. Our choice.
HEARTBEAT_SECONDS = 3
_RECONNECT_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.0)
#: Seconds between two ticks, which delays everything that a tick detects.
TICK_SECONDS = 0.25
#: AMQP's reply code.
_ACCESS_REFUSED = 403


class NotConfirmed(Exception):
    """Raised when the broker did not confirm a message in time or returned it, or when the link was lost."""


class Link:
    """A connection with one plain channel and one channel with publisher confirms.

    All callbacks run in the I/O thread. `on_open(channel)` runs after every (re)connection, when exchanges and queues
    have been declared. `on_lost()` runs whenever an open connection was lost. `on_tick()` runs every TICK_SECONDS,
    connected or not. `declare(channel)` declares further queues besides those of `topology.declare`. If RabbitMQ does
    not permit the process to declare, the link uses what the administrator has created (`broker_access.py`).
    """

    def __init__(
        self,
        url: str,
        name: str,
        on_open: Callable[[Channel], None],
        on_lost: Callable[[], None] = lambda: None,
        on_tick: Callable[[], None] = lambda: None,
        declare: Callable[[Channel], None] = lambda _channel: None,
    ) -> None:
        self._declare = declare
        self._parameters = amqp.parameters(url)
        self._parameters.heartbeat = HEARTBEAT_SECONDS
        self._parameters.socket_timeout = 5.0
        self._parameters.stack_timeout = 8.0
        self._parameters.blocked_connection_timeout = 10.0
        self._parameters.client_properties = {"connection_name": name}
        self._parameters.tcp_options = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3}
        self.name = name
        self._on_open = on_open
        self._on_lost = on_lost
        self._on_tick = on_tick
        self._connection: Connection | None = None
        self._ioloop: Loop | None = None
        self._open = threading.Event()
        self._stopping = threading.Event()
        self._soon: deque[Callable[[], None]] = deque()
        self._wake_pending = False
        self._confirms = _Confirms()
        self.channel: Channel | None = None
        self._started = False
        self._ended = threading.Event()

    # -- from any thread -------------------------------------------------------------------------------

    def start(self) -> None:
        self._started = True
        # Not threading.Thread: eventlet's green version of it breaks when it ends.
        _thread.start_new_thread(self._run, ())

    def wait_open(self, timeout_seconds: float) -> bool:
        """Waits for the link to open. Returns whether it is open."""
        return self._open.wait(timeout_seconds)

    @property
    def is_started(self) -> bool:
        return self._started

    @property
    def is_open(self) -> bool:
        return self._open.is_set()

    def call_soon(self, function: Callable[[], None]) -> None:
        """Runs a function in the I/O thread soon. Drops the function if the connection is down by then."""
        self._soon.append(function)
        ioloop = self._ioloop
        if not self._wake_pending and ioloop is not None:
            self._wake_pending = True
            try:
                ioloop.add_callback_threadsafe(self._run_soon)
            except Exception:  # noqa: BLE001 - the loop has closed; the next connection starts from scratch
                self._wake_pending = False

    def call_later(self, seconds: float, function: Callable[[], None]) -> None:
        """Runs a function in the I/O thread after some seconds. Call it from that thread only."""
        assert self._ioloop is not None
        self._ioloop.call_later(seconds, function)

    def open_channel(self, on_open: Callable[[Channel], None]) -> None:
        """Opens another channel; the broker may close it without closing the others.

        Call it from the I/O thread only, while the link is open.
        """
        assert self._connection is not None
        self._connection.channel(on_open_callback=on_open)

    def publish_confirmed(self, messages: list["Message"], timeout_seconds: float = 5.0) -> None:
        """Publishes persistent messages, and returns once the broker has confirmed all of them.

        Raises NotConfirmed when the link is down or lost, after the timeout, or when a mandatory message has no queue.
        """
        if not self._open.is_set():
            raise NotConfirmed("the link is down")
        batch = _Batch(len(messages))
        self.call_soon(lambda: self._confirms.publish(messages, batch))
        batch.wait(timeout_seconds)

    def stop(self) -> None:
        """Closes the connection. Waits at most 2 s for that."""
        self._stopping.set()
        connection, ioloop = self._connection, self._ioloop
        if connection is not None and ioloop is not None:
            try:
                ioloop.add_callback_threadsafe(
                    lambda: connection.close() if connection.is_open else ioloop.stop()
                )
            except Exception as error:  # noqa: BLE001 - the loop is closed already: nothing to close
                log.debug("link_close_skipped", link=self.name, error=str(error))
        if self._started:
            self._ended.wait(2)

    # -- in the I/O thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            began = time.monotonic()
            self._connect_and_serve()
            failures = 0 if time.monotonic() - began > 5 else failures + 1
            self._pause(_RECONNECT_SECONDS[min(failures, len(_RECONNECT_SECONDS) - 1)])
        self._ended.set()

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self._stopping.wait(min(left, TICK_SECONDS)):
            self._tick()

    def _connect_and_serve(self) -> None:
        ioloop = Loop()
        try:
            self._connection = Connection(
                self._parameters,
                on_open_callback=self._on_connection_open,
                on_open_error_callback=lambda _connection, error: self._give_up(ioloop, error),
                on_close_callback=lambda _connection, reason: self._give_up(ioloop, reason),
                custom_ioloop=ioloop,
            )
            ioloop.before_wait = self._connection.flush
            self._soon.clear()
            self._wake_pending = False
            self._ioloop = ioloop
            self._tick_on(ioloop)
            ioloop.start()
        except Exception as error:  # noqa: BLE001 - a new loop replaces one that failed for any reason
            log.warning("link_failed", link=self.name, error=repr(error))
        finally:
            was_open = self._open.is_set()
            self._open.clear()
            self._ioloop = self._connection = self.channel = None
            self._confirms.lost()
            if was_open:
                self._on_lost()
            try:
                ioloop.close()
            except Exception as error:  # noqa: BLE001 - pika closes what it can; a new loop is made either way
                log.debug("link_loop_close_failed", link=self.name, error=repr(error))

    def _tick_on(self, ioloop: Loop) -> None:
        """Calls `on_tick` now and every TICK_SECONDS while this I/O loop runs, even before the link is open."""
        self._tick()
        ioloop.call_later(TICK_SECONDS, lambda: self._tick_on(ioloop))

    def _tick(self) -> None:
        try:
            self._on_tick()
        except Exception:
            log.exception("link_tick_failed", link=self.name)

    def _give_up(self, ioloop: Loop, reason: Any) -> None:
        if not self._stopping.is_set():
            log.warning("link_lost", link=self.name, reason=amqp.reason_of(reason))
        ioloop.stop()

    def _on_connection_open(self, connection: Connection) -> None:
        connection.channel(on_open_callback=self._declare_topology)

    def _declare_topology(self, channel: Channel) -> None:
        """Declares exchanges and queues on a separate channel, because the broker closes the channel if it does not
        permit the declarations.
        """
        channel.add_on_close_callback(self._on_declared)
        self._declare(channel)
        topology.declare(channel, channel.close)

    def _on_declared(self, channel: Channel, reason: Any) -> None:
        is_refused = isinstance(reason, ChannelClosedByBroker) and reason.reply_code == _ACCESS_REFUSED
        if not (is_refused or isinstance(reason, ChannelClosedByClient)):
            self._on_channel_closed(channel, reason)
        elif self._connection is not None and self._connection.is_open:
            self._connection.channel(on_open_callback=self._on_plain_channel)

    def _on_plain_channel(self, channel: Channel) -> None:
        channel.add_on_close_callback(self._on_channel_closed)
        channel.add_on_cancel_callback(self._on_consumer_cancelled)
        self.channel = channel
        assert self._connection is not None
        self._connection.channel(on_open_callback=self._on_confirm_channel)

    def _on_confirm_channel(self, channel: Channel) -> None:
        channel.add_on_close_callback(self._on_channel_closed)
        self._confirms.attach(channel)
        assert self.channel is not None
        self._on_open(self.channel)
        self._open.set()

    def _on_channel_closed(self, channel: Channel, reason: Any) -> None:
        if self._connection is not None and self._connection.is_open:
            log.warning("channel_closed", link=self.name, reason=str(reason))
            self._connection.close()

    def _on_consumer_cancelled(self, _frame: Any) -> None:
        """Reconnects, which declares the queues again. The broker cancels a consumer when its queue has been
        deleted."""
        if self._connection is not None and self._connection.is_open:
            log.warning("consumer_cancelled", link=self.name)
            self._connection.close()

    def _run_soon(self) -> None:
        self._wake_pending = False
        while self._soon:
            try:
                self._soon.popleft()()
            except AMQPError as error:  # the channel is closing, and its requests with it
                log.debug("link_callback_failed", link=self.name, error=repr(error))


class Message:
    """A message to publish with a confirm."""

    __slots__ = ("body", "exchange", "headers", "mandatory", "message_id", "routing_key")

    def __init__(
        self,
        exchange: str,
        routing_key: str,
        body: bytes,
        *,
        message_id: str = "",
        headers: dict[str, Any] | None = None,
        mandatory: bool = True,
    ) -> None:
        self.exchange = exchange
        self.routing_key = routing_key
        self.body = body
        self.message_id = message_id
        self.headers = headers or {}
        self.mandatory = mandatory

    def properties(self) -> pika.BasicProperties:
        return pika.BasicProperties(
            delivery_mode=2,
            content_type="application/json",
            message_id=self.message_id,
            headers=self.headers,
        )


class _Batch:
    """Waits for the broker's confirms of several messages that are published together."""

    def __init__(self, count: int) -> None:
        self._left = count
        self._failure = ""
        self._done = threading.Event()
        if not count:
            self._done.set()

    def confirmed(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._done.set()

    def failed(self, why: str) -> None:
        self._failure = why
        self._done.set()

    def wait(self, timeout_seconds: float) -> None:
        if not self._done.wait(timeout_seconds):
            raise NotConfirmed("no confirm in time")
        if self._failure:
            raise NotConfirmed(self._failure)


class _Confirms:
    """The channel with publisher confirms. Knows to which batch each delivery tag belongs. Used in the I/O thread
    only.
    """

    def __init__(self) -> None:
        self._channel: Channel | None = None
        self._tag = 0
        self._waiting: dict[int, tuple[_Batch, str]] = {}
        self._by_id: dict[str, _Batch] = {}

    def attach(self, channel: Channel) -> None:
        self._channel, self._tag = channel, 0
        self._waiting.clear()
        self._by_id.clear()
        channel.add_on_return_callback(self._on_return)
        channel.confirm_delivery(self._on_confirm)

    def lost(self) -> None:
        self._channel = None
        for batch, _ in self._waiting.values():
            batch.failed("the link was lost")
        self._waiting.clear()
        self._by_id.clear()

    def publish(self, messages: list[Message], batch: _Batch) -> None:
        if self._channel is None:
            batch.failed("the link is down")
            return
        for message in messages:
            self._tag += 1
            self._waiting[self._tag] = (batch, message.message_id)
            self._by_id[message.message_id] = batch
            self._channel.basic_publish(
                message.exchange,
                message.routing_key,
                message.body,
                message.properties(),
                mandatory=message.mandatory,
            )

    def _on_return(self, _channel: Any, method: Any, properties: Any, _body: bytes) -> None:
        batch = self._by_id.get(properties.message_id or "")
        if batch is not None:
            batch.failed(f"no queue takes {method.routing_key}")

    def _on_confirm(self, frame: Any) -> None:
        method = frame.method
        first = min(self._waiting, default=method.delivery_tag) if method.multiple else method.delivery_tag
        for tag in range(first, method.delivery_tag + 1):
            batch, message_id = self._waiting.pop(tag, (None, ""))
            self._by_id.pop(message_id, None)
            if batch is None:
                continue
            if isinstance(method, pika.spec.Basic.Ack):
                batch.confirmed()
            else:
                batch.failed("the broker refused the message")
