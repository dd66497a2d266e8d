"""The gateway as a process, with the real accounts and quota services."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import pytest
import requests
from sqlalchemy import Engine

from testkit.fixtures import cloned_databases, keys_for_tests

#: As short as a busy machine allows.
READ_SECONDS = 1.0


class Gateway:
    def __init__(self, env: dict[str, str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen([sys.executable, "-m", "gateway"], env=env | {"PORT": str(self.port)})

    def wait_ready(self) -> None:
        """Waits until the gateway is ready. Its port is open before it answers, so a call may go without an answer."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if requests.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    return
            except (requests.ConnectionError, requests.Timeout):
                pass
            time.sleep(0.05)
        pytest.fail("the gateway did not become ready")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def say(self, raw: bytes) -> bytes:
        """Sends raw bytes. Returns everything that the gateway sends until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as client:
            client.sendall(raw)
            return _rest_of(client)


def _rest_of(client: socket.socket) -> bytes:
    answer = b""
    while piece := client.recv(65_536):
        answer += piece
    return answer


@pytest.fixture(scope="module")
def services(shared_service: Callable[..., Any]) -> Any:
    """The accounts service. The quota service runs too."""
    shared_service("quota")
    return shared_service("accounts", env={"TOKEN_SECRET": "s" * 40})


def _environment(services: Any, database_url: str) -> dict[str, str]:
    return {
        **os.environ,
        "AMQP_URL": services.env["AMQP_URL"],
        "MESSAGE_KEYS": keys_for_tests("gateway"),
        "CLOCK_SHIFT_ALLOWED": "true",
        "DATABASE_URL": database_url,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "READ_SECONDS": str(READ_SECONDS),
        "SERVICES": "accounts,quota",
    }


@contextmanager
def _running(admin: Engine, services: Any, count: int = 1, **env: str) -> Iterator[list[Gateway]]:
    """Starts `count` gateways on one database, with these additional settings."""
    with cloned_databases(admin) as make_database:
        settings = _environment(services, make_database("gateway")) | env
        gateways = [Gateway(settings) for _ in range(count)]
        try:
            for gateway in gateways:
                gateway.wait_ready()
            yield gateways
        finally:
            for gateway in gateways:
                gateway.stop()


@pytest.fixture(scope="module")
def gateway(admin: Engine, services: Any) -> Iterator[Gateway]:
    with _running(admin, services) as [found]:
        yield found


@pytest.fixture(scope="module")
def running(admin: Engine) -> Callable[..., AbstractContextManager[list[Gateway]]]:
    """`running(services, count, SETTING="value")` starts `count` gateways on one database for this test alone."""
    return partial(_running, admin)


@pytest.fixture
def rest_of() -> Callable[[socket.socket], bytes]:
    """`rest_of(client)` reads from a socket until the other side closes the connection."""
    return _rest_of


@pytest.fixture
def read_seconds() -> float:
    """The gateway's READ_SECONDS."""
    return READ_SECONDS
