"""Posts over a connection that stays open: answers, time limits, TLS and the names of failures."""

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chassis.http import webhook_connection
from chassis.http.addresses import parse_allowed_network
from chassis.http.webhook_connection import Answered, PostProblem

from .posts import HOST, PUBLIC, Server, post, problem


@pytest.mark.parametrize("path", ["hook", "chunked"])
def test_a_connection_is_kept_from_one_post_to_the_next(
    path: str, server: Server, dialled: list[Any], connect: Any
) -> None:
    one = connect()
    assert [post(one, path) for _ in range(3)] == [Answered(200, b"ok")] * 3
    assert dialled == [(PUBLIC, 80)]
    assert {(host, body) for _, host, _, body in server.seen} == {(HOST, b"{}")}


def test_a_redirect_is_an_answer_and_is_not_followed(
    server: Server, dialled: list[Any], connect: Any
) -> None:
    assert post(connect(), "elsewhere").status == 307
    assert len(server.seen) == len(dialled) == 1


def test_of_a_large_answer_only_the_beginning_is_read(dialled: list[Any], connect: Any) -> None:
    one = connect()
    assert len(post(one, "large").body) == 16_384
    assert post(one).body == b"ok"
    assert len(dialled) == 2


def test_a_server_that_hung_up_meanwhile_is_called_again(
    server: Server, dialled: list[Any], connect: Any
) -> None:
    one = connect()
    for _ in range(4):
        assert post(one, "once").status == 200
    assert len(server.seen) == len(dialled) == 4


@pytest.mark.parametrize("path", ["silence", "drip"])
def test_the_time_limit_holds_for_everything_together(path: str, dialled: list[Any], connect: Any) -> None:
    began = time.monotonic()
    assert problem(connect(), path, seconds=0.3) is PostProblem.TIMEOUT
    assert time.monotonic() - began < 30


def test_a_resolver_that_does_not_answer_is_part_of_the_time_limit(connect: Any) -> None:
    over = threading.Event()
    one = connect(resolve=lambda host, port: over.wait(60) and [])
    began = time.monotonic()
    assert problem(one, seconds=0.2) is PostProblem.TIMEOUT
    assert time.monotonic() - began < 30
    over.set()


def test_a_status_that_came_in_time_counts_though_the_body_does_not(dialled: list[Any], connect: Any) -> None:
    assert post(connect(), "slow_body", seconds=1.0).status == 200


def test_what_went_wrong_has_a_name(
    dialled: list[Any], connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror("no such name")

    assert problem(connect(resolve=unknown)) is PostProblem.UNKNOWN_HOST
    assert problem(connect(), "nonsense") is PostProblem.PROTOCOL
    assert problem(connect(), url=f"https://{HOST}") is PostProblem.TLS
    for error, expected in (
        (ConnectionRefusedError, PostProblem.REFUSED),
        (OSError("no route"), PostProblem.UNREACHABLE),
    ):

        def dial(*_: Any, error: Any = error, **__: Any) -> None:
            raise error

        monkeypatch.setattr(webhook_connection.socket, "create_connection", dial)
        assert problem(connect()) is expected


def test_after_a_failed_handshake_nothing_goes_out_in_the_clear(
    server: Server, dialled: list[Any], connect: Any
) -> None:
    one = connect(ssl_context=ssl.create_default_context())
    for _ in range(2):
        assert problem(one, url=f"https://{HOST}") is PostProblem.TLS
    assert server.seen == []
    assert len(dialled) == 2


def test_an_answer_over_tls_counts_though_the_server_hangs_up_with_it(
    connect: Any, certificate_for: Callable[[str], Path]
) -> None:
    certificate = certificate_for(HOST)
    secret = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secret.load_cert_chain(certificate)

    def serve() -> None:
        for _ in range(10):
            connection, _ = listening.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with secret.wrap_socket(connection, server_side=True) as secured:
                while not secured.recv(65_536).endswith(b"{}"):
                    pass
                secured.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # by a reset
                secured.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        options: dict[str, Any] = {
            "allowed": [parse_allowed_network("127.0.0.1/32:1-65535")],
            "ssl_context": ssl.create_default_context(cafile=str(certificate)),
        }
        url = f"https://{HOST}:{listening.getsockname()[1]}"
        got = [post(connect(["127.0.0.1"], **options), url=url).status for _ in range(10)]
        thread.join(10)
    assert got == [200] * 10
