"""Tests clients that send invalid HTTP, disconnect early or are slow, over a plain socket."""

import socket
import time
from contextlib import ExitStack, closing
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
from e2e_kit.operator import Account
from e2e_kit.stack import Stack

#: Malformed requests are refused at once.
ANSWER_SECONDS = 10.0
#: A request has 15 s to arrive (the gateway's default); then it is cut off.
CUT_OFF_SECONDS = 25.0

GET = b"GET /api/v1/ HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /api/v1/posts/publish HTTP/1.1\r\nHost: x\r\n"
BROKEN = {
    "no HTTP at all": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "a word": b"hello\r\n\r\n",
    "HTTP of the future": b"GET /api/v1/ HTTP/9.9\r\nHost: x\r\n\r\n",
    "no version": b"GET /api/v1/\r\n\r\n",
    "a NUL in the path": b"GET /api/v1/\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
    "a space in the path": b"GET /api/v1/a b HTTP/1.1\r\nHost: x\r\n\r\n",
    "a header without a colon": GET + b"nonsense\r\n\r\n",
    "a NUL in a header": GET + b"X-A: a\x00b\r\n\r\n",
    "a header name with a space": GET + b"X A: b\r\n\r\n",
    "an endless path": b"GET /api/v1/" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "an endless header": GET + b"X-A: " + b"x" * 100_000 + b"\r\n\r\n",
    "a thousand headers": GET + b"" + b"X-A: b\r\n" * 1_000 + b"\r\n",
    "a negative length": POST + b"Content-Length: -1\r\n\r\n",
    "a length in words": POST + b"Content-Length: ten\r\n\r\n",
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}",
    "a length and chunks": (POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "an unknown coding": POST + b"Transfer-Encoding: rot13\r\n\r\n{}",
    "a chunk of no size": (POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"),
    "a chunk of negative size": (POST + b"Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n"),
    "a chunk of endless size": (POST + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}"),
}


class Reply(NamedTuple):
    status: int
    text: str


def connect(stack: Stack, timeout: float = ANSWER_SECONDS) -> socket.socket:
    address = urlsplit(stack.base_url)
    client = socket.create_connection((str(address.hostname), int(address.port or 80)), timeout)
    client.settimeout(timeout)
    return client


def reply(client: socket.socket) -> Reply | None:
    """Returns the response, or None if the connection was closed without one. Raises TimeoutError if neither happens
    in time.
    """
    received = b""
    while b"\r\n\r\n" not in received or _is_short(received):
        try:
            piece = client.recv(65_536)
        except ConnectionError:
            piece = b""
        if not piece:
            break
        received += piece
    return Reply(int(received.split(b" ", 2)[1]), received.decode("latin-1")) if received else None


def _is_short(received: bytes) -> bool:
    head, _, body = received.partition(b"\r\n\r\n")
    lengths = [
        line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
    ]
    return bool(lengths) and len(body) < int(lengths[0])


def request_head(account: Account, length: int, path: str = "/posts/publish") -> bytes:
    return (
        f"POST /api/v1{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {account.api.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_not_http_is_refused_or_cut_off(stack: Stack, shared: Account, what: str) -> None:
    with closing(connect(stack)) as client:
        try:
            client.sendall(BROKEN[what])
            client.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it was refused before the whole body was sent
        answer = reply(client)
    assert answer is None or 400 <= answer.status < 500, answer
    shared.api.get("/me")


def test_a_body_that_breaks_off_is_bad_json_and_does_nothing(stack: Stack, shared: Account) -> None:
    with closing(connect(stack)) as client:
        client.sendall(request_head(shared, 500) + b'{"page_id": "')
        client.shutdown(socket.SHUT_WR)
        answer = reply(client)
    assert answer is not None
    assert answer.status == 400
    assert "INVALID_JSON" in answer.text


def test_a_client_that_leaves_at_once_disturbs_nobody(stack: Stack, shared: Account) -> None:
    for _ in range(50):
        with closing(connect(stack)) as client:
            client.sendall(request_head(shared, 500) + b"{")
    shared.api.get("/me")


def test_two_requests_in_one_packet_get_two_answers(stack: Stack, shared: Account) -> None:
    one = f"GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {shared.api.token}\r\n\r\n".encode()
    with closing(connect(stack)) as client:
        client.sendall(one + one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        received = b""
        while piece := client.recv(65_536):
            received += piece
    assert received.count(b"HTTP/1.1 200") == 2


@pytest.mark.alone
def test_slow_bodies_are_cut_off_and_meanwhile_the_others_are_served(stack: Stack, shared: Account) -> None:
    with ExitStack() as clients:
        slow = [clients.enter_context(closing(connect(stack, CUT_OFF_SECONDS))) for _ in range(150)]
        begin = time.monotonic()
        for number, client in enumerate(slow):
            client.sendall(
                request_head(shared, 1_000)[: -2 if number % 2 else None] + (b"" if number % 2 else b"{")
            )
        asked = time.monotonic()
        assert shared.api.call("GET", "/me", timeout=ANSWER_SECONDS).status_code == 200
        served_seconds = time.monotonic() - asked
        answers = [reply(client) for client in slow]
        seconds = time.monotonic() - begin
    assert seconds < CUT_OFF_SECONDS
    assert served_seconds < 5
    assert all(answer is None or 400 <= answer.status < 500 for answer in answers), answers
