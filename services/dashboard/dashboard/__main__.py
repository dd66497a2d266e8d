"""`python -m dashboard` runs gunicorn with threads and the settings of `config.py`."""

import logging
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from dashboard.app import create_app
from dashboard.config import Config


class Server(BaseApplication):  # type: ignore[misc]
    """gunicorn's master process. Each of its workers creates its own application after the fork."""

    def __init__(self, config: Config) -> None:
        self._config = config
        super().__init__()

    def load_config(self) -> None:
        for name, value in _settings(self._config).items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        return create_app(self._config)


def _settings(config: Config) -> dict[str, Any]:
    """Returns gunicorn's settings for this configuration."""
    return {
        "bind": f"{config.host}:{config.port}",
        "worker_class": "gthread",
        "workers": config.workers,
        "threads": config.threads,
        "keepalive": 15,
        "graceful_timeout": config.graceful_seconds,
        "timeout": 60,
        "control_socket_disable": True,
        "loglevel": config.log_level,
        "accesslog": None,
        "proc_name": "posthaste-dashboard",
    }


if __name__ == "__main__":
    settings = Config.from_env()
    logging.basicConfig(level=settings.log_level.upper())
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs every call of the API, with its address
    Server(settings).run()
