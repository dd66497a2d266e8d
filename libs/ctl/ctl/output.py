"""Formats records as JSON, as lines or as a table, and refusals as the API's error body."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from contracts.errors import ApiError


def plain(record: Any) -> Any:
    """Converts a record to JSON values (dicts, lists, texts). Times are texts in UTC, such as `2026-11-27T09:00:00Z`,
    as in the API.
    """
    return _stamped(msgspec.to_builtins(record, builtin_types=(datetime,)))


def as_json(plain: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()


def fields(plain: Mapping[str, Any]) -> str:
    """Formats a record with one field per line. Fields of a record inside it are named `outer.inner`."""
    flat = dict(_flatten(plain, ""))
    width = max(map(len, flat), default=0)
    return "\n".join(f"{name:<{width}}  {_cell(value)}".rstrip() for name, value in flat.items())


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Formats rows as a table with these columns, each as wide as its widest cell; `(none)` if there are no rows."""
    if not rows:
        return "(none)"
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    lines = [[column.upper() for column in columns], *cells]
    widths = [max(len(line[number]) for line in lines) for number in range(len(columns))]
    return "\n".join(
        "  ".join(f"{c:<{w}}" for c, w in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def refusal(error: ApiError) -> dict[str, Any]:
    """Returns an error as the body of an API answer, with the fix that GET /errors recommends."""
    return {
        "error": error.message,
        "code": error.code,
        **error.extras,
        "recommended_fix": error.row.recommended_fix,
    }


def refusal_text(error: ApiError) -> str:
    lines = [f"{error.code}: {error.message}"]
    lines += [f"  {name}: {_cell(value)}" for name, value in error.extras.items() if name != "errors"]
    return "\n".join([*lines, f"  What to do: {error.row.recommended_fix}"])


def _stamped(value: Any) -> Any:
    if isinstance(value, datetime):
        precision = "milliseconds" if value.microsecond else "seconds"
        return value.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")
    if isinstance(value, dict):
        return {key: _stamped(item) for key, item in value.items()}
    return [_stamped(item) for item in value] if isinstance(value, list | tuple) else value


def _flatten(plain: Mapping[str, Any], prefix: str) -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for name, value in plain.items():
        if isinstance(value, dict) and value:
            flat += _flatten(value, f"{prefix}{name}.")
        else:
            flat.append((prefix + name, value))
    return flat


def _cell(value: Any) -> str:
    if value is None or value in ("", (), [], {}):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    # Control characters in a stored name must not reach the operator's terminal.
    return "".join(character if character.isprintable() else "�" for character in text)
