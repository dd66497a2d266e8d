"""Tells what LinkedIn's errors mean: tables of its codes, and how long to wait (docs/platforms.md, section 4)."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.http_client import retry_after

DUPLICATE = "DUPLICATE_POST"
#: The post's file is not ready yet, for a short time.
WAITING_UPLOAD = "MEDIA_ASSET_WAITING_UPLOAD"
#: The upload has expired: a new one may work.
LAPSED = ("EXPIRED_UPLOAD_URL", "UPDATING_ASSET_FAILED")
#: serviceErrorCode of an invalid token; LinkedIn may call a new token revoked for some seconds.
INVALID, REVOKED, TOO_OLD = 65600, 65601, 65602

_CODES = {
    **dict.fromkeys(("INVALID_ACCESS_TOKEN", "REVOKED_ACCESS_TOKEN", "EXPIRED_ACCESS_TOKEN"), Refusal.EXPIRED),
    **dict.fromkeys(map(str, (INVALID, REVOKED, TOO_OLD)), Refusal.EXPIRED),
    **dict.fromkeys(("ACCESS_DENIED", "NONEXISTENT_VERSION"), Refusal.PERMISSION),
    **dict.fromkeys((WAITING_UPLOAD, *LAPSED), Refusal.TRANSIENT),
    **dict.fromkeys((DUPLICATE, "MEDIA_ASSET_PROCESSING_FAILED"), Refusal.REJECTED),
}  # fmt: skip
#: A 401 without the code of an invalid token does not disconnect a page.
_STATUSES = {
    401: Refusal.PERMISSION,
    403: Refusal.PERMISSION,
    408: Refusal.TRANSIENT,
    426: Refusal.PERMISSION,
    429: Refusal.RATE_LIMITED,
}
_DUPLICATE_OF = re.compile(r"content is a duplicate of (urn:li:\w+:\d+)\.?", re.IGNORECASE)


def codes_of(body: Any) -> list[str]:
    """Returns the codes of an error, the most specific first; none if the body is not an error of LinkedIn's."""
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
    """Whether a body is an error in LinkedIn's format."""
    return isinstance(body, dict) and "status" in body and ("message" in body or bool(codes_of(body)))


def refusal_from(
    body: Mapping[str, Any], status: int, headers: Mapping[str, str], version: str
) -> PlatformRefusal:
    """Builds the refusal from an error that LinkedIn answered with."""
    codes = codes_of(body)
    message = str(body.get("message") or "LinkedIn gave no reason.")
    listed = next((code for code in codes if code in _CODES), None)
    if status >= 500:
        # Errors of a broken platform are not reliable: no page is disconnected because of one.
        kind = Refusal.TRANSIENT
    elif status == 429:
        kind = Refusal.RATE_LIMITED
    else:
        kind = _CODES[listed] if listed else _STATUSES.get(status, Refusal.REJECTED)
    if status == 426:
        message = f"LinkedIn no longer serves version {version}: update LINKEDIN_VERSION. ({message})"
    wait = wait_in(headers) if kind is Refusal.RATE_LIMITED else None
    return PlatformRefusal(kind, listed or (codes[0] if codes else str(status)), message, wait)


def duplicate_of(refusal: PlatformRefusal) -> str | None:
    """Returns the id of the post that the refused post duplicates, as LinkedIn says. None if LinkedIn names no post."""
    match = _DUPLICATE_OF.fullmatch(refusal.message.strip())
    return match[1] if match else None


def wait_in(headers: Mapping[str, str], now: datetime | None = None) -> float:
    """Returns the seconds until LinkedIn accepts calls again. The header Retry-After tells them. Without that header,
    these are the seconds until midnight UTC, when LinkedIn's daily limits start again."""
    said = retry_after(headers)
    if said is not None:
        return said
    now = now or datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return (midnight - now).total_seconds()
