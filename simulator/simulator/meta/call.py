"""A request to the Graph API with its caller, node and parameters; and the type of the table that names a handler for
each edge.
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
    """A request whose token has been accepted."""

    sim: Simulation
    caller: Account
    #: What the token allows; None: everything, for tokens of the control API.
    scopes: frozenset[str] | None
    #: Query, form and JSON body together.
    params: Mapping[str, Any]
    #: The query alone, as given.
    query: Mapping[str, str]
    files: Mapping[str, FileStorage]
    #: Address of this call without its query.
    url: str
    #: The base URL of the simulator's own files.
    base_url: str

    def allows(self, scope: str) -> bool:
        """Whether the token has this permission."""
        return self.scopes is None or scope in self.scopes

    def text(self, name: str) -> str:
        """Returns a parameter as text, or an empty string."""
        value = self.params.get(name, "")
        return value if isinstance(value, str) else str(value)

    def whole(self, name: str, default: int) -> int:
        """Returns a parameter as a whole number. Raises GraphError 100."""
        try:
            return int(self.text(name) or default)
        except ValueError as problem:
            raise invalid(f"Param {name} must be an integer") from problem

    def flag(self, name: str, default: bool) -> bool:
        """Returns a parameter as True or False."""
        value = self.text(name).lower()
        return value not in ("false", "0", "no") if value else default

    def names(self, name: str) -> list[str]:
        """Returns a parameter that is a list. It may be text between commas, a JSON list or, as SDKs send it, the text
        of a JSON list.
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
        """Returns the parsed parameter `fields`, or `default` if it is missing."""
        return parse(",".join(self.names("fields")) or default)


@dataclass(frozen=True, slots=True)
class Node:
    """An object of the Graph API that the caller may see."""

    #: Page, Post, Photo, Video, Comment; IGUser, IGMedia, IGComment, Container; User.
    kind: str
    node_id: str
    #: FB or IG, and the account it belongs to: what faults are matched by.
    platform: str
    account_id: str
    thing: Any


Handler = Callable[[Call, Node], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Edge:
    """The handler of one method for one edge and one kind of node."""

    #: Operation of local-stack.md, "Simulator control"; None: faults do not apply.
    operation: str | Callable[[Call], str | None] | None
    handler: Handler
    #: What a `reject` fault does instead of an error response.
    on_reject: Handler | None = None


#: (method, kind of node, edge; "" is the node itself)
Edges = Mapping[tuple[str, str, str], Edge]
