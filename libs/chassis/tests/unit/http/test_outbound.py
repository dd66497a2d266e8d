"""Calls to servers that are slow but alive, and to servers whose answers never end."""

import json
import math
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from urllib3.exceptions import ConnectTimeoutError, HTTPError

from chassis.http import outbound
from chassis.http.outbound import Limits, Outbound

#: Small and fast stand-ins for a photo: 40 kB, at most 100 kB/s too slow.
BODY_BYTES = 40_000
#: A call that does not end at its ceiling takes minutes, or never ends.
LONG_SECONDS = 15.0
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Work = Callable[[socket.socket], None]


@pytest.fixture
def serving() -> Iterator[Callable[[Work], int]]:
    """`serving(work)` starts a server that does this work with every connection. Returns its port."""
    servers = []

    def start(work: Work) -> int:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def serve_one(connection: socket.socket) -> None:
            with suppress(OSError), connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.settimeout(10)
                work(connection)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=serve_one, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        return int(server.getsockname()[1])

    yield start
    for server in servers:
        server.close()


def limits(**changed: Any) -> Limits:
    return Limits(**{"connect_seconds": 0.2, "silence_seconds": 0.5, **changed})


def pool(**changed: Any) -> Outbound:
    return Outbound(limits(**changed), connections=2)


def head_of(connection: socket.socket) -> bytes:
    got = b""
    while b"\r\n\r\n" not in got:
        piece = connection.recv(1)
        if not piece:
            raise ConnectionError
        got += piece
    return got


def answers_after(seconds: float) -> Work:
    def work(connection: socket.socket) -> None:
        head_of(connection)
        time.sleep(seconds)
        connection.sendall(OK)

    return work


def reads(piece_bytes: int, each_seconds: float, stop_at: float = math.inf) -> Work:
    """Reads a body in steps at a given rate, and then answers. Pauses for long at `stop_at`."""

    def work(connection: socket.socket) -> None:
        left = BODY_BYTES
        head_of(connection)
        while left > 0:
            if BODY_BYTES - left >= stop_at:
                time.sleep(5)
            left -= len(connection.recv(piece_bytes))
            time.sleep(each_seconds)
        connection.sendall(OK)

    return work


def sends(*pieces: bytes, each_seconds: float) -> Work:
    """Answers in pieces, and repeats the last piece for ever."""

    def work(connection: socket.socket) -> None:
        head_of(connection)
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(each_seconds)
        while True:
            connection.sendall(pieces[-1])
            time.sleep(each_seconds)

    return work


def tried(call: Callable[[], Any]) -> tuple[str, float]:
    """Returns the result or error of a call, and the seconds that it took."""
    began = time.monotonic()
    try:
        came = str(call().status)
    except HTTPError as error:
        came = _timeout_or_other(error)
    return came, time.monotonic() - began


def _timeout_or_other(error: BaseException | None) -> str:
    while error is not None:
        if isinstance(error, TimeoutError):
            return "timed out"
        error = error.__cause__ or error.__context__
    return "failed"


def put(port: int, body: Any = bytes(BODY_BYTES), **changed: Any) -> tuple[str, float]:
    headers = {"Content-Length": str(BODY_BYTES)}
    url = f"http://127.0.0.1:{port}/"
    return tried(lambda: pool(**changed).urlopen("PUT", url, body=body, headers=headers))


def get(port: int, **changed: Any) -> tuple[str, float]:
    return tried(lambda: pool(**changed).urlopen("GET", f"http://127.0.0.1:{port}/"))


def test_an_answer_may_take_longer_than_connecting(serving: Any) -> None:
    came, took = get(serving(answers_after(0.35)))
    assert (came, took >= 0.35) == ("200", True)


def test_silence_ends_a_call(serving: Any) -> None:
    came, took = get(serving(answers_after(5)), silence_seconds=0.1)
    assert (came, took < 4) == ("timed out", True)


def test_a_body_that_is_taken_slowly_but_at_a_rate_that_is_enough_arrives(serving: Any) -> None:
    came, took = put(serving(reads(4_000, 0.12)), silence_seconds=1.0, bytes_per_second=10_000)
    assert (came, took > 1.0) == ("200", True)


@pytest.mark.parametrize("body", [bytes(BODY_BYTES), [bytes(1000)] * 40], ids=["at once", "in pieces"])
def test_a_body_that_is_taken_in_drops_ends_at_its_ceiling(serving: Any, body: Any) -> None:
    drops = serving(reads(1, 0.02))
    came, took = put(drops, body, silence_seconds=0.2, bytes_per_second=200_000)
    assert (came, 0.35 < took < LONG_SECONDS) == ("timed out", True)


