"""What LinkedIn's refusals mean: its codes as tables, and how long it says to wait (platforms.md 4)."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.wire import retry_after

DUPLICATE = "DUPLICATE_POST"
#: The file of a post is not there yet, which is over soon.
WAITING_UPLOAD = "MEDIA_ASSET_WAITING_UPLOAD"
#: Of an upload that leads nowhere any more: a fresh one may.
LAPSED = ("EXPIRED_UPLOAD_URL", "UPDATING_ASSET_FAILED")
#: serviceErrorCode of a token that is over; a new one may be called revoked for some seconds.
INVALID, REVOKED, TOO_OLD = 65600, 65601, 65602

_CODES = {
    **dict.fromkeys(("INVALID_ACCESS_TOKEN", "REVOKED_ACCESS_TOKEN", "EXPIRED_ACCESS_TOKEN"), Refusal.EXPIRED),
    **dict.fromkeys(map(str, (INVALID, REVOKED, TOO_OLD)), Refusal.EXPIRED),
    **dict.fromkeys(("ACCESS_DENIED", "NONEXISTENT_VERSION"), Refusal.PERMISSION),
    **dict.fromkeys((WAITING_UPLOAD, *LAPSED), Refusal.TRANSIENT),
    **dict.fromkeys((DUPLICATE, "MEDIA_ASSET_PROCESSING_FAILED"), Refusal.REJECTED),
}  # fmt: skip
#: 401 that names no code of a token that is over cuts no page off.
_STATUSES = {
    401: Refusal.PERMISSION,
    403: Refusal.PERMISSION,
    408: Refusal.TRANSIENT,
    426: Refusal.PERMISSION,
    429: Refusal.RATE_LIMITED,
}
_DUPLICATE_OF = re.compile(r"content is a duplicate of (urn:li:\w+:\d+)\.?", re.IGNORECASE)


def codes_of(body: Any) -> list[str]:
    """An error's codes, the most telling first; empty when it is not in LinkedIn's own words."""
    if not isinstance(body, dict):
        return []
    details = body.get("errorDetails")
    rows = details.get("inputErrors") if isinstance(details, dict) else None
    found = [row.get("code") for row in rows or () if isinstance(row, dict)]
    found += [body.get("code"), body.get("serviceErrorCode")]
    if _DUPLICATE_OF.fullmatch(str(body.get("message") or "").strip()):
        found.insert(0, DUPLICATE)
    return [str(code) for code in found if code is not None]


def is_error(body: Any) -> bool:
    """Whether an answer is an error in LinkedIn's own words."""
    return isinstance(body, dict) and "status" in body and ("message" in body or bool(codes_of(body)))


def refusal_from(
    body: Mapping[str, Any], status: int, headers: Mapping[str, str], version: str
) -> PlatformRefusal:
    """The refusal in an error."""
    codes = codes_of(body)
    message = str(body.get("message") or "LinkedIn gave no reason.")
    listed = next((code for code in codes if code in _CODES), None)
    if status >= 500:
        # A platform in trouble may say anything; a page is not cut off for it.
        kind = Refusal.TRANSIENT
    elif status == 429:
        kind = Refusal.RATE_LIMITED
    else:
        kind = _CODES[listed] if listed else _STATUSES.get(status, Refusal.REJECTED)
    if status == 426:
        message = (
            f"LinkedIn no longer serves version {version}: LINKEDIN_VERSION has to be updated. ({message})"
        )
    wait = wait_in(headers) if kind is Refusal.RATE_LIMITED else None
    return PlatformRefusal(kind, listed or (codes[0] if codes else str(status)), message, wait)


def duplicate_of(refusal: PlatformRefusal) -> str | None:
    """The post that LinkedIn takes this one for, where it names it."""
    match = _DUPLICATE_OF.fullmatch(refusal.message.strip())
    return match[1] if match else None


def wait_in(headers: Mapping[str, str], now: datetime | None = None) -> float:
    """Seconds until calls are taken again: LinkedIn's allowances are a day's, which ends at midnight UTC."""
    said = retry_after(headers)
    if said is not None:
        return said
    now = now or datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return (midnight - now).total_seconds()
