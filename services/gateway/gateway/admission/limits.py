"""Limits that requests have hit: the error of a refusal, and the tokens to be careful with until their minute ends."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from contracts.errors import ERRORS, ApiError
from contracts.quota import Admitted

#: Past it the memory starts anew. Our choice: about 1 MB.
_MOST_TOKENS = 10_000


def refusal_of(admitted: Admitted) -> ApiError | None:
    """The limit that the request hit, as the error of its code; None when it was admitted."""
    if admitted.refused_code is None:
        return None
    extras: dict[str, Any] = admitted.refused_extras
    return ApiError(ERRORS[admitted.refused_code], **extras)


class LimitedTokens:
    """Tokens that hit a limit in this minute: their reads wait for quota's verdict before they cost anything."""

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
