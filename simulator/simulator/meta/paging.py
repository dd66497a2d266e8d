"""The pages in which the Graph API returns lists: `data`, and `paging` with cursors and the URL of the next page."""

import base64
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import urlencode

from simulator.meta.call import Call
from simulator.meta.errors import invalid

T = TypeVar("T")


def graph_time(moment: datetime) -> str:
    """Formats a UTC time as the Graph API does: `2026-08-07T12:34:56+0000`."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S+0000")


def read_time(text: str) -> datetime:
    """Parses the value of `since` or `until`: seconds since 1970, or an ISO date, which is in UTC if it has no zone.
    Raises GraphError 100 for any other text.
    """
    try:
        if text.isdigit():
            return datetime.fromtimestamp(int(text), UTC)
        moment = datetime.fromisoformat(text)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError) as problem:
        raise invalid(f"Invalid time {text!r}") from problem


def between(items: Sequence[T], when: Callable[[T], datetime], call: Call) -> list[T]:
    """Returns the items between the call's `since` and `until`, both included. `when` returns the time of an item."""
    since, until = call.text("since"), call.text("until")
    earliest = read_time(since) if since else None
    latest = read_time(until) if until else None
    return [
        item
        for item in items
        if (earliest is None or when(item) >= earliest) and (latest is None or when(item) <= latest)
    ]


def page(
    items: Sequence[T], id_of: Callable[[T], str], show: Callable[[T], Any], call: Call, default: int = 25
) -> dict[str, Any]:
    """Returns the page of `items` that the call's `limit` and `after` ask for. `show` returns an item's fields.

    A page has at most 100 items, so that tests have to follow the links to the next page.
    """
    limit = call.whole("limit", default)
    after = call.text("after")
    ids = [id_of(item) for item in items]
    start = 0
    if after:
        start = _position(ids, after) + 1
    chosen = items[start : start + min(max(limit, 0), 100)]
    if not chosen:
        return {"data": []}
    first, last = _cursor(id_of(chosen[0])), _cursor(id_of(chosen[-1]))
    paging: dict[str, Any] = {"cursors": {"before": first, "after": last}}
    if start + len(chosen) < len(items):
        # Without the access token: a client that follows `next` has to add its own (platforms.md 2).
        again = {key: value for key, value in call.query.items() if key not in ("access_token", "after")}
        paging["next"] = f"{call.url}?{urlencode({**again, 'limit': limit, 'after': last})}"
    return {"data": [show(item) for item in chosen], "paging": paging}


def _cursor(item_id: str) -> str:
    return base64.urlsafe_b64encode(item_id.encode()).decode()


def _position(ids: list[str], cursor: str) -> int:
    try:
        return ids.index(base64.urlsafe_b64decode(cursor).decode())
    except ValueError as problem:
        raise invalid("Invalid cursors values") from problem
