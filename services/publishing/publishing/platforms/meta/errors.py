"""What the Graph API's refusals mean: its codes as tables (platforms.md 1 and 3), and how long it says to wait."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from publishing.platforms.base import DAYS_LIMIT_SECONDS, PlatformRefusal, Refusal

_CODES = {
    **dict.fromkeys((102, 190), Refusal.EXPIRED),
    **dict.fromkeys((4, 9, 17, 32, 341, 613, 80001, 80002, 1390008), Refusal.RATE_LIMITED),
    **dict.fromkeys((3, 10, *range(200, 300)), Refusal.PERMISSION),
    **dict.fromkeys((-2, -1, 1, 2, 24), Refusal.TRANSIENT),
}

#: A subcode that is listed says more than its code.
_SUBCODES = {
    **dict.fromkeys((1390008, 2207042), Refusal.RATE_LIMITED),
    # 2207050: the account is restricted.
    **dict.fromkeys((2207050,), Refusal.PERMISSION),
    # 2207051: held for spam, though its code 4 is one for rates. 2207082, 2207085: the video cannot be processed.
    **dict.fromkeys((2207051, 2207082, 2207085), Refusal.REJECTED),
    # 2207020: expired container; 2207052: the file could not be fetched, also when that is Meta's own trouble.
    **dict.fromkeys(
        (1363047, 1609010, 2207001, 2207003, 2207008, 2207020, 2207027, 2207032, 2207052, 2207053),
        Refusal.TRANSIENT,
    ),
}

#: A limit that does not say how long it lasts is waited out: calls are counted over an hour (platforms.md 1), and the
#: posts of an account (2207042) over 24.
_LIMIT_SECONDS, _LIMIT_SECONDS_OF = 3_600.0, {2207042: DAYS_LIMIT_SECONDS}

#: Of a film in pieces.
_ANOTHER_PIECE = 1363037
#: Code and subcode of an object that is not there, or not for this token: Meta does not tell which.
MISSING = "100/33"
#: The photos belong to a post already.
PHOTOS_ALREADY_POSTED = "100/1366051"
#: Codes that mean "something broke on our side": after a call that may have worked they prove nothing.
BROKEN_CODES = (1, 2)


def kind_of(code: int, subcode: int | None, is_transient: bool = False) -> Refusal:
    """What a code and subcode mean; what is not in the tables is refused for good."""
    if subcode in _SUBCODES:
        return _SUBCODES[subcode]
    if (code, subcode) == (100, 33):
        return Refusal.PERMISSION
    return Refusal.TRANSIENT if is_transient else _CODES.get(code, Refusal.REJECTED)


class Misplaced(PlatformRefusal):
    """A piece of a film was not the next one: this is (bytes from the beginning; the end is past the last)."""

    def __init__(self, code: str, message: str, start: int, end: int) -> None:
        super().__init__(Refusal.TRANSIENT, code, message)
        self.start, self.end = start, end


def refusal_from(error: Mapping[str, Any], headers: Mapping[str, str]) -> PlatformRefusal:
    """The refusal in an error envelope; a limit always says how long to wait."""
    code = _whole(error.get("code")) or 0
    subcode = _whole(error.get("error_subcode"))
    kind = kind_of(code, subcode, error.get("is_transient") is True)
    message = str(error.get("error_user_msg") or error.get("message") or "The platform gave no reason.")
    told = error.get("error_data")
    if subcode == _ANOTHER_PIECE and isinstance(told, dict):
        with suppress(KeyError, ValueError, TypeError):
            return Misplaced(f"{code}/{subcode}", message, int(told["start_offset"]), int(told["end_offset"]))
    wait_seconds = None
    if kind is Refusal.RATE_LIMITED:
        wait_seconds = wait_in(headers) or _LIMIT_SECONDS_OF.get(subcode or 0, _LIMIT_SECONDS)
    return PlatformRefusal(kind, f"{code}/{subcode}" if subcode else str(code), message, wait_seconds)


def wait_in(headers: Mapping[str, str]) -> float | None:
    """Seconds until calls are taken again, from Retry-After or X-Business-Use-Case-Usage (minutes); None: not said."""
    after = headers.get("Retry-After", "")
    if after.isascii() and after.isdigit():
        return float(after)
    try:
        uses = json.loads(headers.get("X-Business-Use-Case-Usage", "{}"))
        minutes = max(use["estimated_time_to_regain_access"] for rows in uses.values() for use in rows)
        return float(minutes) * 60 or None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None
