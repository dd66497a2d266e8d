"""A dashboard with a fake API, whose answers have a hostile text in every text field.

The answers are made from the types of the Python client. So they also fill fields that no test can set at a platform,
and fields that are added later.
"""

import dataclasses
import re
import sys
import types
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from threading import Thread
from typing import Any
from unittest import mock

from werkzeug.serving import make_server

from dashboard import api
from dashboard.app import create_app
from dashboard.config import Config
from posthaste import Posthaste

#: Fields whose text no stranger can choose: ids, URLs, days and values to choose from.
_OURS = re.compile(r"(.*_)?(id|ids|url|src|date|month|cursor|timezone|time_zone|language|permalink)")
_DEEPEST = 8


class HostileApi:
    """A replacement for the Python client. It answers every call with records in which every text is `text`."""

    def __init__(self, description: dict[str, Any]) -> None:
        self._description = description
        self.text = ""
        #: Selects one of the values that a field may have (Literal, bool). A test sets other numbers until all values
        #: have been used.
        self.turn = 0

    def __getattr__(self, name: str) -> Any:
        if name == "get_description":
            return lambda: self._description
        returned = _hints(getattr(Posthaste, name))["return"]
        return lambda *_, **__: self._made(returned, "", 0)

    def _made(self, kind: Any, field: str, depth: int) -> Any:
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, types.UnionType):
            return self._made(next(it for it in inner if it is not types.NoneType), field, depth)
        if origin is typing.Literal:
            return inner[self.turn % len(inner)]
        if origin is dict or kind in (dict, Any):
            return {"name": self.text}
        if inner:
            return [self._made(inner[0], field, depth + 1)] if depth < _DEEPEST else []
        if dataclasses.is_dataclass(kind):
            return kind(**{name: self._made(hint, name, depth + 1) for name, hint in _hints(kind).items()})
        simple = {bool: bool(self.turn % 2), int: 3, float: 3.0, datetime: datetime.now(UTC), str: self.text}
        if kind is str and _OURS.fullmatch(field):
            return "2026-11-27" if field in ("date", "month", "year_month") else "x"
        return simple.get(kind)


@cache
def _hints(of: Any) -> dict[str, Any]:
    """Returns the types of the fields of a record class, or of the parameters and the result of a method."""
    return typing.get_type_hints(of, vars(sys.modules[of.__module__]))


@contextmanager
def hostile_dashboard(description: dict[str, Any]) -> Iterator[tuple[str, HostileApi]]:
    """Runs a dashboard with a HostileApi, which has the OpenAPI description of the real API. Yields the dashboard's
    URL and the HostileApi.
    """
    hostile = HostileApi(description)
    pages = make_server("127.0.0.1", 0, create_app(Config(api_url="http://127.0.0.1:9")), threaded=True)
    Thread(target=pages.serve_forever, daemon=True).start()
    called = {name: lambda *_, **__: hostile for name in ("reader", "patient", "own")}
    with mock.patch.multiple(api, **called):
        try:
            yield f"http://127.0.0.1:{pages.server_port}", hostile
        finally:
            pages.shutdown()
            pages.server_close()
