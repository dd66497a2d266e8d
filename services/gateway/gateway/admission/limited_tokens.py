"""Remembers which tokens have hit a limit in the current minute."""

from collections.abc import Callable
from datetime import datetime

#: If more tokens are over a limit, all are forgotten: a read with a forgotten token calls its service before it is
#: refused.
_MOST_TOKENS = 10_000


class LimitedTokens:
    """The tokens that are over a limit in this minute. A read with such a token waits for the verdict of the service
    `quota` before it does any work."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._until: dict[str, datetime] = {}

    def note(self, token_id: str, until: datetime) -> None:
        """Remembers a token until its minute window ends."""
        if len(self._until) >= _MOST_TOKENS:
            self._until = {}
        self._until[token_id] = until

    def has(self, token_id: str) -> bool:
        until = self._until.get(token_id)
        return until is not None and self._now() < until
