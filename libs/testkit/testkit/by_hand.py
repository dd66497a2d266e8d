"""Lets a test act as an attacker who knows the broker's address: the test can send calls with any signature, and can
try what the broker permits.
"""

import time
from collections.abc import Callable

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker

from chassis.bus.topology import rpc_queue

_MAILBOX = "amq.rabbitmq.reply-to"
#: Longest time for one call, on a busy machine.
_SECONDS = 30.0


def replies_to(parameters: pika.URLParameters, service: str, body: bytes, signature: str | None) -> bytes:
    """Sends a message to a service's RPC queue and returns the body of the reply. Fails the test if no reply comes
    within 30 s.

    `body`: the calls, encoded. `signature`: the message's signature, which may be wrong or missing.
    """
    answers: list[bytes] = []
    with pika.BlockingConnection(parameters) as connection:
        channel = connection.channel()
        channel.basic_consume(_MAILBOX, lambda _c, _m, _p, answer: answers.append(answer), auto_ack=True)
        properties = pika.BasicProperties(reply_to=_MAILBOX, app_id=signature)
        channel.basic_publish("", rpc_queue(service), body, properties)
        end = time.monotonic() + _SECONDS
        while not answers and time.monotonic() < end:
            connection.process_data_events(0.1)
    assert answers, f"{service} did not answer"
    return answers[0]


def is_allowed(connection: pika.BlockingConnection, act: Callable[[BlockingChannel], object]) -> bool:
    """Whether the broker permits `act(channel)`. Fails the test if the broker closes the channel for another reason
    than missing permission.
    """
    channel = connection.channel()
    channel.confirm_delivery()
    try:
        act(channel)
    except ChannelClosedByBroker as error:
        assert error.reply_code == 403, error
        return False
    channel.close()
    return True
