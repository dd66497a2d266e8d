"""Names and declarations of everything on the broker: one place, used by senders and receivers alike.

Queues are durable (their type is the virtual host's default: classic or quorum); only exclusive queues are transient.
"""

from collections.abc import Callable

from pika.channel import Channel

from contracts.events import EVENTS

EVENT_EXCHANGE = "events"
BROADCAST_EXCHANGE = "broadcasts"
QUARANTINE_QUEUE = "quarantine"

#: A failed event handler is tried again after these waits; then the event is quarantined. Our choice.
RETRY_SECONDS = (1, 5, 30, 120)


def rpc_queue(service: str) -> str:
    return f"rpc.{service}"


def event_queue(receiver: str) -> str:
    return f"events.{receiver}"


def retry_queue(receiver: str, seconds: int) -> str:
    return f"events.{receiver}.retry.{seconds}s"


def declare(channel: Channel, done: Callable[[], None]) -> None:
    """Declares exchanges, and every receiver's event queue, so that an event never finds no queue.

    `done()` runs when the broker has made them all. It treats channels side by side: what another channel published
    sooner could find no queue.
    """
    channel.exchange_declare(EVENT_EXCHANGE, "topic", durable=True)
    channel.exchange_declare(BROADCAST_EXCHANGE, "fanout", durable=True)
    for name, route in EVENTS.items():
        for receiver in route.receivers:
            channel.queue_declare(event_queue(receiver), durable=True)
            channel.queue_bind(event_queue(receiver), EVENT_EXCHANGE, routing_key=name)
    # One channel's declarations are made in their order, so the answer to the last one stands for all.
    channel.queue_declare(QUARANTINE_QUEUE, durable=True, callback=lambda _declared: done())


def declare_service(channel: Channel, service: str) -> None:
    """Declares what one service consumes: its calls, its events and their waiting rooms."""
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
