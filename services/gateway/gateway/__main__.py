"""`python -m gateway` opens the port, then imports and runs the server (`server.py`).

The port is opened first, because the imports take a second, and several on a busy machine: during that time,
connections wait instead of being refused. Without this, an upgrade on Compose would refuse connections while it
replaces the container.
"""

import os
import socket

#: Connections that wait until they are accepted: gunicorn's own figure. The kernel lowers it to net.core.somaxconn.
_BACKLOG = 2048
_LAST_PORT = 65_535


def _listener() -> socket.socket:
    """Returns the listening socket at HOST and PORT. Raises SystemExit, with the reason, if it cannot be opened."""
    host, port = os.environ.get("HOST") or "127.0.0.1", os.environ.get("PORT") or "8000"
    if not port.isdecimal() or int(port) > _LAST_PORT:
        raise SystemExit(f"PORT must be a number up to {_LAST_PORT}, not {port!r}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, int(port)), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise SystemExit(f"cannot listen on {host}, port {port}: {error.strerror}") from None


if __name__ == "__main__":
    listener = _listener()

    from gateway import server

    server.run(listener)