def test_a_server_that_stops_taking_the_body_is_left_when_its_silence_is_over(serving: Any) -> None:
    big = bytes(8_000_000)  # more than the buffers between the two take
    url = f"http://127.0.0.1:{serving(reads(1000, 0, stop_at=2000))}/"
    came, took = tried(lambda: pool(silence_seconds=0.2).urlopen("PUT", url, body=big))
    assert (came, took < 4) == ("timed out", True)


@pytest.mark.parametrize(
    "pieces",
    [
        (b"H", b"T", b"T", b"P", b"/", b"1", b".", b"1", b" ", b"2", b"0", b"0", b" ", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    ],
    ids=["status", "head", "body", "chunks"],
)
def test_an_answer_that_comes_in_drops_ends_at_its_ceiling(serving: Any, pieces: tuple[bytes, ...]) -> None:
    came, took = get(serving(sends(*pieces, each_seconds=0.02)), silence_seconds=0.3)
    assert (came, 0.25 < took < LONG_SECONDS) == ("timed out", True)


def test_an_answer_without_end_ends_at_its_measure(serving: Any) -> None:
    flood = serving(
        sends(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"8000\r\n" + bytes(0x8000) + b"\r\n",
            each_seconds=0,
        )
    )
    assert get(flood, silence_seconds=20, max_answer_bytes=10_000)[0] == "failed"


def test_a_download_has_the_time_that_its_announced_length_needs(serving: Any) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n"
    port = serving(sends(head, bytes(1000), each_seconds=0.01))
    assert get(port, silence_seconds=0.1)[0] == "timed out"
    trusting = pool(silence_seconds=0.2, bytes_per_second=20_000, trusts_length=True)
    answer = trusting.urlopen("GET", f"http://127.0.0.1:{port}/", preload_content=False)
    assert len(answer.read()) == 40_000


def test_the_time_that_we_take_ourselves_does_not_count(serving: Any) -> None:
    def ours() -> Iterator[bytes]:
        for _ in range(4):
            time.sleep(0.1)
            yield bytes(BODY_BYTES // 4)

    assert (
        put(serving(reads(BODY_BYTES, 0)), ours(), silence_seconds=0.2, bytes_per_second=math.inf)[0] == "200"
    )


def test_a_ceiling_of_the_callers_holds_instead_of_the_one_by_size(serving: Any) -> None:
    drops = serving(sends(b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n", each_seconds=0.02))
    url = f"http://127.0.0.1:{drops}/"
    came, took = tried(lambda: pool(silence_seconds=math.inf).urlopen("GET", url, ceiling_seconds=0.2))
    assert (came, took < LONG_SECONDS) == ("timed out", True)


def test_a_kept_connection_has_a_new_ceiling_for_every_call(serving: Any) -> None:
    accepted = []

    def work(connection: socket.socket) -> None:
        accepted.append(connection)
        for _ in range(4):
            head_of(connection)
            time.sleep(0.1)
            connection.sendall(OK)

    through, url = pool(silence_seconds=0.3), f"http://127.0.0.1:{serving(work)}/"
    assert [through.urlopen("GET", url).status for _ in range(4)] == [200] * 4
    assert len(accepted) == 1


def secured_with(certificate: Path, work: Work) -> Work:
    """Returns work that does the same behind TLS."""
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(certificate)

    def secure(connection: socket.socket) -> None:
        with theirs.wrap_socket(connection, server_side=True) as safe:
            work(safe)

    return secure


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(("max_rest_seconds", "connections"), [(60.0, 1), (0.0, 3)], ids=["short", "long"])
def test_a_connection_that_rested_for_too_long_is_not_used_again(
    serving: Any,
    certificate_for: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    scheme: str,
    max_rest_seconds: float,
    connections: int,
) -> None:
    """The server may be closing such a connection, and nobody would know whether the call arrived."""
    monkeypatch.setattr(outbound, "MAX_REST_SECONDS", max_rest_seconds)
    certificate, served = certificate_for("localhost"), []

    def work(connection: socket.socket) -> None:
        served.append(connection)
        while True:
            head_of(connection)
            connection.sendall(OK)

    port = serving(secured_with(certificate, work) if scheme == "https" else work)
    ours = ssl.create_default_context(cafile=str(certificate))
    through = Outbound(limits(), connections=1, ssl_context=ours)
    assert [through.urlopen("GET", f"{scheme}://localhost:{port}/").status for _ in range(3)] == [200] * 3
    assert len(served) == connections


def test_tls_is_verified_and_its_bytes_have_the_same_ceiling(
    serving: Any, certificate_for: Callable[[str], Path]
) -> None:
    certificate = certificate_for("localhost")
    secured = partial(secured_with, certificate)

    def get(work: Work, context: ssl.SSLContext | None) -> tuple[str, float]:
        through = Outbound(limits(), connections=1, ssl_context=context)
        return tried(lambda: through.urlopen("GET", f"https://localhost:{serving(work)}/"))

    ours = ssl.create_default_context(cafile=str(certificate))
    assert get(secured(answers_after(0.35)), ours)[0] == "200"
    assert get(secured(answers_after(0)), None)[0] == "failed"
    drops = sends(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n", each_seconds=0.02)
    came, took = get(secured(drops), ours)
    assert (came, took < LONG_SECONDS) == ("timed out", True)


def test_a_handshake_that_does_not_end_has_sent_nothing(serving: Any) -> None:
    port = serving(lambda connection: time.sleep(5))
    with pytest.raises(ConnectTimeoutError):
        pool(connect_seconds=0.1).urlopen("POST", f"https://localhost:{port}/", body=b"x")


def test_an_address_that_never_answers_takes_no_time_from_the_handshake_with_the_next_one(
    serving: Any, certificate_for: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = certificate_for("localhost")
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(certificate)

    def secure(connection: socket.socket) -> None:
        with theirs.wrap_socket(connection, server_side=True) as safe:
            answers_after(0)(safe)

    port = serving(secure)
    # Its queue of new connections is full: the system drops further ones.
    with socket.create_server(("127.0.0.2", port), backlog=0), socket.create_connection(("127.0.0.2", port)):
        addresses = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{n}", port)) for n in (2, 1)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments, **_options: addresses)
        context = ssl.create_default_context(cafile=str(certificate))
        through = Outbound(limits(), connections=1, ssl_context=context)
        came, took = tried(lambda: through.urlopen("GET", f"https://localhost:{port}/"))
    assert (came, took >= limits().connect_seconds) == ("200", True)


#: The same in green threads: the result of a call that arrives in drops, and the longest gap of a ticker beside it.
_GREEN = """
import sys
kind, url = sys.argv[1:]
if kind == "eventlet":
    import os
    os.environ["EVENTLET_NO_GREENDNS"] = "yes"
    import eventlet
    eventlet.monkey_patch()
    spawn = eventlet.spawn
else:
    import gevent.monkey
    gevent.monkey.patch_all()
    import gevent
    spawn = gevent.spawn
import json, time
from urllib3.exceptions import HTTPError
from chassis.http.outbound import Limits, Outbound
ticks = [time.monotonic()]
def tick():
    while True:
        time.sleep(0.01)
        ticks.append(time.monotonic())
spawn(tick)
through = Outbound(Limits(connect_seconds=1, silence_seconds=0.5, bytes_per_second=10**9), connections=1)
seen = []
for method, path, body in (("GET", "answer", b""), ("PUT", "body", bytes(8_000_000))):
    began = time.monotonic()
    try:
        came = through.urlopen(method, url + path, body=body).status
    except HTTPError as error:
        came = "ended"
    seen.append((came, time.monotonic() - began))
print(json.dumps([seen, max(after - before for before, after in zip(ticks, ticks[1:]))]), flush=True)
import os
os._exit(0)
"""


@pytest.mark.parametrize("kind", ["eventlet", "gevent"])
def test_drops_end_at_their_ceiling_in_green_threads_and_hold_up_no_other(serving: Any, kind: str) -> None:
    def work(connection: socket.socket) -> None:
        if head_of(connection).startswith(b"GET"):
            sends(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n", each_seconds=0.02)(connection)
        while connection.recv(1000):
            time.sleep(0.02)

    url = f"http://127.0.0.1:{serving(work)}/"
    run = subprocess.run(
        [sys.executable, "-c", _GREEN, kind, url], capture_output=True, text=True, timeout=30, check=False
    )
    assert run.returncode == 0, run.stderr
    seen, gap = json.loads(run.stdout)
    assert [came for came, _ in seen] == ["ended", "ended"]
    assert all(0.4 < took < LONG_SECONDS for _, took in seen), seen
    assert gap < 0.5
