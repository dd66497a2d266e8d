"""Tells what the Graph API's errors mean: tables of its codes (docs/platforms.md, sections 1 and 3), and how long to
wait."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from publishing.platforms.base import DAYS_LIMIT_SECONDS, PlatformRefusal, Refusal
from publishing.platforms.http_client import retry_after

_CODES = {
    # 490: the person must first log in to Facebook and pass a check.
    **dict.fromkeys((102, 190, 490), Refusal.EXPIRED),
    **dict.fromkeys((4, 9, 17, 32, 341, 613, 80001, 80002, 1390008), Refusal.RATE_LIMITED),
    **dict.fromkeys((3, 10, *range(200, 300)), Refusal.PERMISSION),
    **dict.fromkeys((-2, -1, 1, 2, 24), Refusal.TRANSIENT),
}

#: A listed subcode takes precedence over the code.
_SUBCODES = {
    **dict.fromkeys((1390008, 2207042), Refusal.RATE_LIMITED),
    490: Refusal.EXPIRED,
    # 2207050: the account is restricted. 4854002: the person must confirm their identity to publish as the page.
    **dict.fromkeys((2207050, 4854002), Refusal.PERMISSION),
    # 2207051: held for spam, although code 4 is a rate limit. 2207085: the video cannot be processed. 1609008: a link
    # to Facebook itself.
    **dict.fromkeys((2207051, 2207085, 1609008), Refusal.REJECTED),
    # 2207020: expired container; 2207052, 2207077: the file could not be fetched, also because of a failure of Meta's
    # own; 2207082: the upload failed. Nothing of a container is published, so another attempt makes a new one.
    **dict.fromkeys(
        (
            1363047, 1609010, 2207001, 2207003, 2207008, 2207020, 2207027, 2207032, 2207052, 2207053, 2207077, 2207082,
        ),
        Refusal.TRANSIENT,
    ),
}  # fmt: skip

#: How long to wait for a limit that does not say: calls are counted over an hour (platforms.md 1), the posts of an
#: account (2207042) over 24 hours.
_LIMIT_SECONDS, _LIMIT_SECONDS_OF = 3_600.0, {2207042: DAYS_LIMIT_SECONDS}

#: The piece of a resumable upload is not the next one.
_ANOTHER_PIECE = 1363037
#: Code and subcode of an object that does not exist or that this token may not read: Meta does not tell which.
MISSING = "100/33"
#: The staged photos belong to a post already.
PHOTOS_ALREADY_POSTED = "100/1366051"
#: Codes of failures inside Meta: the call may have worked all the same.
BROKEN_CODES = (1, 2)


def kind_of(code: int, subcode: int | None, is_transient: bool = False) -> Refusal:
    """Returns the kind of refusal for an error code and subcode; REJECTED for codes that are not in our tables.
    `is_transient`: Meta calls the error temporary."""
    if subcode in _SUBCODES:
        return _SUBCODES[subcode]
    if (code, subcode) == (100, 33):
        return Refusal.PERMISSION
    return Refusal.TRANSIENT if is_transient else _CODES.get(code, Refusal.REJECTED)


class Misplaced(PlatformRefusal):
    """Raised when the platform refuses a piece of an upload because it expects another one: the piece from byte `start`
    up to, but not including, byte `end`.
    """

    def __init__(self, code: str, message: str, start: int, end: int) -> None:
        super().__init__(Refusal.TRANSIENT, code, message)
        self.start, self.end = start, end


def refusal_from(error: Mapping[str, Any], headers: Mapping[str, str]) -> PlatformRefusal:
    """Builds the refusal from an error that the Graph API answered with. A rate limit always has `wait_seconds`."""
    code = _whole(error.get("code")) or 0
    subcode = _whole(error.get("error_subcode"))
    kind = kind_of(code, subcode, error.get("is_transient") is True)
    message = str(error.get("error_user_msg") or error.get("message") or "The platform gave no reason.")
    data = error.get("error_data")
    if subcode == _ANOTHER_PIECE and isinstance(data, dict):
        with suppress(KeyError, ValueError, TypeError):
            return Misplaced(f"{code}/{subcode}", message, int(data["start_offset"]), int(data["end_offset"]))
    wait_seconds = None
    if kind is Refusal.RATE_LIMITED:
        wait_seconds = wait_in(headers) or _LIMIT_SECONDS_OF.get(subcode or 0, _LIMIT_SECONDS)
    return PlatformRefusal(kind, f"{code}/{subcode}" if subcode else str(code), message, wait_seconds)


def wait_in(headers: Mapping[str, str]) -> float | None:
    """Returns for how many seconds to wait before the next call to Meta; None if the headers do not say.

    The headers are Retry-After (seconds) and X-Business-Use-Case-Usage (minutes).
    """
    if (after := retry_after(headers)) is not None:
        return after
    try:
        uses = json.loads(headers.get("X-Business-Use-Case-Usage", "{}"))
        minutes = max(use["estimated_time_to_regain_access"] for rows in uses.values() for use in rows)
        return float(minutes) * 60 or None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None
