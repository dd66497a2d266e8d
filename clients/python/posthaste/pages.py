"""Finds the next page of a list that the API returns in pages. Pure."""

from __future__ import annotations

from typing import Any

from posthaste.errors import UnexpectedAnswer


def next_page(query: dict[str, Any], page: Any) -> dict[str, Any] | None:
    """Returns the query that asks for the rest of a list after the answer `page`. Returns None if the list ends there.
    Raises UnexpectedAnswer if the answer's cursor is the one that the query had already.
    """
    cursor = page.next_cursor
    if not cursor:
        return None
    if cursor == query.get("cursor"):
        raise UnexpectedAnswer("The list's next_cursor leads back to the same page")
    return {**query, "cursor": cursor}
