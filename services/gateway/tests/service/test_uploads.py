"""Uploads to a running gateway: bodies that it refuses, that stall, and that are slow but steady."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
import urllib3

from contracts.accounts import CreateToken, CreateUser
from contracts.caller import operator

OPERATOR = operator()
HEAD = b'--bnd\r\nContent-Disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n'
PIECE_SECONDS = 0.1


@pytest.fixture(scope="module")
def token(services: Any) -> str:
    user = services.create_user(OPERATOR, CreateUser(email="u@example.com", tier="elite")).user
    return services.create_token(OPERATOR, CreateToken(user_id=user.id, scopes=("*",))).api_token


def head_of(token: str, length: int) -> bytes:
    lines = (
        "POST /api/v1/media/upload HTTP/1.1", "Host: x", "Connection: close", f"X-API-Key: {token}",
        "Content-Type: multipart/form-data; boundary=bnd", f"Content-Length: {length}", "", "",
    )  # fmt: skip
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize("is_known", [True, False], ids=["with a token", "without"])
def test_a_client_that_sends_300_mb_in_one_go_sees_why_it_may_not(
    gateway: Any, token: str, is_known: bool
) -> None:
    size = 300 * 2**20
    block = b"\0" * 2**20

    def body() -> Iterator[bytes]:
        yield HEAD
        yield from (block for _ in range(300))

    headers = {"Content-Type": "multipart/form-data; boundary=bnd", "Content-Length": str(len(HEAD) + size)}
    if is_known:
        headers["X-API-Key"] = token
    with urllib3.PoolManager() as pool:
        url = f"{gateway.url}/api/v1/media/upload"
        answer = pool.request("POST", url, body=body(), headers=headers, retries=False, timeout=30)
    expected = (413, "FILE_TOO_LARGE") if is_known else (401, "MISSING_TOKEN")
    assert (answer.status, answer.json()["code"]) == expected


def test_a_connection_goes_on_after_an_upload_that_was_refused(gateway: Any, token: str) -> None:
    with requests.Session() as session:
        session.headers["X-API-Key"] = token
        for _ in range(3):
            files = {"photo": ("a.jpg", b"x" * 60_000, "image/jpeg")}
            refusal = session.post(f"{gateway.url}/api/v1/media/upload", files=files, timeout=10)
            assert refusal.json()["code"] == "NO_FILE"
            assert session.get(f"{gateway.url}/api/v1/me", timeout=10).status_code == 200


def test_an_upload_that_stalls_is_ended(gateway: Any, token: str, read_seconds: float) -> None:
    began = time.monotonic()
    answer = gateway.say(head_of(token, 10_000) + b"--bnd\r\n")
    assert b"UPLOAD_ERROR" in answer
    assert time.monotonic() - began < read_seconds + 5


def test_a_slow_line_may_take_longer_than_other_requests_as_long_as_it_moves(
    gateway: Any, token: str, read_seconds: float, rest_of: Callable[[socket.socket], bytes]
) -> None:
    """The body is a form that sends a field of 2 KiB at regular times and no file. So it ends with NO_FILE, and not
    with a timeout.
    """
    value = b'--bnd\r\nContent-Disposition: form-data; name="v"\r\n\r\n' + b"x" * 2048 + b"\r\n"
    pieces = [value] * int(3 * read_seconds / PIECE_SECONDS) + [b"--bnd--\r\n"]
    paced = threading.Event()
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=30) as client:
        client.sendall(head_of(token, sum(map(len, pieces))))
        for piece in pieces:
            client.sendall(piece)
            paced.wait(PIECE_SECONDS)
        assert b"NO_FILE" in rest_of(client)
    assert time.monotonic() - began > 2 * read_seconds
