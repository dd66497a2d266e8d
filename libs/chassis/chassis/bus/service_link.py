"""The AMQP connection on which a service receives calls and events and sends its events, as a nameko extension."""

import math
import threading
import time
from collections.abc import Callable

from nameko.extensions import SharedExtension
from pika.channel import Channel

from chassis.bus import topology
from chassis.bus.link import Link

#: Unacknowledged frames per process: enough to keep all workers busy. More frames wait at the broker, for any replica.
PREFETCH_FRAMES = 16
#: How long to wait for the broker's answer to a cancelled consumer, which normally takes milliseconds.
_CANCEL_SECONDS = 2.0


class ServiceLink(SharedExtension):
    """The service's AMQP connection for received calls, events and the outbox. Calls to other services use another
    connection (`BusProvider`)."""

    def __init__(self) -> None:
        self.openers: list[Callable[[Channel], None]] = []
        self.link: Link

    def setup(self) -> None:
        name = self.container.service_name
        #: When an open link was last lost (monotonic).
        self.lost_at = -math.inf
        self.link = Link(
            self.container.config["AMQP_URL"],
            name,
            self._on_open,
            self._on_lost,
            declare=lambda channel: topology.declare_service(channel, name),
        )

    def start(self) -> None:
        """Starts the link, if it has not started. nameko's extensions call this once all of them are set up."""
        if not self.link.is_started:
            self.link.start()

    def stop(self) -> None:
        self.link.stop()

    kill = stop

    def cancel(self, consumer_tag: str) -> None:
        """Cancels a consumer, and waits until the broker confirms it or the timeout passes."""
        cancelled = threading.Event()

        def ask() -> None:
            if self.link.channel is not None:
                self.link.channel.basic_cancel(consumer_tag, lambda _frame: cancelled.set())

        if self.link.is_open and consumer_tag:
            self.link.call_soon(ask)
            cancelled.wait(_CANCEL_SECONDS)

    def _on_lost(self) -> None:
        self.lost_at = time.monotonic()

    def _on_open(self, channel: Channel) -> None:
        channel.basic_qos(prefetch_count=PREFETCH_FRAMES)
        for opener in self.openers:
            opener(channel)
