"""`python -m gateway` opens the port, then imports and runs the server (`server.py`).

In this order, because the imports take a second, and several on a busy machine: until they are done, connections wait
instead of being refused. While an upgrade on Compose replaces the container, that is most of the time without a server.
"""

import os
import socket

#: Connections that wait until they are accepted: gunicorn's own figure. The kernel lowers it to net.core.somaxconn.
_BACKLOG = 2048


def _listener() -> socket.socket:
    """Returns the listening socket at HOST and PORT. Raises OSError where another process has the port."""
    host, port = os.environ.get("HOST") or "127.0.0.1", int(os.environ.get("PORT") or 8000)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=_BACKLOG)


if __name__ == "__main__":
    listener = _listener()

    from gateway import server

    server.run(listener)
