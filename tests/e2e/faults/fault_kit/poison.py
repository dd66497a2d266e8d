"""A thousand kinds of unreadable messages, which are sent with plain AMQP, and the queues in which they end."""

import datetime as dt
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingChannel

QUARANTINE = "quarantine"
MARK = "x-kind"
#: Below the 256 KiB a message may have.
LARGE = 200_000

FRAME = {
    "steady": 1.0,
    "connection": "c",
    "number": 1,
    "calls": [
        {
            "id": 1,
            "method": "list_pages",
            "ttl": 9.0,
            "caller": {"account_id": "usr_x", "user_id": "usr_x"},
            "request": {},
        }
    ],
}
EVENT = {
    "id": "evt_x", "event": "account.changed", "created_at": "2026-01-01T00:00:00Z", "account_id": "usr_x",
    "brand_id": None, "data": {"account_id": "usr_x", "tier": "free"},
}  # fmt: skip
#: Values of the wrong type.
STRANGE: tuple[Any, ...] = (
    None, True, -1, 0.5, 10**40, -(10**400), "", "x", "\x00", "é" * 1000, [], {}, [[]], [None], {"": {}}, [1, "a", {}],
    "2026-13-45T99:00:00Z", "../../etc/passwd", "'; DROP TABLE posts; --", "A" * 5000,
)  # fmt: skip
UNREADABLE: tuple[bytes, ...] = (
    b"", b" ", b"\x00", b"\xff\xfe\xfd", b"{", b"}", b"[", b'"', b"{]", b"nul", b"NaN", b"-", b"0x10", b"1e",
    b"{'a': 1}", b"\xef\xbb\xbf{}", "{}".encode("utf-16"), "{}".encode("utf-32"), b'{"a": "\\ud800"}x',
    b'{"a": "\xed\xa0\x80"}', b"<xml/>", b"--boundary\r\n", b"\x80\x04\x95", gzip.compress(b"{}"), b"//x\n{}",
    b"{" * LARGE, b"[" * LARGE, b'"' + b"a" * LARGE, b"\x00" * LARGE, b'{"calls": ' * 500, b"{}{}", b"{},",
)  # fmt: skip
#: AMQP's own: every type a header may have, and names that we give a meaning.
HEADERS: tuple[dict[str, Any], ...] = (
    {}, {"x-attempt": "x"}, {"x-attempt": -5}, {"x-attempt": 10**12}, {"x-attempt": {"a": [1, 2]}}, {"x-attempt": None},
    {"x-death": [{"count": 10**9, "queue": "q"}]}, {"x-quarantine-queue": "elsewhere"}, {"traceparent": "00-zz-zz-99"},
    {"traceparent": 5}, {"a": dt.datetime(2026, 1, 1)}, {"a": [True, None, -1, b"\xff".hex()]}, {"é": "ü"},
    {"n": {"n": {"n": {"n": []}}}}, {"long": "x" * 20_000},
)  # fmt: skip
PROPERTIES: tuple[dict[str, Any], ...] = (
    {}, {"content_type": "text/plain"}, {"content_encoding": "gzip"}, {"priority": 255}, {"message_id": "x" * 255},
    {"correlation_id": "\x00"}, {"type": "?"}, {"timestamp": 2**40}, {"delivery_mode": 2}, {"app_id": "é"},
)  # fmt: skip


def kinds(count: int, seed: int = 7) -> Iterator[tuple[bytes, dict[str, Any], dict[str, Any]]]:
    """Yields (body, headers, properties) of messages that no process can read, neither as RPC calls nor as an event."""
    chance = random.Random(seed)
    bodies = [
        *UNREADABLE,
        *(json.dumps(value).encode() for value in STRANGE if value != {}),
        *_bent(FRAME),
        *_bent(EVENT),
    ]
    for number in range(count):
        body = bodies[number] if number < len(bodies) else _torn(chance, chance.choice(bodies))
        headers = HEADERS[number % len(HEADERS)] if number < 200 else chance.choice(HEADERS)
        yield body, headers | {MARK: number}, chance.choice(PROPERTIES)


def _bent(whole: dict[str, Any]) -> Iterator[bytes]:
    """Yields JSON bodies in which a required field is missing or has a wrong value."""
    for name in [name for name in whole if name not in ("brand_id", "data")]:
        yield json.dumps({key: value for key, value in whole.items() if key != name}).encode()
        for strange in STRANGE:
            is_number = isinstance(strange, int | float)
            if not isinstance(strange, str) and not (is_number and name in ("steady", "number")):
                yield (
                    json.dumps(whole | {name: strange}).encode()
                    if strange != []
                    else b"[" + json.dumps(whole).encode()
                )


def _torn(chance: random.Random, body: bytes) -> bytes:
    """Returns the body with a part replaced by a byte that no JSON contains."""
    at = chance.randrange(len(body) + 1)
    return body[:at] + bytes([chance.randrange(1, 32) | 0x80]) + body[chance.randrange(at, len(body) + 1) :]


class Broker:
    """A connection to RabbitMQ. Use it in a `with` statement."""

    def __init__(self, url: str) -> None:
        self._connection = pika.BlockingConnection(pika.URLParameters(url))
        self.channel: BlockingChannel = self._connection.channel()

    def __enter__(self) -> "Broker":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def consumed(self, names: list[str]) -> list[str]:
        """Returns those of these queues that have a consumer."""
        return [name for name in names if self.size(name)[1] > 0]

    def size(self, name: str) -> tuple[int, int]:
        """Returns the number of ready messages and of consumers. (0, 0) if there is no such queue."""
        try:
            found = self._connection.channel().queue_declare(name, passive=True).method
        except pika.exceptions.ChannelClosedByBroker:
            return 0, 0
        return found.message_count, found.consumer_count

    def send(
        self, exchange: str, queue: str, body: bytes, headers: dict[str, Any], more: dict[str, Any]
    ) -> None:
        properties = pika.BasicProperties(headers=headers, **more)
        self.channel.basic_publish(exchange, queue, body, properties)

    def take_quarantined(self) -> Counter[tuple[str, int]]:
        """Removes all messages from the quarantine. Returns (queue, kind of message) → number."""
        seen: Counter[tuple[str, int]] = Counter()
        while True:
            method, properties, _ = self.channel.basic_get(QUARANTINE, auto_ack=True)
            if method is None:
                return seen
            headers = properties.headers or {}
            seen[headers.get("x-quarantine-queue", "?"), headers.get(MARK, -1)] += 1
