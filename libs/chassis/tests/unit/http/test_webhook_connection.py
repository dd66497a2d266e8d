"""Posting over a kept connection: it goes where the check said, each time anew."""

import errno
import http.server
import math
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from chassis.http import webhook_connection
from chassis.http.addresses import AllowedNetwork, parse_allowed_network
from chassis.http.connectivity import ConnectivityTracker
from chassis.http.resolver import Resolver
from chassis.http.webhook_connection import Answered, PostFailed, PostProblem, WebhookConnection

PUBLIC, HOST = "93.184.216.34", "hooks.example.com"


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.client_address, self.headers["Host"], self.path, body))  # type: ignore[attr-defined]
        getattr(self, "on_" + self.path.strip("/"))()

    def _send(self, status: int, body: bytes = b"ok", **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def on_hook(self) -> None:
        self._send(200)

    def on_large(self) -> None:
        self._send(200, b"x" * 100_000)

    def on_chunked(self) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"2\r\nok\r\n0\r\n\r\n")

    def on_elsewhere(self) -> None:
        self._send(307, Location="http://127.0.0.1/hook")

    def on_once(self) -> None:
        """Keeps the connection by its words, and hangs up all the same."""
        self._send(200)
        self.close_connection = True

    def on_silence(self) -> None:
        self.server.over.wait(10)  # type: ignore[attr-defined]

    def on_drip(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not self.server.over.wait(0.02):  # type: ignore[attr-defined]
            self.wfile.write(b"x")
            self.wfile.flush()

    def on_slow_body(self) -> None:
        self.send_response(204 if self.server.over.is_set() else 200)  # type: ignore[attr-defined]
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.server.over.wait(10)  # type: ignore[attr-defined]

    def on_nonsense(self) -> None:
        self.wfile.write(b"SMTP ready\r\n\r\n")
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Quiet."""


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[Any] = []
        self.over = threading.Event()

    def handle_error(self, *_: object) -> None:
        """A client that leaves is part of these tests."""


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.over.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def dialled(server: _Server, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Addresses that were connected to; all of them lead to the local server."""
    calls: list[tuple[str, int]] = []
    real = socket.create_connection

    def dial(address: tuple[str, int], timeout: float) -> socket.socket:
        calls.append(address)
        return real(server.server_address[:2], timeout)

    monkeypatch.setattr(webhook_connection.socket, "create_connection", dial)
    return calls


@pytest.fixture
def line() -> Iterator[Callable[..., WebhookConnection]]:
    made: list[WebhookConnection] = []

    def make(*answers: Sequence[str], **options: Any) -> WebhookConnection:
        """Its resolver gives the next of these answers each time, the last one again and again."""
        left = list(answers or [[PUBLIC]])
        options = {"resolve": lambda host, port: left.pop(0) if len(left) > 1 else left[0]} | options
        made.append(WebhookConnection(**options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def loopback(port: int) -> AllowedNetwork:
    return parse_allowed_network(f"127.0.0.1/32:{port}")


def post(
    line: WebhookConnection, path: str = "hook", url: str = f"http://{HOST}", seconds: float = 5.0
) -> Answered:
    headers = {"Content-Type": "application/json"}
    return line.post(f"{url}/{path}", b"{}", headers, timeout_seconds=seconds, max_bytes=16_384)


def problem(line: WebhookConnection, *arguments: Any, **options: Any) -> PostProblem:
    with pytest.raises(PostFailed) as failure:
        post(line, *arguments, **options)
    return failure.value.problem


@pytest.mark.parametrize("path", ["hook", "chunked"])
def test_a_connection_is_kept_from_one_post_to_the_next(
    path: str, server: _Server, dialled: list[Any], line: Any
) -> None:
    one = line()
    assert [post(one, path) for _ in range(3)] == [Answered(200, b"ok")] * 3
    assert dialled == [(PUBLIC, 80)]
    assert {(host, body) for _, host, _, body in server.seen} == {(HOST, b"{}")}


def test_the_name_is_looked_up_each_time_and_a_kept_connection_to_elsewhere_is_left(
    dialled: list[Any], line: Any
) -> None:
    one = line([PUBLIC], [PUBLIC, "8.8.8.8"], ["8.8.8.8"])
    for _ in range(3):
        post(one)
    assert dialled == [(PUBLIC, 80), ("8.8.8.8", 80)]


@pytest.mark.parametrize("addresses", [["127.0.0.1"], [PUBLIC, "10.0.0.1"], ["::1"], ["64:ff9b::a00:1"], []])
def test_a_name_that_moves_into_our_network_is_not_posted_to_though_a_connection_is_kept(
    addresses: list[str], server: _Server, dialled: list[Any], line: Any
) -> None:
    one = line([PUBLIC], addresses)
    post(one)
    assert problem(one) is PostProblem.PRIVATE_ADDRESS
    assert len(server.seen) == len(dialled) == 1


def test_of_a_names_addresses_only_the_allowed_private_ones_are_called(dialled: list[Any], line: Any) -> None:
    allowed = [parse_allowed_network("10.1.0.0/16:80")]
    post(line(["10.1.0.5", "10.2.0.5", PUBLIC], allowed=allowed), url="http://hooks.internal")
    assert dialled == [("10.1.0.5", 80)]
    assert problem(line(["10.2.0.5"], allowed=allowed)) is PostProblem.PRIVATE_ADDRESS


def test_a_private_address_in_the_url_is_refused_unless_it_is_allowed(server: _Server, line: Any) -> None:
    url = f"http://127.0.0.1:{server.server_port}"
    assert problem(line(), url=url) is PostProblem.PRIVATE_ADDRESS
    assert post(line(allowed=[loopback(server.server_port)]), url=url).status == 200


def test_of_an_allowed_private_address_the_other_ports_are_refused(server: _Server, line: Any) -> None:
    port = server.server_port
    for other in (loopback(port - 1), loopback(port + 1)):
        assert problem(line(allowed=[other]), url=f"http://127.0.0.1:{port}") is PostProblem.PRIVATE_ADDRESS
        by_name = line(["127.0.0.1"], allowed=[other])
        assert problem(by_name, url=f"http://{HOST}:{port}") is PostProblem.PRIVATE_ADDRESS
    assert server.seen == []


@pytest.mark.parametrize("path", ["hook", "large", "chunked", "slow_body"])
def test_of_the_answer_of_a_private_address_nothing_but_the_status_is_handed_on(
    path: str, server: _Server, line: Any
) -> None:
    port = server.server_port
    for one, url in (
        (line(allowed=[loopback(port)]), f"http://127.0.0.1:{port}"),
        (line(["127.0.0.1"], allowed=[loopback(port)]), f"http://{HOST}:{port}"),
    ):
        assert post(one, path, url=url, seconds=0.3) == Answered(200, None)


def test_a_redirect_is_an_answer_and_is_not_followed(server: _Server, dialled: list[Any], line: Any) -> None:
    assert post(line(), "elsewhere").status == 307
    assert len(server.seen) == len(dialled) == 1


def test_of_a_large_answer_only_the_beginning_is_read(dialled: list[Any], line: Any) -> None:
    one = line()
    assert len(post(one, "large").body) == 16_384
    assert post(one).body == b"ok"
    assert len(dialled) == 2


def test_a_server_that_hung_up_meanwhile_is_called_again(
    server: _Server, dialled: list[Any], line: Any
) -> None:
    one = line()
    for _ in range(4):
        assert post(one, "once").status == 200
    assert len(server.seen) == len(dialled) == 4


@pytest.mark.parametrize("path", ["silence", "drip"])
def test_the_time_limit_holds_for_everything_together(path: str, dialled: list[Any], line: Any) -> None:
    began = time.monotonic()
    assert problem(line(), path, seconds=0.3) is PostProblem.TIMEOUT
    assert time.monotonic() - began < 2


def test_a_resolver_that_does_not_answer_is_part_of_the_time_limit(line: Any) -> None:
    over = threading.Event()
    one = line(resolve=lambda host, port: over.wait(10) and [])
    began = time.monotonic()
    assert problem(one, seconds=0.2) is PostProblem.TIMEOUT
    assert time.monotonic() - began < 2
    over.set()


class SlowNames:
    """A resolver that has nothing to say of names with `slow` in them until all is over."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if "slow" in host:
            self.over.wait(10)
        return [PUBLIC]


@pytest.fixture
def slow_names() -> Iterator[SlowNames]:
    made = SlowNames()
    yield made
    made.over.set()


def all_at_once(line: Any, resolve: Any, hosts: Sequence[str], seconds: float) -> list[PostFailed]:
    """What became of a post to each, over lines of their own."""
    failures: list[PostFailed] = []

    def try_one(host: str) -> None:
        with pytest.raises(PostFailed) as failure:
            post(line(resolve=resolve), url=f"http://{host}", seconds=seconds)
        failures.append(failure.value)

    threads = [threading.Thread(target=try_one, args=(host,)) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


def test_names_that_are_slow_hold_up_nobody_elses(
    dialled: list[Any], line: Any, slow_names: SlowNames
) -> None:
    hosts = [f"slow{number}.example.com" for number in range(130)]
    assert len(all_at_once(line, slow_names, hosts, 0.5)) == 130
    assert post(line(resolve=slow_names), seconds=2.0).status == 200


def test_a_name_is_looked_up_once_for_all_who_ask_meanwhile(line: Any, slow_names: SlowNames) -> None:
    failures = all_at_once(line, slow_names, ["slow.example.com"] * 5, 0.3)
    assert [(failed.problem, failed.is_ours) for failed in failures] == [(PostProblem.TIMEOUT, True)] * 5
    assert slow_names.asked == ["slow.example.com"]


def test_a_look_up_that_found_no_turn_says_so_and_is_not_made_for_nobody(
    dialled: list[Any], line: Any, slow_names: SlowNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver = Resolver(1)
    monkeypatch.setattr(webhook_connection, "resolver", lambda: resolver)
    post(line(resolve=slow_names))
    (failed,) = all_at_once(line, slow_names, ["slow.example.com"], 0.1)
    assert failed.others_at > 0
    (failed,) = all_at_once(line, slow_names, ["late.example.com"], 0.1)
    assert (failed.problem, failed.is_ours) == (PostProblem.TIMEOUT, True)
    assert failed.others_at == -math.inf  # whatever others got
    slow_names.over.set()
    post(line(resolve=slow_names))
    assert slow_names.asked == [HOST, "slow.example.com", HOST]


def test_a_name_that_is_not_told_comes_with_when_others_last_were(
    dialled: list[Any], line: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver = Resolver(2)
    monkeypatch.setattr(webhook_connection, "resolver", lambda: resolver)
    answers: dict[str, Any] = {"a.example.com": PUBLIC, "b.example.com": PUBLIC}

    def resolve(host: str, port: int) -> list[str]:
        if host not in answers:
            raise socket.gaierror(socket.EAI_AGAIN, "try again")
        return [answers[host]]

    def others_at(host: str) -> float:
        with pytest.raises(PostFailed) as failure:
            post(line(resolve=resolve), url=f"http://{host}")
        return failure.value.others_at

    assert others_at("lame.example.com") == -math.inf
    answers["inside.example.com"] = "10.0.0.7"  # from a file, or by a resolver that knows our own names alone
    with pytest.raises(PostFailed):
        post(line(resolve=resolve), url="http://inside.example.com")
    assert others_at("lame.example.com") == -math.inf
    post(line(resolve=resolve), url="http://a.example.com")
    first = others_at("lame.example.com")
    assert first > 0
    post(line(resolve=resolve), url="http://b.example.com")
    assert others_at("lame.example.com") > first
    answers.pop("b.example.com")
    assert others_at("b.example.com") == first  # that it was told itself proves nothing


def test_a_network_that_is_not_reached_comes_with_when_others_last_were(
    dialled: list[Any], line: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_connection, "_reached", ConnectivityTracker())
    working = webhook_connection.socket.create_connection

    def others_at(error: int) -> float:
        def dial(*_: Any, **__: Any) -> None:
            raise OSError(error, "no")

        with monkeypatch.context() as patch, pytest.raises(PostFailed) as failure:
            patch.setattr(webhook_connection.socket, "create_connection", dial)
            post(line())
        assert webhook_connection.socket.create_connection is working
        return failure.value.others_at

    for address in ("10.1.0.5", V6, PUBLIC):  # none of ours, none of another kind, nor itself
        post(line([address], allowed=[parse_allowed_network("10.1.0.0/16:80")]))
        assert others_at(errno.ENETUNREACH) == -math.inf
    post(line(["8.8.8.8"]))
    assert others_at(errno.ENETUNREACH) > 0
    assert others_at(errno.ENETDOWN) == -math.inf


def test_a_status_that_came_in_time_counts_though_the_body_does_not(dialled: list[Any], line: Any) -> None:
    assert post(line(), "slow_body", seconds=0.3).status == 200


def test_what_went_wrong_has_a_name(dialled: list[Any], line: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror("no such name")

    assert problem(line(resolve=unknown)) is PostProblem.UNKNOWN_HOST
    assert problem(line(), "nonsense") is PostProblem.PROTOCOL
    assert problem(line(), url=f"https://{HOST}") is PostProblem.TLS
    for error, expected in (
        (ConnectionRefusedError, PostProblem.REFUSED),
        (OSError("no route"), PostProblem.UNREACHABLE),
    ):

        def dial(*_: Any, error: Any = error, **__: Any) -> None:
            raise error

        monkeypatch.setattr(webhook_connection.socket, "create_connection", dial)
        assert problem(line()) is expected


@pytest.mark.parametrize(
    ("error", "is_ours"),
    [
        (socket.gaierror(socket.EAI_AGAIN, "try again"), True),
        (socket.gaierror(socket.EAI_NONAME, "no such name"), False),
        (OSError(errno.EMFILE, "too many open files"), True),
    ],
)
def test_a_look_up_that_failed_for_want_of_something_of_ours_says_so(
    error: OSError, is_ours: bool, line: Any
) -> None:
    def fail(host: str, port: int) -> list[str]:
        raise error

    with pytest.raises(PostFailed) as failure:
        post(line(resolve=fail))
    assert (failure.value.problem, failure.value.is_ours) == (PostProblem.UNKNOWN_HOST, is_ours)


V6 = "2a00:1450::1"


@pytest.mark.parametrize(
    ("errors", "is_ours"),
    [
        ({PUBLIC: errno.EMFILE}, True),
        ({V6: errno.ENOBUFS}, True),
        ({PUBLIC: errno.ENETUNREACH}, True),
        ({PUBLIC: errno.EADDRNOTAVAIL}, True),
        ({V6: errno.ENETUNREACH, PUBLIC: errno.ENETUNREACH}, True),
        ({PUBLIC: errno.ENETUNREACH, V6: errno.ETIMEDOUT}, True),
        # Where only IPv4 is spoken, a receiver that has none is unreachable for ever.
        ({V6: errno.ENETUNREACH}, False),
        ({V6: errno.EADDRNOTAVAIL}, False),
        ({V6: errno.ENETUNREACH, PUBLIC: errno.ECONNREFUSED}, False),
        ({PUBLIC: errno.EHOSTUNREACH}, False),
    ],
)
def test_a_connection_that_failed_for_want_of_something_of_ours_says_so(
    errors: dict[str, int], is_ours: bool, line: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dial(address: tuple[str, int], **_: Any) -> None:
        raise OSError(errors[address[0]], "no")

    monkeypatch.setattr(webhook_connection.socket, "create_connection", dial)
    with pytest.raises(PostFailed) as failure:
        post(line(list(errors)))
    assert failure.value.is_ours is is_ours


def test_an_address_that_does_not_answer_leaves_time_for_the_next(server: _Server, line: Any) -> None:
    with socket.create_server(("127.0.0.2", server.server_port), backlog=0) as full:
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        one = line(["127.0.0.2", "127.0.0.1"], allowed=[parse_allowed_network("127.0.0.0/8:1-65535")])
        url = f"http://{HOST}:{server.server_port}"
        assert post(one, url=url, seconds=3.0).status == 200
        one.close()
        began = time.monotonic()
        assert post(one, url=url, seconds=3.0).status == 200
        assert time.monotonic() - began < 1  # which one answered is remembered
        for filler in fillers:
            filler.close()


def test_after_a_failed_handshake_nothing_goes_out_in_the_clear(
    server: _Server, dialled: list[Any], line: Any
) -> None:
    one = line(ssl_context=ssl.create_default_context())
    for _ in range(2):
        assert problem(one, url=f"https://{HOST}") is PostProblem.TLS
    assert server.seen == []
    assert len(dialled) == 2


def test_an_answer_over_tls_counts_though_the_server_hangs_up_with_it(
    line: Any, certificate_for: Callable[[str], Path]
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
        got = [post(line(["127.0.0.1"], **options), url=url).status for _ in range(10)]
        thread.join(10)
    assert got == [200] * 10
