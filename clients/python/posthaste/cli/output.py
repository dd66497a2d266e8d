"""What commands print: tables for people, JSON for programs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import click

#: Longer texts are cut in tables.
_WIDTH = 60


def as_json(value: Any) -> Any:
    """Returns the JSON value of records, lists and times; fields have the names of the API."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.metadata.get("json", field.name): as_json(getattr(value, field.name))
            for field in dataclasses.fields(value)
        }
    if isinstance(value, (list, tuple)):
        return [as_json(part) for part in value]
    if isinstance(value, dict):
        return {name: as_json(part) for name, part in value.items()}
    return value.isoformat() if isinstance(value, datetime) else value


def print_json(value: Any) -> None:
    click.echo(json.dumps(as_json(value), ensure_ascii=False))


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], nothing: str) -> str:
    """Returns columns of text, or `nothing` if there is no row."""
    lines = [tuple(_cell(value) for value in row) for row in rows]
    if not lines:
        return nothing
    lines.insert(0, tuple(header))
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def facts(rows: Iterable[tuple[str, Any]]) -> str:
    """Returns a text with one line for each row: its name and its value. Leaves out rows without a value."""
    told = [(name, _text(value)) for name, value in rows if value not in (None, "", [], ())]
    width = max((len(name) for name, _ in told), default=0)
    return "\n".join(f"{name.ljust(width)}  {text}" for name, text in told)


def local(at: datetime | None) -> str:
    """Returns a time as text, in this machine's time zone and with its offset from UTC; empty for None."""
    return at.astimezone().strftime("%a %Y-%m-%d %H:%M %z") if at is not None else ""


def _cell(value: Any) -> str:
    text = " ".join(_text(value).split())
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return local(value)
    return "" if value is None else ", ".join(value) if isinstance(value, list) else str(value)
