"""Fetching the URLs of strangers: the connection goes only to the address that was checked."""

import http.server
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from chassis.http import guarded_client
from chassis.http.addresses import UnsafeAddress
from chassis.http.guarded_client import FetchFailed, FetchProblem, Stream, stream

from .posts import Server

#: A public address that the tests' network leads to the local server.
PUBLIC = "93.184.216.34"
HOST = "media.example.com"


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.seen.append((self.headers["Host"], self.path))  # type: ignore[attr-defined]
        getattr(self, "on_" + self.path.split("/")[1].split("?")[0])()

    def _send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def on_file(self) -> None:
        self._send(200, b"x" * 1000, Content_Type="Image/JPEG; q=1")

    def on_large(self) -> None:
        self._send(200, b"x" * 10**6)

    def on_unmeasured(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(10):
            self.wfile.write(b"64\r\n" + b"x" * 100 + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def on_unannounced(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"x" * 1000)
        self.close_connection = True

    def on_missing(self) -> None:
        self._send(404, b"no", Content_Type="text/html")

    def on_to(self) -> None:
        self._send(302, Location=self.path.partition("?")[2])

    def on_circle(self) -> None:
        self._send(307, Location="/circle")

    def on_silence(self) -> None:
        self.server.over.wait(10)  # type: ignore[attr-defined]

    def on_drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        self._drip()

    def on_dripping_head(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        self._drip()

    def _drip(self) -> None:
        while not self.server.over.wait(0.02):  # type: ignore[attr-defined]
            self.wfile.write(b"x")
            self.wfile.flush()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def handler() -> type[_Handler]:
    return _Handler


def _answers(*rounds: Sequence[str]) -> Callable[[str, int], Sequence[str]]:
    """Returns a resolver that gives these answers in turn."""
    left = list(rounds)
    return lambda host, port: left.pop(0)


def _get(url: str, **options: object) -> Stream:
    """Fetches the URL and reads its answer to the end."""
    settings = {"max_bytes": 10_000, "timeout_seconds": 5.0, "resolve": lambda host, port: [PUBLIC]} | options
    with stream(url, **settings) as answer:  # type: ignore[arg-type]
        return replace(answer, chunks=iter(list(answer.chunks)))


def _size_bytes(answer: Stream) -> int:
    return sum(map(len, answer.chunks))


def test_a_file_comes_with_its_status_type_and_address(server: Server, dialled: list[object]) -> None:
    answer = _get(f"http://{HOST}/file?x=1#part", allowed_types={"image/jpeg"})
    assert (answer.status, answer.content_type, _size_bytes(answer)) == (200, "image/jpeg", 1000)
    assert answer.final_url == f"http://{HOST}/file?x=1"
    assert server.seen == [(HOST, "/file?x=1")]


def test_the_connection_goes_to_the_checked_address_though_the_name_has_moved_since(
    server: Server, dialled: list[object]
) -> None:
    _get(f"http://{HOST}:8080/file", resolve=_answers([PUBLIC], ["127.0.0.1"]))
    assert dialled == [(PUBLIC, 8080)]
    assert server.seen[0][0] == f"{HOST}:8080"


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        [PUBLIC, "10.0.0.1"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::a00:1"],
        ["fe80::1%eth0"],
    ],
)
def test_a_name_with_an_address_of_ours_is_refused_unconnected(
    addresses: list[str], dialled: list[object]
) -> None:
    with pytest.raises(UnsafeAddress):
        _get(f"http://{HOST}/file", resolve=_answers(addresses))
    assert dialled == []


def test_the_system_resolver_is_checked_too(dialled: list[object]) -> None:
    with pytest.raises(UnsafeAddress):
        _get(
            "http://127.0.0.1.sslip.example/",
            resolve=lambda host, port: guarded_client.resolve("localhost", port),
        )
    assert dialled == []


def test_a_name_that_is_not_known_is_unreachable() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror("no such name")

    for resolve in (unknown, _answers([])):
        with pytest.raises(FetchFailed) as failure:
            _get(f"http://{HOST}/", resolve=resolve)
        assert failure.value.problem is FetchProblem.UNREACHABLE
        assert failure.value.retryable


def test_the_next_address_is_tried_when_one_does_not_answer(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.create_connection

    def dial(address: tuple[str, int], timeout: float) -> socket.socket:
        if address[0] == "8.8.8.8":
            raise ConnectionRefusedError
        return real(server.server_address[:2], timeout)

    monkeypatch.setattr(guarded_client.socket, "create_connection", dial)
    assert _get(f"http://{HOST}/file", resolve=_answers(["8.8.8.8", PUBLIC])).status == 200


def test_a_redirect_is_followed_and_checked_as_the_first_address_was(
    server: Server, dialled: list[object]
) -> None:
    answer = _get(
        f"http://{HOST}/to?//other.example.com/to?/file", resolve=_answers([PUBLIC], ["8.8.8.8"], [PUBLIC])
    )
    assert answer.final_url == "http://other.example.com/file"
    assert dialled == [(PUBLIC, 80), ("8.8.8.8", 80), (PUBLIC, 80)]


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{port}/file", "http://localhost:{port}/file", "http://[::1]:{port}/file", "file:///etc/passwd",
        "http://2130706433:{port}/file", "//127.1:{port}/file", "http://user@" + HOST + "/file", "ftp://" + HOST,
    ],
)  # fmt: skip
def test_a_redirect_into_our_own_network_is_refused(
    location: str, server: Server, dialled: list[object]
) -> None:
    with pytest.raises(UnsafeAddress):
        _get(f"http://{HOST}/to?{location.format(port=server.server_address[1])}")
    assert [path.split("?")[0] for _, path in server.seen] == ["/to"]


def test_a_redirect_to_a_name_that_resolves_to_loopback_is_refused(
    server: Server, dialled: list[object]
) -> None:
    with pytest.raises(UnsafeAddress):
        _get(f"http://{HOST}/to?http://inside.example.com/file", resolve=_answers([PUBLIC], ["127.0.0.1"]))
    assert len(dialled) == 1


@pytest.mark.parametrize(("path", "redirects", "asked"), [("circle", 3, 4), ("to?/file", 0, 1)])
def test_more_redirects_than_allowed_are_refused(
    path: str, redirects: int, asked: int, server: Server, dialled: list[object]
) -> None:
    with pytest.raises(FetchFailed) as failure:
        _get(f"http://{HOST}/{path}", redirects=redirects)
    assert failure.value.problem is FetchProblem.REDIRECTED
    assert len(server.seen) == asked


def test_a_routed_host_is_reached_where_the_deployment_says(server: Server) -> None:
    host_map = {"Media.Posthaste.test": f"127.0.0.1:{server.server_address[1]}"}
    answer = _get("http://media.posthaste.test/to?/file", host_map=host_map, resolve=_answers())
    assert (answer.status, answer.final_url) == (200, "http://media.posthaste.test/file")
    with pytest.raises(UnsafeAddress):
        _get("http://media.posthaste.test/to?http://127.0.0.1/", host_map=host_map)


@pytest.mark.parametrize("path", ["file", "unmeasured"])
def test_a_file_over_the_cap_is_cut_off_and_one_at_the_cap_is_not(path: str, dialled: list[object]) -> None:
    assert _size_bytes(_get(f"http://{HOST}/{path}", max_bytes=1000)) == 1000
    with pytest.raises(FetchFailed) as failure:
        _get(f"http://{HOST}/{path}", max_bytes=999)
    assert failure.value.problem is FetchProblem.TOO_LARGE
    assert not failure.value.retryable


def test_another_type_than_asked_for_is_refused_and_an_error_status_is_told(dialled: list[object]) -> None:
    with pytest.raises(FetchFailed) as failure:
        _get(f"http://{HOST}/file", allowed_types={"image/png"})
    assert failure.value.problem is FetchProblem.WRONG_TYPE
    assert _get(f"http://{HOST}/missing", allowed_types={"image/png"}).status == 404


@pytest.mark.parametrize("counts_our_time", [True, False])
def test_the_time_that_the_reader_takes_counts_unless_it_is_left_out(
    dialled: list[object], counts_our_time: bool
) -> None:
    options = {"timeout_seconds": 0.3, "resolve": lambda host, port: [PUBLIC]}
    with stream(
        f"http://{HOST}/large", max_bytes=10**6, counts_our_time=counts_our_time, **options
    ) as answer:
        time.sleep(0.4)  # as while a platform takes what was read before
        if counts_our_time:
            with pytest.raises(FetchFailed) as failure:
                list(answer.chunks)
            assert failure.value.problem is FetchProblem.TIMED_OUT
        else:
            assert _size_bytes(answer) == 10**6


def _check_time_limit(url: str, **options: object) -> None:
    began = time.monotonic()
    with pytest.raises(FetchFailed) as failure:
        _get(url, timeout_seconds=0.3, max_bytes=10**6, **options)
    assert failure.value.problem is FetchProblem.TIMED_OUT
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("path", ["silence", "drip", "dripping_head"])
def test_the_time_limit_holds_for_everything_together(path: str, dialled: list[object]) -> None:
    _check_time_limit(f"http://{HOST}/{path}")


def test_the_time_limit_holds_for_a_look_up_that_nobody_answers(server: Server) -> None:
    def silent(host: str, port: int) -> Sequence[str]:
        server.over.wait(10)
        return [PUBLIC]

    _check_time_limit(f"http://{HOST}/file", resolve=silent)


def test_an_address_that_does_not_answer_leaves_time_for_the_next(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[tuple[str, float]] = []
    real = socket.create_connection

    def dial(address: tuple[str, int], timeout: float) -> socket.socket:
        tried.append((address[0], timeout))
        if address[0] == "8.8.8.8":
            raise TimeoutError
        return real(server.server_address[:2], timeout)

    monkeypatch.setattr(guarded_client.socket, "create_connection", dial)
    options = {"timeout_seconds": 6.0, "resolve": lambda host, port: ["8.8.8.8", PUBLIC]}
    assert _get(f"http://{HOST}/file", **options).status == 200
    assert [address for address, _ in tried] == ["8.8.8.8", PUBLIC]
    assert tried[0][1] == pytest.approx(3.0, abs=0.5)
    assert tried[1][1] == pytest.approx(6.0, abs=0.5)


def test_a_file_can_be_read_piece_by_piece(dialled: list[object]) -> None:
    options = {"max_bytes": 10_000, "timeout_seconds": 5.0, "resolve": lambda host, port: [PUBLIC]}
    with stream(f"http://{HOST}/file", **options) as answer:  # type: ignore[arg-type]
        assert answer.length_bytes == 1000
        assert _size_bytes(answer) == 1000


def test_the_readers_own_errors_are_left_alone(dialled: list[object]) -> None:
    options = {"max_bytes": 10_000, "timeout_seconds": 5.0, "resolve": lambda host, port: [PUBLIC]}
    with (
        pytest.raises(OSError, match="disk full"),
        stream(f"http://{HOST}/file", **options),  # type: ignore[arg-type]
    ):
        raise OSError("disk full")


@pytest.fixture
def certificate(server: Server, certificate_for: Callable[[str], Path]) -> Path:
    """Makes the server speak TLS, with a certificate for HOST."""
    path = certificate_for(HOST)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return path


def test_the_certificate_is_checked_against_the_name_not_the_address(
    certificate: Path, server: Server, dialled: list[object]
) -> None:
    trusting = ssl.create_default_context(cafile=str(certificate))
    assert _get(f"https://{HOST}/file", ssl_context=trusting).status == 200
    assert dialled == [(PUBLIC, 443)]
    for url, context in ((f"https://other.{HOST}/file", trusting), (f"https://{HOST}/file", None)):
        with pytest.raises(FetchFailed) as failure:
            _get(url, ssl_context=context)
        assert failure.value.problem is FetchProblem.UNREACHABLE
    assert len(server.seen) == 1


def test_a_file_that_ends_with_its_connection_comes_whole_over_tls(
    certificate: Path, dialled: list[object]
) -> None:
    context = ssl.create_default_context(cafile=str(certificate))
    assert _size_bytes(_get(f"https://{HOST}/unannounced", ssl_context=context)) == 1000


@pytest.mark.parametrize("path", ["silence", "drip", "dripping_head"])
def test_the_time_limit_holds_over_tls(path: str, certificate: Path, dialled: list[object]) -> None:
    _check_time_limit(
        f"https://{HOST}/{path}", ssl_context=ssl.create_default_context(cafile=str(certificate))
    )


_UNDER_EVENTLET = """
import os
os.environ["EVENTLET_NO_GREENDNS"] = "yes"
import eventlet
eventlet.monkey_patch()
import ssl, sys
from chassis.http.addresses import UnsafeAddress
from chassis.http.guarded_client import FetchFailed, resolve, stream
port, certificate = sys.argv[1:]
url = "https://media.example.com/"
options = {"max_bytes": 10**6, "host_map": {"media.example.com": "127.0.0.1:" + port},
           "ssl_context": ssl.create_default_context(cafile=certificate)}
assert "127.0.0.1" in resolve("localhost", 80)
def size_bytes(path, seconds):
    with stream(url + path, timeout_seconds=seconds, **options) as answer:
        return sum(map(len, answer.chunks))
assert size_bytes("file", 5) == 1000
def slow():
    try:
        size_bytes("drip", 0.5)
    except FetchFailed as failure:
        return failure.problem.value
ticks = []
ticker = eventlet.spawn(lambda: [ticks.append(eventlet.sleep(0.01)) for _ in range(1000)])
threads = [eventlet.spawn(slow) for _ in range(10)]
print({thread.wait() for thread in threads}, len(ticks) > 10)
"""


def test_it_works_and_keeps_its_time_under_eventlet_while_others_go_on(
    server: Server, certificate: Path
) -> None:
    arguments = [sys.executable, "-c", _UNDER_EVENTLET, str(server.server_address[1]), str(certificate)]
    run = subprocess.run(arguments, capture_output=True, text=True, timeout=30, check=False)
    assert run.stdout.strip() == "{'timed_out'} True", run.stderr
