"""Passes each call to the application of its host: a platform's routes answer on that platform's hosts and nowhere
else.

A call names its host in the Host header, as it would at the platform. Where DNS does not lead that name to the
simulator, the host is the first segment of the path: `http://127.0.0.1:8090/graph.facebook.com/v26.0/me`. The control
API and the sample media answer on every host.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flask import Blueprint, request

#: Routes by the hosts that have them.
Hosts = Mapping[tuple[str, ...], Sequence[Blueprint]]
#: The simulator itself, under whatever name it is reached: control routes and the AI and payment providers.
HERE: tuple[str, ...] = ()

_EVERYWHERE = ("_sim", "media")


class HostDispatcher:
    """A WSGI application that hands each call to the application of its host."""

    def __init__(self, here: Any, parts: Mapping[str, Any]) -> None:
        self._here, self._parts = here, parts

    @property
    def hosts(self) -> tuple[str, ...]:
        """Returns the names of all platforms' hosts."""
        return tuple(self._parts)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        first, _, rest = environ["PATH_INFO"].removeprefix("/").partition("/")
        name = environ.get("HTTP_HOST", "").partition(":")[0].lower()
        if first in self._parts:
            name = first
            environ["SCRIPT_NAME"] = f"{environ.get('SCRIPT_NAME', '')}/{first}"
            environ["PATH_INFO"] = f"/{rest}"
        here = self._here if first in _EVERYWHERE else self._parts.get(name, self._here)
        answer: Iterable[bytes] = here(environ, start_response)
        return answer


def url_of(host: str, path: str) -> str:
    """Returns a URL on this host. `path` begins with a slash.

    It names the host as the present call does: in the Host header or in the path.
    """
    if request.script_root:
        return f"{request.host_url}{host}{path}"
    return f"{request.scheme}://{host}{path}"
