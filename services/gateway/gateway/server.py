"""Runs gunicorn with green threads and the settings of `config.py`, on a port that is open already."""

# The patch comes before every other import: a module imported earlier would keep blocking sockets and locks.
from chassis.runtime import green

green.patch()

import socket
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from chassis import telemetry
from chassis.config import TelemetryConfig
from chassis.runtime import garbage
from chassis.runtime.gauges import watch_connections
from chassis.telemetry import logs
from gateway.app import create_app
from gateway.config import Config
from gateway.services import Services


class Server(BaseApplication):  # type: ignore[misc]
    """gunicorn's main process. Each of its workers loads its own application after the fork."""

    def __init__(self, config: Config, listener: socket.socket) -> None:
        self._config = config
        self._listener = listener
        self._services: list[Services] = []
        super().__init__()

    def load_config(self) -> None:
        for name, value in _settings(self._config, self._listener, self._leave).items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        services = Services(self._config)
        services.check_clock()
        services.start_tasks()
        telemetry.start("gateway", TelemetryConfig.from_env())
        watch_connections(services.database, "gateway")
        self._services.append(services)
        app = create_app(services)
        garbage.settle()
        return app

    def _leave(self, _server: Any, _worker: Any) -> None:
        for services in self._services:
            services.close()
        telemetry.stop()


def _settings(config: Config, listener: socket.socket, leave: Any) -> dict[str, Any]:
    """Returns gunicorn's settings. gunicorn owns the listener from now on; `leave` is called when a worker exits."""
    return {
        "bind": f"fd://{listener.detach()}",
        "worker_class": "gateway.worker.Worker",
        "workers": config.workers,
        "worker_connections": config.connections,
        "keepalive": int(config.read_seconds) or 1,
        "graceful_timeout": config.graceful_seconds,
        "timeout": 60,
        "limit_request_line": 8190,
        "limit_request_field_size": 16_380,
        "control_socket_disable": True,
        "loglevel": config.log_level,
        "logger_class": "gateway.worker.Log",
        "errorlog": None,
        "accesslog": None,
        "proc_name": "posthaste-gateway",
        "worker_exit": leave,
    }


def run(listener: socket.socket) -> None:
    """Answers requests on the listening socket until the process is told to stop."""
    config = Config.from_env()
    logs.configure("gateway", config.log_level)
    garbage.settle()  # before the fork, so that workers go on sharing the memory pages of imported modules
    Server(config, listener).run()
