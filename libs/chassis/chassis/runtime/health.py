"""GET /healthz of a service: 200 while its consumers are attached to the broker, otherwise 503.

nameko's container can live on without its consumers. The supervisor restarts a service that answers 503.
"""

from collections.abc import Callable, Iterable
from typing import Any

import eventlet
from eventlet import wsgi


def serve(host: str, port: int, is_healthy: Callable[[], bool]) -> None:
    """Serves /healthz in a green thread for the life of the process. Port 0 disables it."""
    if not port:
        return
    listener = eventlet.listen((host, port))

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/healthz":
            start_response("404 Not Found", [("Content-Type", "application/json")])
            return [b'{"error": "there is only /healthz here"}']
        healthy = is_healthy()
        start_response(
            "200 OK" if healthy else "503 Service Unavailable", [("Content-Type", "application/json")]
        )
        return [b'{"status": "ok"}' if healthy else b'{"status": "not consuming"}']

    eventlet.spawn(wsgi.server, listener, application, log_output=False)
