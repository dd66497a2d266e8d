"""Passes each call to the Flask application of its host: a platform's routes answer on that platform's hosts only.

A call names its host in the Host header, as it would at the platform. Where that name does not resolve to the
simulator, the host is the first segment of the path: `http://127.0.0.1:8090/graph.facebook.com/v26.0/me`. The control
API and the sample media answer on every host.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flask import Blueprint, request

#: Host names of a platform → the routes that answer on these hosts.
Hosts = Mapping[tuple[str, ...], Sequence[Blueprint]]
#: Any host that is no platform's: the AI providers and Stripe answer there.
HERE: tuple[str, ...] = ()

_EVERYWHERE = ("_sim", "media")


class HostDispatcher:
    """A WSGI application that passes each call to a platform's host to that platform's Flask application. Calls to
    other hosts, to the control API and to the sample media go to the main application, `here`.
    """

    def __init__(self, here: Any, parts: Mapping[str, Any]) -> None:
        self._here, self._parts = here, parts

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host names of all platforms."""
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
    """Returns the URL of a path on a simulated host; `path` begins with a slash.

    Some callers put a platform's host into the Host header, others make it the first segment of the path. The URL has
    the form that the current call uses.
    """
    if request.script_root:
        return f"{request.host_url}{host}{path}"
    return f"{request.scheme}://{host}{path}"
