"""Names and declarations of all exchanges and queues, for senders and receivers.

Queues are durable; their type, classic or quorum, is the virtual host's default. Only exclusive queues are transient.
"""

from collections.abc import Callable

from pika.channel import Channel

from contracts.events import EVENTS

EVENT_EXCHANGE = "events"
BROADCAST_EXCHANGE = "broadcasts"
QUARANTINE_QUEUE = "quarantine"

#: Waits before the retries of a failed event handler: they cover a restart and a short outage. Then the event is
#: quarantined.
RETRY_SECONDS = (1, 5, 30, 120)


def rpc_queue(service: str) -> str:
    return f"rpc.{service}"


def event_queue(receiver: str) -> str:
    return f"events.{receiver}"


def retry_queue(receiver: str, seconds: int) -> str:
    return f"events.{receiver}.retry.{seconds}s"


def declare(channel: Channel, done: Callable[[], None]) -> None:
    """Declares the exchanges, the quarantine queue and every service's event queue, so that no event is sent before its
    queue exists.

    `done()` runs when all are declared. The broker handles channels concurrently, so publish on another channel only
    after `done`.
    """
    channel.exchange_declare(EVENT_EXCHANGE, "topic", durable=True)
    channel.exchange_declare(BROADCAST_EXCHANGE, "fanout", durable=True)
    for name, route in EVENTS.items():
        for receiver in route.receivers:
            channel.queue_declare(event_queue(receiver), durable=True)
            channel.queue_bind(event_queue(receiver), EVENT_EXCHANGE, routing_key=name)
    # The broker handles one channel's declarations in order, so the answer to the last one covers all.
    channel.queue_declare(QUARANTINE_QUEUE, durable=True, callback=lambda _declared: done())


def declare_service(channel: Channel, service: str) -> None:
    """Declares the queues of one service: its calls, its events and their delayed retries."""
    channel.queue_declare(rpc_queue(service), durable=True)
    channel.queue_declare(event_queue(service), durable=True)
    for seconds in RETRY_SECONDS:
        channel.queue_declare(
            retry_queue(service, seconds),
            durable=True,
            arguments={
                "x-message-ttl": seconds * 1000,
                "x-dead-letter-exchange": "",
                "x-dead-letter-routing-key": event_queue(service),
            },
        )
