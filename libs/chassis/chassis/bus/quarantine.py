"""The quarantine: a durable queue that keeps the messages that no service could handle. The operator lists and replays
them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pika
import structlog
from pika.exceptions import AMQPError, ChannelClosedByBroker

from chassis.bus import amqp, topology
from chassis.bus.link import Link, Message, NotConfirmed
from chassis.ids import new_id
from chassis.telemetry.metrics import QUARANTINED
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.record import Record

log = structlog.get_logger()
#: AMQP's reply code.
_NOT_FOUND = 404


class Quarantined(Record):
    """A message in quarantine. `body`: its first 200 bytes, as text."""

    id: str
    queue: str
    error: str
    quarantined_at: str
    size_bytes: int
    body: str


def marked(queue: str, headers: dict[str, Any] | None, body: bytes, error: str) -> Message:
    """Builds the message for the quarantine queue: the same body, with the original queue and the error as headers."""
    marks = {
        **(headers or {}),
        "x-quarantine-queue": queue,
        "x-quarantine-error": error[:500],
        "x-quarantined-at": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }
    return Message("", topology.QUARANTINE_QUEUE, body, message_id=new_id("qrn"), headers=marks)


def note(message: Message) -> None:
    """Counts and logs a quarantined message. `message` is a result of `marked`."""
    queue, error = message.headers["x-quarantine-queue"], message.headers["x-quarantine-error"]
    QUARANTINED.add(1, {"messaging.destination.name": queue})
    log.error("message_quarantined", quarantine_id=message.message_id, queue=queue, error=error)


def put(link: Link, queue: str, headers: dict[str, Any] | None, body: bytes, error: str) -> bool:
    """Puts a copy of a message into the quarantine queue. Returns whether the broker confirmed it; if not, the caller
    must keep the original."""
    message = marked(queue, headers, body, error)
    try:
        link.publish_confirmed([message])
    except NotConfirmed as failure:
        log.error("quarantine_failed", queue=queue, error=str(failure))
        return False
    note(message)
    return True


def list_quarantined(amqp_url: str, limit: int = 1000) -> list[Quarantined]:
    """Reads the quarantined messages without removing them."""
    with _channel(amqp_url) as channel:
        return [_read(properties, body) for _, properties, body in _take(channel, limit)]


def replay(amqp_url: str, quarantine_id: str) -> bool:
    """Sends one message back to its original queue. Returns False when there is no such message."""
    with _channel(amqp_url) as channel:
        channel.confirm_delivery()
        for tag, properties, body in _take(channel, 100_000):
            if properties.message_id == quarantine_id:
                headers = {
                    k: v
                    for k, v in properties.headers.items()
                    if not k.startswith(("x-quarantine", "x-attempt"))
                }
                again = pika.BasicProperties(
                    delivery_mode=2, content_type="application/json", headers=headers
                )
                channel.basic_publish(
                    "", properties.headers["x-quarantine-queue"], body, again, mandatory=True
                )
                channel.basic_ack(tag)
                return True
    return False


@contextmanager
def _channel(amqp_url: str) -> Iterator[Any]:
    """Opens a channel on a new connection. Raises ApiError SERVICE_UNAVAILABLE when the broker does not answer."""
    try:
        with pika.BlockingConnection(amqp.parameters(amqp_url)) as connection:
            yield connection.channel()
    except (AMQPError, OSError) as error:
        raise ApiError(SERVICE_UNAVAILABLE, "The broker does not answer.", retry_after_seconds=1) from error


def _take(channel: Any, limit: int) -> list[tuple[int, Any, bytes]]:
    """Gets up to `limit` messages (tag, properties, body) without acknowledging them; none when the queue does not
    exist.

    When the connection closes, they are in the queue again.
    """
    taken: list[tuple[int, Any, bytes]] = []
    while len(taken) < limit:
        try:
            method, properties, body = channel.basic_get(topology.QUARANTINE_QUEUE)
        except ChannelClosedByBroker as error:
            if error.reply_code != _NOT_FOUND:
                raise
            break
        if method is None:
            break
        taken.append((method.delivery_tag, properties, body))
    return taken


def _read(properties: Any, body: bytes) -> Quarantined:
    headers = properties.headers or {}
    return Quarantined(
        id=properties.message_id or "",
        queue=headers.get("x-quarantine-queue", ""),
        error=headers.get("x-quarantine-error", ""),
        quarantined_at=headers.get("x-quarantined-at", ""),
        size_bytes=len(body),
        body=body[:200].decode("utf-8", "replace"),
    )
