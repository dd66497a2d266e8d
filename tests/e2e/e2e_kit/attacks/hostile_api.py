"""A dashboard over a fake API whose answers have a hostile text in every field that holds text.

The answers are built from the types of the Python client. So they also fill fields that no test can set at a platform,
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

#: Fields with a text that is no stranger's: ids, addresses, days and what one can choose from.
_OURS = re.compile(r"(.*_)?(id|ids|url|src|date|month|cursor|timezone|time_zone|language|permalink)")
_DEEPEST = 8


class HostileApi:
    """Stands in for the Python client: answers every call with records whose texts are all `text`."""

    def __init__(self, description: dict[str, Any]) -> None:
        self._description = description
        self.text = ""
        #: Chooses among the values that a field may have: each number gives others, until all have had their turn.
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
    """Returns the types of a record's fields, or of a method's parameters and its result."""
    return typing.get_type_hints(of, vars(sys.modules[of.__module__]))


@contextmanager
def hostile_dashboard(description: dict[str, Any]) -> Iterator[tuple[str, HostileApi]]:
    """Runs a dashboard over a HostileApi with the description of the real API. Yields the dashboard's address and the
    HostileApi.
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
