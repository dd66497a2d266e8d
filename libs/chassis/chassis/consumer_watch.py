"""Tells a service that is away from one that is busy, by asking the broker who consumes its call queue.

Both leave calls unanswered, and no message tells the caller which it is. So the caller asks, once calls have been
unanswered for a while: a busy service has a consumer, however long its queue. Where there is none, the frames in the
queue are taken out and answered with SERVICE_UNAVAILABLE in the service's place, whoever sent them: their callers need
not wait for their deadlines, and no process that starts later runs a call whose caller was refused.
"""

from typing import Any

import pika
import structlog
from pika.channel import Channel

from chassis import logs, quarantine, topology
from chassis.frames import UNREADABLE, Failure, Reply, ReplyFrame, decode_requests, encode
from chassis.link import Link
from contracts.errors import SERVICE_UNAVAILABLE

log = structlog.get_logger()

#: Looks in a row that find no consumer before a service counts as away. A quorum queue whose leader does not answer
#: in time reports none as well.
_EMPTY_LOOKS = 2
#: Frames answered between two looks: a service that starts meanwhile keeps the rest.
_FRAMES_A_LOOK = 32


class ConsumerWatch:
    """Watches one service's call queue, over a channel of its own. All methods run in the link's I/O thread."""

    def __init__(self, link: Link, service: str) -> None:
        self._link = link
        self._service = service
        self._queue = topology.rpc_queue(service)
        self._channel: Channel | None = None
        self._is_looking = False
        self._empty_looks = 0
        self._frames_left = 0
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
        channel.add_callback(self._on_empty, [pika.spec.Basic.GetEmpty], one_shot=False)
        self._ask()

    def _on_closed(self, channel: Channel, _reason: Any) -> None:
        """There is no such queue: then calls come back as undeliverable, and nobody waits for them."""
        if channel is self._channel:
            self.reset()

    def _ask(self) -> None:
        assert self._channel is not None
        self._channel.queue_declare(self._queue, passive=True, callback=self._on_counted)

    def _on_counted(self, frame: Any) -> None:
        self._empty_looks = 0 if frame.method.consumer_count else self._empty_looks + 1
        was_away, self.is_away = self.is_away, self._empty_looks >= _EMPTY_LOOKS
        if self.is_away != was_away:
            log.warning("service_away" if self.is_away else "service_back", service=self._service)
        self._frames_left = min(frame.method.message_count, _FRAMES_A_LOOK) if self.is_away else 0
        self._take_next()

    def _take_next(self) -> None:
        if self._frames_left and self._channel is not None:
            self._channel.basic_get(self._queue, self._on_frame)
        else:
            self._is_looking = False

    def _on_empty(self, _frame: Any) -> None:
        self._is_looking = False

    def _on_frame(self, channel: Channel, method: Any, properties: Any, body: bytes) -> None:
        try:
            self._refuse(channel, properties.reply_to, body)
        except UNREADABLE as error:
            marked = quarantine.marked(self._queue, properties.headers, body, logs.summary_of(error))
            channel.basic_publish("", marked.routing_key, body, marked.properties())
            quarantine.note(marked)
        channel.basic_ack(method.delivery_tag)
        self._frames_left -= 1
        if self._frames_left:
            self._take_next()
        else:
            self._ask()  # more may have come, and the service may be back

    def _refuse(self, channel: Channel, reply_to: str | None, body: bytes) -> None:
        """Raises UNREADABLE."""
        if not reply_to:
            raise ValueError("a call without reply_to")
        refusal = Failure(SERVICE_UNAVAILABLE.code, SERVICE_UNAVAILABLE.message, {"retry_after_seconds": 1})
        replies = [Reply(id=call.id, error=refusal) for call in decode_requests(body).calls]
        properties = pika.BasicProperties(content_type="application/json", delivery_mode=1)
        channel.basic_publish("", reply_to, encode(ReplyFrame(replies=replies)), properties)
