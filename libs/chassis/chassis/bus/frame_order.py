"""Detects replayed RPC messages (frames) by their numbers. No I/O.

A sender numbers its frames to a service, and the broker keeps their order. So a frame is a replay if its number is not
above the highest one received from the same connection.

There is one exception. If a process loses its connection before it has acknowledged a frame, the broker delivers the
frame again, marked as redelivered. Such a frame runs, unless this process has begun it already.

Each process knows only the frames that it has received. A replica that received no later frame of that connection
accepts a replay until the deadline in the frame's signature.
"""

from collections import deque
from dataclasses import dataclass, field

#: Connections of one sender to remember, against unbounded memory: a process opens one, and another when it was lost.
#: Beyond it, the connection that has been silent for the longest time is forgotten.
_MOST_CONNECTIONS = 1_000
#: Frames of one connection that may be unacknowledged, with room to spare: the broker sends 16 ahead. Our choice.
_RECENT = 64


@dataclass(slots=True)
class _Connection:
    highest: int
    #: Numbers of the frames that this process has begun last.
    begun: deque[int] = field(default_factory=lambda: deque(maxlen=_RECENT))


class FrameOrder:
    """Remembers the frame numbers of each sender's connections, to recognise a replay."""

    def __init__(self) -> None:
        self._senders: dict[str, dict[str, _Connection]] = {}

    def may_run(self, sender: str, connection: str, number: int, *, is_redelivered: bool = False) -> bool:
        """Returns whether a frame of `sender` is new to this process, and if so, records it as begun.

        The frame's signature must have been verified before.
        """
        connections = self._senders.setdefault(sender, {})
        known = connections.pop(connection, None) or _Connection(number - 1)
        connections[connection] = known
        if len(connections) > _MOST_CONNECTIONS:
            del connections[next(iter(connections))]
        if number <= known.highest and (not is_redelivered or number in known.begun):
            return False
        known.highest = max(known.highest, number)
        known.begun.append(number)
        return True
