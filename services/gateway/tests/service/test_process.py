"""The gateway as in production: two processes under gunicorn, with a real broker and the real accounts and quota
services.
"""

import signal
import socket
import time
from typing import Any

import pytest
import requests

from contracts.accounts import CreateToken, CreateUser, TokenId
from contracts.caller import operator
from gateway.config import Config

OPERATOR = operator()


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
def test_what_is_no_http_gets_the_documented_error_body(gateway: Any, raw: bytes) -> None:
    head, _, body = gateway.say(raw).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert b"application/json" in head
    assert b"Cache-Control: no-store" in head
    assert b"X-Content-Type-Options: nosniff" in head
    assert b'"code":' in body
    assert b'"request_id":' in body


def test_a_client_that_sends_10_mb_sees_its_413(gateway: Any) -> None:
    response = requests.post(
        f"{gateway.url}/auth/signup",
        data=b" " * 10_000_000,
        headers={"Content-Type": "application/json"},
        timeout=20,
    )
    assert (response.status_code, response.json()["code"]) == (413, "PAYLOAD_TOO_LARGE")


def test_a_body_that_does_not_arrive_holds_no_thread(gateway: Any, read_seconds: float) -> None:
    began = time.monotonic()
    answer = gateway.say(
        b"POST /auth/signup HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 10\r\n\r\n{"
    )
    assert b"INVALID_JSON" in answer
    assert time.monotonic() - began < read_seconds + 5


def test_a_head_that_does_not_arrive_holds_no_thread(gateway: Any) -> None:
    assert gateway.say(b"GET /api/v1/ HTTP/1.1\r\nX-A: ") == b""


def test_a_revoked_token_is_refused_by_every_process_long_before_they_would_forget_it(
    gateway: Any, services: Any, token: Any
) -> None:
    headers = {"Authorization": f"Bearer {token.api_token}"}

    def statuses() -> set[int]:
        """Returns the statuses of several requests, each on a new connection, so that both processes get some."""
        return {
            requests.get(f"{gateway.url}/api/v1/me", headers=headers, timeout=5).status_code
            for _ in range(10)
        }

    assert statuses() == {200}
    services.revoke_token(OPERATOR, TokenId(token_id=token.token.id))
    revoked_at = time.monotonic()
    while statuses() != {401}:
        assert time.monotonic() - revoked_at < Config(amqp_url="", database_url="").caller_cache_seconds / 2


def test_uses_of_a_token_reach_accounts_in_batches(gateway: Any, services: Any, token: Any) -> None:
    for _ in range(3):
        requests.get(f"{gateway.url}/api/v1/me", headers={"X-API-Key": token.api_token}, timeout=5)
    deadline = time.monotonic() + 10
    while (found := services.get_token(OPERATOR, TokenId(token_id=token.token.id))).request_count < 3:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert found.request_count == 3
    assert found.last_used_at is not None


def test_told_to_stop_it_ends_what_runs_and_leaves_in_order(
    running: Any, services: Any, rest_of: Any
) -> None:
    with running(services) as [gateway]:
        client = socket.create_connection(("127.0.0.1", gateway.port), timeout=10)
        with client:
            client.sendall(b"POST /auth/signup HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{")
            time.sleep(0.2)  # until the thread reads the body
            gateway.process.send_signal(signal.SIGTERM)
            client.sendall(b"}")
            assert b"MISSING_FIELD" in rest_of(client)
        assert gateway.process.wait(20) == 0
