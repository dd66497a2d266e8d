"""Reads values out of platforms' JSON answers, which may hold anything. Pure."""

from datetime import UTC, datetime
from typing import Any

from publishing.platforms.base import OutcomeUnknown
from publishing.platforms.http_client import transient

Answer = dict[str, Any]


def objects(value: Any) -> list[Answer]:
    """Returns the JSON objects in a list; an empty list if the value is not a list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def required(answer: Answer, name: str, *, visible: bool = False) -> str:
    """Returns a value of the answer as text.

    If it is missing, raises OutcomeUnknown after a `visible` call, otherwise PlatformRefusal.
    """
    if answer.get(name):
        return str(answer[name])
    message = f"The platform's answer names no {name}."
    raise OutcomeUnknown(message) if visible else transient("NO_ID", message)


def iso_time(text: Any) -> datetime | None:
    """Parses a time such as `2026-08-07T12:34:56+0000` (or with Z) into UTC.

    Returns None for anything else, also for a time without an offset.
    """
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return moment.astimezone(UTC) if moment.tzinfo else None


def epoch_time(value: Any, *, per_second: int = 1) -> datetime | None:
    """Converts a Unix time to UTC; None for anything else. `per_second` is 1 for seconds, 1000 for milliseconds."""
    is_time = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return datetime.fromtimestamp(value / per_second, UTC) if is_time else None
