"""Finds the settings that each process reads from its environment, by running its config.py. Adds the test kits to the
path.
"""

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from chassis import config
from chassis.message_keys import all_message_keys, new_secrets
from local.containers import packages
from local.processes.table import NotReady

#: Set by `./dev test --containers` to core or full.
collect_ignore = [] if "CONTAINERS" in os.environ else ["containers"]
sys.path.insert(0, str(Path(__file__).parent))
#: chassis' own service for tests.
sys.path.insert(0, str(Path(__file__).parents[2] / "libs/chassis/tests/probe"))

#: Something that each kind of reader takes.
_ANYTHING = {
    "AMQP_URL": "amqp://user@host/%2F",
    "MESSAGE_KEYS": ",".join(all_message_keys(new_secrets()).values()),
    "TOKEN_SECRET": "x" * 64,
    "CREDENTIAL_KEYS": Fernet.generate_key().decode(),
    "WEBHOOK_SECRET_KEYS": Fernet.generate_key().decode(),
}


@dataclass
class Settings:
    """The settings that a process reads: all of them, and those that it requires."""

    read: set[str] = field(default_factory=set)
    required: set[str] = field(default_factory=set)


@pytest.fixture(scope="session")
def docker_compose() -> str:
    """The path of Compose 2 without an engine, to render files. Without Debian's package the test is skipped, except in
    CI.
    """
    try:
        packages.provide_compose(print)
    except NotReady as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    return str(packages.COMPOSE_PROGRAM)


@pytest.fixture
def settings_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Settings]:
    """`settings_of("quota")` returns the settings of a process. Several names mean services that share one process."""

    def find(*services: str) -> Settings:
        found = Settings()

        def text(name: str, default: str | None = None) -> str:
            found.read.add(name)
            if default is not None:
                return default
            found.required.add(name)
            return _ANYTHING.get(name, "postgresql://user@host/database")

        monkeypatch.setattr(config, "text", text)
        config.TelemetryConfig.from_env()
        for service in services:
            if service != "gateway":
                config.BusConfig.from_env()
                config.ServiceConfig.from_env(service if len(services) > 1 else None)
                config.signatures(service)
            module = importlib.import_module(f"{service}.config")
            for kind in vars(module).values():
                if getattr(kind, "__module__", "") == module.__name__ and hasattr(kind, "from_env"):
                    kind.from_env()
        return found

    return find
