"""Measures how much later than usual an RPC message (frame) arrives, although the sender's clock may be wrong. No I/O.

Two machines' clocks may differ by minutes when a time service fails. Then all frames of a sender seem late, or none.
So a frame is compared with the sender's fastest recent frame, which was measured with the same two clocks.
"""

#: The fastest frame of this window and of the previous one counts. A window ends, because clocks drift and are set.
_WINDOW_SECONDS = 30.0
#: Number of senders to remember, far above the eight there are: it bounds the memory that forged names take. Beyond it,
#: all are forgotten.
_MOST_SENDERS = 10_000


class Lateness:
    """Remembers each sender's fastest recent frame, and computes by how much the sender's other frames are later."""

    def __init__(self) -> None:
        #: Sender → when the window began, the least clock difference in it, and in the window before.
        self._seen: dict[str, tuple[float, float, float]] = {}

    def of(self, sender: str, sent_at: float, now: float) -> float:
        """Returns by how many seconds a frame of this sender is late. A sender's first frame counts as punctual.

        `sent_at` is by the sender's clock, `now` by our monotonic clock.
        """
        gap = now - sent_at
        began, least, before = self._seen.get(sender, (now, gap, gap))
        if now - began > _WINDOW_SECONDS:
            is_next = now - began <= 2 * _WINDOW_SECONDS
            began, least, before = now, gap, least if is_next else gap
        least = min(least, gap)
        if len(self._seen) > _MOST_SENDERS:
            self._seen = {}
        self._seen[sender] = began, least, before
        return gap - min(least, before)
