"""Servers that send without a pause and without an end: under eventlet, they do not keep other green threads
waiting.
"""

import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#: Name → the bytes that the server sends once, and those that it then repeats for ever.
_FLOODS = {
    "go on": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "heads within heads": (b"", b"HTTP/1.1 100 Continue\r\n" + b"X-More: 1\r\n" * 50 + b"\r\n"),
    "trailers": (_HEAD + b"2\r\nok\r\n0\r\n", b"X-More: 1\r\n"),
    "extensions": (_HEAD, b"1;" + b"x" * 1000 + b"\r\nx\r\n"),
    "small chunks": (_HEAD, b"1\r\nx\r\n"),
}
#: Seen: 0.01 s, and 0.2 s if the client does not yield between reads.
LONGEST_GAP_SECONDS = 0.08
#: The client's program: reads every flood beside a ticker. Prints flood → (result, time taken, longest gap
#: between two ticks). The gap is measured in CPU time of the client, because on a busy machine it waits for others too.
_CLIENT = """
import os
os.environ["EVENTLET_NO_GREENDNS"] = "yes"
import eventlet
eventlet.monkey_patch()
import json, ssl, sys, time
from chassis.http.addresses import parse_allowed_network
from chassis.http.guarded_client import FetchFailed, stream
from chassis.http.webhook_connection import WebhookConnection, PostFailed
ports, limit, certificate = json.loads(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
context = ssl.create_default_context(cafile=certificate) if certificate else None
scheme = "https" if certificate else "http"

def posted(port):
    allowed = [parse_allowed_network(f"127.0.0.1/32:{port}")]
    line = WebhookConnection(allowed=allowed, resolve=lambda *_: ["127.0.0.1"], ssl_context=context)
    url = f"{scheme}://floods.example.com:{port}/"
    return line.post(url, b"", {}, timeout_seconds=limit, max_bytes=1000).status

def fetched(port):
    options = {"host_map": {"floods.example.com": f"127.0.0.1:{port}"}, "ssl_context": context}
    url = f"{scheme}://floods.example.com/"
    with stream(url, timeout_seconds=limit, max_bytes=10**9, **options) as answer:
        return sum(map(len, answer.chunks))

def tick():
    while True:
        eventlet.sleep(0.005)
        ticks.append(time.process_time())

def tried(call, port):
    ticks[:] = [time.process_time()]
    try:
        return call(port)
    except (PostFailed, FetchFailed) as failure:
        return failure.problem.value

ticks, seen = [], {}
eventlet.spawn(tick)
for name, port in ports.items():
    for call in (posted, fetched):
        began = time.monotonic()
        became = tried(call, port)
        took = time.monotonic() - began
        eventlet.sleep(0.01)
        gap = max(after - before for before, after in zip(ticks, ticks[1:]))
        seen[f"{name}, {call.__name__}"] = became, took, gap
print(json.dumps(seen), flush=True)
os._exit(0)
"""


@pytest.fixture
def flooding() -> Iterator[Callable[[Callable[[socket.socket], None]], int]]:
    """`flooding(work)` starts a server that does this work with every connection. Returns its port."""
    over, servers = threading.Event(), []

    def start(work: Callable[[socket.socket], None]) -> int:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def serve_one(connection: socket.socket) -> None:
            with suppress(OSError), connection:
                connection.settimeout(60)
                work(connection)

        def serve() -> None:
            with suppress(OSError):
                while not over.is_set():
                    connection, _ = server.accept()
                    threading.Thread(target=serve_one, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        return int(server.getsockname()[1])

    yield start
    over.set()
    for server in servers:
        server.close()


def flood(once: bytes, again: bytes) -> Callable[[socket.socket], None]:
    def work(connection: socket.socket) -> None:
        connection.recv(10_000)
        connection.sendall(once)
        piece = again * (2**18 // len(again))
        while True:
            connection.sendall(piece)

    return work


def seen_by_a_client(ports: dict[str, int], limit_seconds: float, certificate: str = "") -> dict[str, Any]:
    arguments = [sys.executable, "-c", _CLIENT, json.dumps(ports), str(limit_seconds), certificate]
    run = subprocess.run(arguments, capture_output=True, text=True, timeout=240, check=False)
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout))


def test_who_sends_without_a_pause_holds_up_nobody_and_ends_in_time(flooding: Any) -> None:
    seen = seen_by_a_client({name: flooding(flood(*parts)) for name, parts in _FLOODS.items()}, 0.5)
    assert {name: became for name, (became, _, _) in seen.items()} == {
        "go on, posted": "protocol",
        "go on, fetched": "unreachable",
        "heads within heads, posted": "protocol",
        "heads within heads, fetched": "unreachable",
        "trailers, posted": 200,
        "trailers, fetched": "timed_out",
        "extensions, posted": 200,
        "extensions, fetched": "timed_out",
        "small chunks, posted": 200,
        "small chunks, fetched": "timed_out",
    }
    assert max(took for _, took, _ in seen.values()) < 20, seen
    assert max(gap for _, _, gap in seen.values()) < LONGEST_GAP_SECONDS, seen


def test_tickets_of_tls_hold_up_nobody_either(flooding: Any, certificate_for: Callable[[str], Path]) -> None:
    certificate = certificate_for("floods.example.com")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.num_tickets = 80_000

    def work(connection: socket.socket) -> None:
        """Makes all tickets before it sends the first, because making a ticket takes longer than reading one."""
        inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
        secured = context.wrap_bio(inward, outward, server_side=True)
        while True:
            try:
                secured.do_handshake()
            except ssl.SSLWantReadError:
                connection.sendall(outward.read())
                inward.write(connection.recv(65_536))
            else:
                return connection.sendall(outward.read())

    seen = seen_by_a_client({"tickets": flooding(work)}, 60.0, str(certificate))
    assert [became for became, _, _ in seen.values()] == ["protocol", "unreachable"]
    assert max(gap for _, _, gap in seen.values()) < LONGEST_GAP_SECONDS, seen
