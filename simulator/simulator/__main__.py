"""`python -m simulator --port N [--host H] [--certificate FILE]`: runs the simulator until it is terminated."""

import argparse
import socket
import threading
from typing import Any

from flask import Flask
from gunicorn import util
from gunicorn.app.base import BaseApplication

from simulator.config import Settings, from_environment

#: Enough for a load test: each call that hangs or is slow holds a thread, and so does each fetch of our own sample
#: media.
_THREADS = 512


class _Server(BaseApplication):  # type: ignore[misc]
    """Runs the simulator in gunicorn with one worker process, because all state is in that process's memory."""

    def __init__(self, host: str, port: int, certificate: str | None, settings: Settings) -> None:
        self._options = {
            "bind": f"{host}:{port}",
            "workers": 1,
            "worker_class": "gthread",
            "threads": _THREADS,
            "worker_connections": 4 * _THREADS,
            "keepalive": 75,
            "graceful_timeout": 1,
            "loglevel": "warning",
            "control_socket_disable": True,
            **({"certfile": certificate, "keyfile": certificate} if certificate else {}),
        }
        self._settings = settings
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        # Imported in the worker process only, so that the parent process stays small.
        from simulator.app import create_app
        from simulator.simulation import Simulation

        util.close_graceful = _closed_aside
        return create_app(Simulation(self._settings))


#: Closing waits up to 2 s for the peer. gunicorn would do that in the only thread that accepts connections.
_close_gracefully = util.close_graceful


def _closed_aside(connection: socket.socket) -> None:
    """Closes a connection in a separate thread, because closing waits while the client is still uploading."""
    threading.Thread(target=_close_gracefully, args=(connection,), daemon=True).start()


def main(arguments: list[str] | None = None) -> Any:
    """Reads the command line and serves the simulator until the process is terminated."""
    parser = argparse.ArgumentParser(
        prog="simulator", description="Stand-in for the social platforms' HTTP APIs"
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--certificate", help="file with a certificate and its key: serves TLS")
    options = parser.parse_args(arguments)
    _Server(options.host, options.port, options.certificate, from_environment()).run()


if __name__ == "__main__":
    main()
