"""Distinguishes an absent service from a busy one, by asking the broker for the consumers of its call queue.

Both an absent and a busy service leave calls unanswered. When calls have been unanswered for a while, the caller asks
the broker. A busy service has a consumer, however long its queue is. If there is no consumer, the caller fails the
calls that wait in the queue. The caller cannot remove them, because only the service may read its queue. When a process
of the service starts later, it refuses these calls (`server.py`), which have failed for their callers already.
"""

from collections.abc import Callable
from typing import Any

import structlog
from pika.channel import Channel

from chassis.bus import topology
from chassis.bus.link import Link

log = structlog.get_logger()

#: Consecutive checks without a consumer before a service counts as away. One is not enough: a quorum queue whose leader
#: does not answer in time reports none as well.
_EMPTY_LOOKS = 2


class ConsumerWatch:
    """Checks over a separate channel whether any process consumes the call queue of one service.

    The service counts as away when several checks in a row find no consumer. Use this class in the link's I/O thread
    only.
    """

    def __init__(self, link: Link, service: str, on_away: Callable[[int], None]) -> None:
        """`on_away` is called at each check while the service counts as away. It gets the number of frames that wait in
        the call queue.
        """
        self._link = link
        self._service = service
        self._on_away = on_away
        self._queue = topology.rpc_queue(service)
        self._channel: Channel | None = None
        self._is_looking = False
        self._empty_looks = 0
        #: Whether the service counts as away. Until it is back, `look` must be called repeatedly.
        self.is_away = False

    def reset(self) -> None:
        """Forgets the channel and all earlier checks. The next check opens a new channel."""
        self._channel = None
        self._is_looking = self.is_away = False
        self._empty_looks = 0

    def look(self) -> None:
        """Asks the broker how many consumers the call queue has, unless an earlier question is still unanswered."""
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
        """Forgets the channel, which the broker closes when the queue does not exist.

        The broker then returns calls as undeliverable, so they fail at once.
        """
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
