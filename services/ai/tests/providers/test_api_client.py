"""Calls to a provider: deadlines, retries that the provider asks for, limits of size, redirects, and which host gets
the key.
"""

import socket
import time
from http.server import BaseHTTPRequestHandler

import msgspec
import pytest
from ai_kit.scripted_server import ScriptedServer, replying

from ai.providers.api_client import MAX_ANSWER_BYTES, ApiClient
from ai.providers.base import GenerationFailed


class Word(msgspec.Struct):
    word: str


def error_of(status: int, body: bytes) -> GenerationFailed:
    return GenerationFailed(f"HTTP {status}", transient=status >= 500)


@pytest.fixture
def wire(server: ScriptedServer) -> ApiClient:
    return ApiClient(server.url, {"x-key": "secret"}, error_of)


def soon(seconds: float = 5.0) -> float:
    return time.monotonic() + seconds


def hello(wire: ApiClient, seconds: float = 5.0) -> str:
    return wire.post("/say", b"{}", Word, deadline=soon(seconds)).word


def test_an_answer_is_read_and_the_key_is_sent(wire: ApiClient, server: ScriptedServer) -> None:
    server.script = [replying(200, b'{"word": "hello", "new": 1}')]
    assert hello(wire) == "hello"
    method, path, headers, body = server.asked[0]
    assert (method, path, body, headers["x-key"]) == ("POST", "/say", b"{}", "secret")


@pytest.mark.parametrize("status", [429, 503])
def test_a_call_is_repeated_when_the_provider_says_when(
    wire: ApiClient, server: ScriptedServer, status: int
) -> None:
    server.script = [replying(status, retry_after="0"), replying(200, b'{"word": "hello"}')]
    assert hello(wire) == "hello"
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("status", "headers"), [(429, {}), (500, {"retry_after": "0"}), (400, {}), (502, {})]
)
def test_nothing_else_is_repeated(
    wire: ApiClient, server: ScriptedServer, status: int, headers: dict[str, str]
) -> None:
    server.script = [replying(status, **headers), replying(200, b'{"word": "hello"}')]
    with pytest.raises(GenerationFailed, match=f"HTTP {status}"):
        hello(wire)
    assert len(server.asked) == 1


def test_a_busy_provider_is_tried_three_times(wire: ApiClient, server: ScriptedServer) -> None:
    server.script = [replying(429, retry_after="0")]
    with pytest.raises(GenerationFailed):
        hello(wire)
    assert len(server.asked) == 3


def test_a_wait_beyond_the_deadline_is_reported_not_waited_for(
    wire: ApiClient, server: ScriptedServer
) -> None:
    server.script = [replying(429, retry_after="600")]
    began = time.monotonic()
    with pytest.raises(GenerationFailed) as failure:
        hello(wire)
    assert failure.value.wait_seconds == 600
    assert time.monotonic() - began < 2


def test_a_lost_connection_is_not_tried_again(wire: ApiClient, server: ScriptedServer) -> None:
    server.script = [lambda handler: handler.connection.shutdown(socket.SHUT_RDWR)]
    with pytest.raises(GenerationFailed, match="could not be reached") as failure:
        hello(wire)
    assert failure.value.transient
    assert len(server.asked) == 1


def test_silence_ends_at_the_deadline(wire: ApiClient, server: ScriptedServer) -> None:
    server.script = [lambda handler: handler.rfile.read(1)]
    with pytest.raises(GenerationFailed, match="took too long"):
        hello(wire, 0.3)


def test_a_byte_now_and_then_ends_at_the_deadline(wire: ApiClient, server: ScriptedServer) -> None:
    def trickle(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        try:
            for _ in range(100):
                handler.wfile.write(b" ")
                handler.wfile.flush()
                time.sleep(0.05)
        except OSError:
            """The caller has hung up."""

    server.script = [trickle]
    began = time.monotonic()
    with pytest.raises(GenerationFailed, match="took too long"):
        hello(wire, 0.4)
    assert time.monotonic() - began < 2


def test_an_endless_answer_is_not_kept_in_memory(wire: ApiClient, server: ScriptedServer) -> None:
    def flood(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(10 * MAX_ANSWER_BYTES))
        handler.end_headers()
        try:
            for _ in range(10 * MAX_ANSWER_BYTES // 2**20):
                handler.wfile.write(bytes(2**20))
        except OSError:
            """The caller has hung up."""

    server.script = [flood]
    with pytest.raises(GenerationFailed, match="too large"):
        hello(wire, 30)


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"word": 5}', b'{"word": "\\ud83d"}', b"\xff"])
def test_an_answer_that_cannot_be_read_is_a_failure(
    wire: ApiClient, server: ScriptedServer, body: bytes
) -> None:
    server.script = [replying(200, body)]
    with pytest.raises(GenerationFailed, match="could not be read"):
        hello(wire)


def test_a_file_is_fetched_through_redirects_without_the_key(wire: ApiClient, server: ScriptedServer) -> None:
    elsewhere = server.url.replace("127.0.0.1", "localhost")
    server.script = [
        replying(302, location="/moved"),
        replying(307, location=f"{elsewhere}/far"),
        replying(200, b"x" * 700_000),
    ]
    with wire.stream(f"{server.url}/file", deadline=soon()) as clip:
        assert clip.size_bytes == 700_000
        assert sum(map(len, clip.chunks)) == 700_000
    assert [path for _, path, _, _ in server.asked] == ["/file", "/moved", "/far"]
    assert [headers.get("x-key") for _, _, headers, _ in server.asked] == ["secret", "secret", None]


def test_endless_redirects_are_a_failure(wire: ApiClient, server: ScriptedServer) -> None:
    server.script = [replying(302, location="/again")]
    with (
        pytest.raises(GenerationFailed, match="redirected too many times"),
        wire.stream(f"{server.url}/file", deadline=soon()),
    ):
        pytest.fail("there is no file")
    assert len(server.asked) == 4


def test_a_connection_is_used_again(wire: ApiClient, server: ScriptedServer) -> None:
    ports: list[int] = []
    answer = replying(200, b'{"word": "hello"}')

    def note(handler: BaseHTTPRequestHandler) -> None:
        ports.append(handler.client_address[1])
        answer(handler)

    server.script = [note]
    for _ in range(3):
        hello(wire)
    assert len(set(ports)) == 1
