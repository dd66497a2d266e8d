"""Lists that continue with a cursor. Pure."""

from __future__ import annotations

from typing import Any

from posthaste.errors import UnexpectedAnswer


def next_page(query: dict[str, Any], page: Any) -> dict[str, Any] | None:
    """Returns the query for the page of a list after `page`; None after the last page. Raises UnexpectedAnswer if the
    cursor leads to the same page again.
    """
    cursor = page.next_cursor
    if not cursor:
        return None
    if cursor == query.get("cursor"):
        raise UnexpectedAnswer("The list's next_cursor leads back to the same page")
    return {**query, "cursor": cursor}
