"""A platform's description of its API, and the comparison of a request with it."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from .shapes import Shape, anything, record

JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
#: Any other body: the bytes of a file.
BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Request:
    """A request as a connector sends it. `granted`: the scopes of its token."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""
    granted: Collection[str] = ()

    @property
    def address(self) -> str:
        """The URL without its query."""
        return self.url.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        pairs = parse_qsl(urlsplit(self.url).query, keep_blank_values=True)
        assert len(dict(pairs)) == len(pairs), f"a parameter twice: {self.url}"
        return dict(pairs)

    @property
    def content_type(self) -> str:
        """The type of the body; empty if there is no body."""
        kind = self.headers.get("content-type", "").partition(";")[0]
        if not self.body:
            return ""
        return kind if kind in (JSON, FORM, MULTIPART) else BYTES

    @property
    def fields(self) -> Any:
        """The fields of the body. A form's fields are texts, and "(file)" for a file."""
        if self.content_type == JSON:
            return json.loads(self.body)
        if self.content_type == FORM:
            return dict(parse_qsl(self.body.decode(), keep_blank_values=True))
        return dict(_part(part) for part in self.body.split(b"--" + self._boundary)[1:-1])

    @property
    def _boundary(self) -> bytes:
        return self.headers["content-type"].partition("boundary=")[2].encode()


def _part(part: bytes) -> tuple[str, str]:
    """Returns the name and the content of one part of a form."""
    head, _, content = part.partition(b"\r\n\r\n")
    name = re.findall(rb' name="([^"]*)"', head)[0].decode()
    return name, "(file)" if b" filename=" in head else content.removesuffix(b"\r\n").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One call of the API. `{…}` in its URL stands for one part of the path, never for a part of the host."""

    method: str
    url: str
    #: Parameters that belong to it alone; those of all calls are in `Description.common`.
    query: Mapping[str, Shape] = field(default_factory=dict)
    required: Collection[str] = ()
    #: The body by its type, "" standing for none. Empty: the call has no body.
    bodies: Mapping[str, Shape] = field(default_factory=dict)
    #: Headers that must be there.
    headers: Mapping[str, Shape] = field(default_factory=dict)
    #: Each is enough: scopes between blanks, of which a token must have all. Empty: no scope is needed.
    scopes: Collection[str] = ()
    #: Where its facts are from, with date; empty: all of the description's.
    source: str = ""

    def matches(self, request: Request, ids: Mapping[str, str]) -> bool:
        parts = re.split(r"\{(\w+)\}", self.url)
        pattern = "".join(
            ids.get(part, "[^/]+") if number % 2 else re.escape(part) for number, part in enumerate(parts)
        )
        return request.method == self.method and re.fullmatch(pattern, request.address) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The description of one platform's API. `source`: where the facts are from, and their date."""

    source: str
    operations: Collection[Operation]
    #: Parameters that every call has.
    common: Mapping[str, Shape] = field(default_factory=dict)
    #: Of which form the ids of a placeholder are, where a path does not tell the kind of its object.
    ids: Mapping[str, str] = field(default_factory=dict)

    def calls(self, request: Request) -> list[Operation]:
        """Returns the descriptions of the call that a request makes."""
        return [one for one in self.operations if one.matches(request, self.ids)]

    def problems(self, request: Request) -> list[str]:
        """Returns the differences between a request and the description of its call.

        A call that has two forms is described twice. The form with fewer differences counts.
        """
        found = [self._problems(one, request) for one in self.calls(request)]
        closest = min(found, key=len, default=["unknown call"])
        return [f"{request.method} {unquote(request.address)}: {problem}" for problem in closest]

    def _problems(self, one: Operation, request: Request) -> list[str]:
        found = record({**self.common, **one.query}, one.required)("", request.query)
        kind = request.content_type
        if kind not in (one.bodies or {"": anything}):
            found.append(f"a body of type {kind!r} instead of {sorted(one.bodies)}")
        elif kind not in ("", BYTES):
            found += one.bodies[kind]("", request.fields)
        for name, shape in one.headers.items():
            found += shape(f"header {name}", request.headers.get(name.lower(), ""))
        if one.scopes and not any(set(each.split()) <= set(request.granted) for each in one.scopes):
            found.append(f"needs the scopes {' or '.join(one.scopes)}")
        return found
