"""The types of a request to the Graph API: the call, the node in its path, and the table that maps node and edge to a
handler.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from werkzeug.datastructures import FileStorage

from simulator.accounts import Account
from simulator.meta.errors import invalid
from simulator.meta.fields import Field, parse
from simulator.simulation import Simulation


@dataclass(frozen=True, slots=True)
class Call:
    """A request to the Graph API whose token has been accepted."""

    sim: Simulation
    caller: Account
    #: The token's permissions. None: all, for tokens that the control API made.
    scopes: frozenset[str] | None
    #: The parameters of query, form and JSON body together.
    params: Mapping[str, Any]
    #: The parameters of the query.
    query: Mapping[str, str]
    files: Mapping[str, FileStorage]
    #: URL of this call without its query.
    url: str
    #: The base URL of the simulator's own files.
    base_url: str

    def allows(self, scope: str) -> bool:
        """Whether the token has this permission."""
        return self.scopes is None or scope in self.scopes

    def text(self, name: str) -> str:
        """Returns a parameter as text; an empty text if it is missing."""
        value = self.params.get(name, "")
        return value if isinstance(value, str) else str(value)

    def whole(self, name: str, default: int) -> int:
        """Returns a parameter as an integer, or `default` if it is missing. Raises GraphError 100 if it is not an
        integer.
        """
        try:
            return int(self.text(name) or default)
        except ValueError as problem:
            raise invalid(f"Param {name} must be an integer") from problem

    def flag(self, name: str, default: bool) -> bool:
        """Returns a boolean parameter: `default` if it is missing, False for `false`, `0` and `no`, and True for any
        other value.
        """
        value = self.text(name).lower()
        return value not in ("false", "0", "no") if value else default

    def names(self, name: str) -> list[str]:
        """Returns the values of a list parameter: text with commas, a JSON list, or a JSON list inside a string, which
        SDKs send. Raises GraphError 100 for a malformed list.
        """
        value = self.params.get(name) or ""
        if isinstance(value, str) and value.lstrip().startswith("["):
            try:
                value = json.loads(value)
            except ValueError as problem:
                raise invalid(f"Param {name} must be an array") from problem
        if isinstance(value, list):
            return [str(one) for one in value]
        return [one for one in str(value).split(",") if one.strip()]

    def fields(self, default: str) -> tuple[Field, ...]:
        """Returns the parsed parameter `fields`, or the parsed `default` if it is missing. Raises GraphError 2500 for
        bad syntax.
        """
        return parse(",".join(self.names("fields")) or default)


@dataclass(frozen=True, slots=True)
class Node:
    """An object of the Graph API that the calling account may see, such as a page or a post."""

    #: Page, Post, Photo, Video, Comment; IGUser, IGMedia, IGComment, Container; User.
    kind: str
    node_id: str
    #: FB or IG, and the account to which the object belongs. Planned faults are selected by them.
    platform: str
    account_id: str
    thing: Any


Handler = Callable[[Call, Node], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Edge:
    """The handler for calls with a certain method on a certain path below objects of a kind, such as POST /{page}/feed.
    The Graph API calls such a path (`feed`) an edge.
    """

    #: The operation for planned faults (local-stack.md, "Simulator control"); None: no fault affects the call.
    operation: str | Callable[[Call], str | None] | None
    handler: Handler
    #: Runs for a `reject` fault, instead of an error response.
    on_reject: Handler | None = None


#: (method, kind of node, edge) → handler. The edge of the node itself is "".
Edges = Mapping[tuple[str, str, str], Edge]
