"""The gateway as it runs: two processes under gunicorn, a real broker, real accounts and quota."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import requests
from sqlalchemy import Engine

from chassis.testkit import cloned_databases
from contracts.accounts import CreateToken, CreateUser, TokenId
from contracts.caller import operator

OPERATOR = operator()
READ_SECONDS = 1.0


class Gateway:
    def __init__(self, env: dict[str, str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen([sys.executable, "-m", "gateway"], env=env | {"PORT": str(self.port)})

    def wait_ready(self) -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                if requests.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    return
            except requests.ConnectionError:
                time.sleep(0.05)
        pytest.fail("the gateway did not become ready")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def say(self, raw: bytes) -> bytes:
        """Sends raw bytes and reads until the gateway closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as client:
            client.sendall(raw)
            return rest_of(client)


def rest_of(client: socket.socket) -> bytes:
    answer = b""
    while piece := client.recv(65_536):
        answer += piece
    return answer


@pytest.fixture(scope="module")
def services(shared_service: Callable[..., Any]) -> Any:
    """accounts, with quota beside it."""
    shared_service("quota")
    return shared_service("accounts", env={"TOKEN_SECRET": "s" * 40})


@contextmanager
def running(admin: Engine, services: Any) -> Iterator[Gateway]:
    with cloned_databases(admin) as make_database:
        env = {
            **os.environ,
            "AMQP_URL": services.env["AMQP_URL"],
            "CLOCK_SHIFT_ALLOWED": "true",
            "DATABASE_URL": make_database("gateway"),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "READ_SECONDS": str(READ_SECONDS),
            "SERVICES": "accounts,quota",
        }
        gateway = Gateway(env)
        try:
            gateway.wait_ready()
            yield gateway
        finally:
            gateway.stop()


@pytest.fixture(scope="module")
def gateway(admin: Engine, services: Any) -> Iterator[Gateway]:
    with running(admin, services) as found:
        yield found


@pytest.fixture(scope="module")
def user_id(services: Any) -> str:
    return services.create_user(OPERATOR, CreateUser(email="ada@example.com", tier="elite")).user.id


@pytest.fixture
def token(services: Any, user_id: str) -> Any:
    return services.create_token(OPERATOR, CreateToken(user_id=user_id, scopes=("*",)))


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01 hello\r\n\r\n",
        b"GET /api/v1/ HTTP/1.1\r\nHost: x\r\nBad Header: x\r\n\r\n",
        b"GET /api/v1/ HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 20_000 + b"\r\n\r\n",
        b"GET /api/v1/?" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /auth/signup HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}",
        b"POST /auth/signup HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_http_gets_the_documented_error_body(gateway: Gateway, raw: bytes) -> None:
    head, _, body = gateway.say(raw).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert b"application/json" in head
    assert b'"code":' in body
    assert b'"request_id":' in body


def test_a_client_that_sends_10_mb_sees_its_413(gateway: Gateway) -> None:
    response = requests.post(
        f"{gateway.url}/auth/signup",
        data=b" " * 10_000_000,
        headers={"Content-Type": "application/json"},
        timeout=20,
    )
    assert (response.status_code, response.json()["code"]) == (413, "PAYLOAD_TOO_LARGE")


def test_a_body_that_does_not_arrive_holds_no_thread(gateway: Gateway) -> None:
    began = time.monotonic()
    answer = gateway.say(
        b"POST /auth/signup HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 10\r\n\r\n{"
    )
    assert b"INVALID_JSON" in answer
    assert time.monotonic() - began < READ_SECONDS + 5


def test_a_head_that_does_not_arrive_holds_no_thread(gateway: Gateway) -> None:
    assert gateway.say(b"GET /api/v1/ HTTP/1.1\r\nX-A: ") == b""


def test_a_revoked_token_is_refused_by_every_process_within_a_second(
    gateway: Gateway, services: Any, token: Any
) -> None:
    headers = {"Authorization": f"Bearer {token.api_token}"}

    def statuses() -> set[int]:
        """Each on a connection of its own, so that both processes are met."""
        return {
            requests.get(f"{gateway.url}/api/v1/me", headers=headers, timeout=5).status_code
            for _ in range(10)
        }

    assert statuses() == {200}
    services.revoke_token(OPERATOR, TokenId(token_id=token.token.id))
    revoked_at = time.monotonic()
    while statuses() != {401}:
        assert time.monotonic() - revoked_at < 1.0


def test_uses_of_a_token_reach_accounts_in_batches(gateway: Gateway, services: Any, token: Any) -> None:
    for _ in range(3):
        requests.get(f"{gateway.url}/api/v1/me", headers={"X-API-Key": token.api_token}, timeout=5)
    deadline = time.monotonic() + 10
    while (found := services.get_token(OPERATOR, TokenId(token_id=token.token.id))).request_count < 3:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert found.request_count == 3
    assert found.last_used_at is not None


def test_told_to_stop_it_ends_what_runs_and_leaves_in_order(admin: Engine, services: Any) -> None:
    with running(admin, services) as gateway:
        client = socket.create_connection(("127.0.0.1", gateway.port), timeout=10)
        with client:
            client.sendall(b"POST /auth/signup HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{")
            time.sleep(0.2)  # until the thread reads the body
            gateway.process.send_signal(signal.SIGTERM)
            client.sendall(b"}")
            assert b"MISSING_FIELD" in rest_of(client)
        assert gateway.process.wait(20) == 0
