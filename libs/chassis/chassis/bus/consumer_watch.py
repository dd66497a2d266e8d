"""Tells a service that is away from one that is busy, by asking the broker who consumes its call queue.

Both leave calls unanswered, and no message tells the caller which it is. So the caller asks, once calls have been
unanswered for a while: a busy service has a consumer, however long its queue. Where there is none, what waits in the
queue is given up by its caller; a process that starts later refuses it (`server.py`), so that no call is run whose
caller was refused. Only the service may read its queue.
"""

from collections.abc import Callable
from typing import Any

import structlog
from pika.channel import Channel

from chassis.bus import topology
from chassis.bus.link import Link

log = structlog.get_logger()

#: Looks in a row that find no consumer before a service counts as away. A quorum queue whose leader does not answer
#: in time reports none as well.
_EMPTY_LOOKS = 2


class ConsumerWatch:
    """Watches one service's call queue, over a channel of its own. All methods run in the link's I/O thread."""

    def __init__(self, link: Link, service: str, on_away: Callable[[int], None]) -> None:
        """`on_away`: told how many frames wait in the queue, at each look that finds the service away."""
        self._link = link
        self._service = service
        self._on_away = on_away
        self._queue = topology.rpc_queue(service)
        self._channel: Channel | None = None
        self._is_looking = False
        self._empty_looks = 0
        #: Whether the service counts as away. Then `look` must be called again and again, to see it come back.
        self.is_away = False

    def reset(self) -> None:
        """The link was lost: nothing is known any more."""
        self._channel = None
        self._is_looking = self.is_away = False
        self._empty_looks = 0

    def look(self) -> None:
        """Asks for the number of consumers, unless that is being asked already."""
        if self._is_looking:
            return
        self._is_looking = True
        if self._channel is None:
            self._link.open_channel(self._on_channel)
        else:
            self._ask()

    def _on_channel(self, channel: Channel) -> None:
        self._channel = channel
        channel.add_on_close_callback(self._on_closed)
        self._ask()

    def _on_closed(self, channel: Channel, _reason: Any) -> None:
        """There is no such queue: then calls come back as undeliverable, and nobody waits for them."""
        if channel is self._channel:
            self.reset()

    def _ask(self) -> None:
        assert self._channel is not None
        self._channel.queue_declare(self._queue, passive=True, callback=self._on_counted)

    def _on_counted(self, frame: Any) -> None:
        self._is_looking = False
        self._empty_looks = 0 if frame.method.consumer_count else self._empty_looks + 1
        was_away, self.is_away = self.is_away, self._empty_looks >= _EMPTY_LOOKS
        if self.is_away != was_away:
            log.warning("service_away" if self.is_away else "service_back", service=self._service)
        if self.is_away:
            self._on_away(frame.method.message_count)
