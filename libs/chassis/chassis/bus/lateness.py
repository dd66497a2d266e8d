"""How long a frame was on its way, whatever the clock of its sender shows. Pure.

Clocks of two machines differ, by minutes when one's time service fails; then all frames of a sender seem late, or none.
So a frame is compared with the quickest of the same sender of late: both came by the same two clocks.
"""

#: The quickest frame of this time and of the one before counts: clocks drift apart, and may be set. Our choice.
_WINDOW_SECONDS = 30.0
#: Senders remembered; past it all begin anew. Our choice.
_MOST_SENDERS = 10_000


class Lateness:
    """Of the frames of all senders."""

    def __init__(self) -> None:
        #: When the window began, the least difference of clocks in it, and in the one before.
        self._seen: dict[str, tuple[float, float, float]] = {}

    def of(self, sender: str, sent_at: float, now: float) -> float:
        """Seconds. The first frame of a sender counts as punctual. `now` is a clock that is never set."""
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
