"""Detects replayed frames by their order. Pure.

A sender numbers its frames to a service, and the broker keeps their order. So a frame whose number is not above the
highest one of its connection is a replay, unless the broker marks it as redelivered. This needs neither clocks nor the
memory of single frames.

Each process knows only its own frames: with several replicas of a service, a frame can be replayed to a replica that
received no later frame of that connection. Its signature's deadline is the limit there.
"""

#: Connections to remember, against unbounded memory: a process opens one, and another when it was lost. Beyond it, the
#: connection that has been silent for the longest time is forgotten. Our choice.
_MOST_CONNECTIONS = 10_000


class FrameOrder:
    """Remembers the highest number of each connection, the most recent connection last."""

    def __init__(self) -> None:
        self._highest: dict[tuple[str, str], int] = {}

    def is_replay(self, sender: str, connection: str, number: int) -> bool:
        """Records a frame with a valid signature of `sender`, and returns whether it or a later one came before."""
        key = (sender, connection)
        highest = self._highest.pop(key, number - 1)
        self._highest[key] = max(highest, number)
        if len(self._highest) > _MOST_CONNECTIONS:
            del self._highest[next(iter(self._highest))]
        return number <= highest
