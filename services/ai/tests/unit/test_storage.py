"""Transfers from and to an object storage that is slow, or whose answer never ends."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ai.storage import Storage, StorageError
from chassis.http.outbound import Limits

SIZE_BYTES = 300_000
TAKEN = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@contextmanager
def storage(work: Callable[[socket.socket], None]) -> Iterator[str]:
    """Serves one connection. Yields its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            connection, _ = listener.accept()
            with connection:
                try:
                    work(connection)
                except OSError:
                    return

        threading.Thread(target=run, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/file"


def taking(bytes_per_second: float, answer_after_seconds: float = 0.0) -> Callable[[socket.socket], None]:
    def work(connection: socket.socket) -> None:
        taken, began = 0, time.monotonic()
        while taken < SIZE_BYTES:
            piece = connection.recv(4_000)
            if not piece:
                return
            taken += len(piece)
            time.sleep(max(began + taken / bytes_per_second - time.monotonic(), 0))
        time.sleep(answer_after_seconds)
        connection.sendall(TAKEN)

    return work


def put(url: str, *, silence_seconds: float = 0.6, lasts_seconds: float = 60) -> float:
    """Stores some data, and returns how long that took, in seconds."""
    began = time.monotonic()
    quick = Limits(connect_seconds=0.2, silence_seconds=silence_seconds)
    chunks = [bytes(100_000)] * 3
    Storage(quick).put(url, {}, SIZE_BYTES, chunks, deadline=began + lasts_seconds)
    return time.monotonic() - began


def test_a_write_may_take_longer_than_connecting() -> None:
    """In production a write of 20 s succeeds: connecting may take 5 s, and silence may last 30 s."""
    with storage(taking(10**9, answer_after_seconds=0.5)) as url:
        assert put(url) > 0.4


def test_a_storage_with_the_operators_certificate_is_trusted(
    certificate_for: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = certificate_for("localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    stored: list[bytes] = []

    def work(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            while len(b"".join(stored).partition(b"\r\n\r\n")[2]) < 4:
                stored.append(secure.recv(4_000))
            secure.sendall(TAKEN)

    with storage(work) as url:
        secure_url = url.replace("http://127.0.0.1", "https://localhost")
        Storage().put(secure_url, {}, 4, [b"file"], deadline=time.monotonic() + 5)
    assert b"".join(stored).endswith(b"file")


def test_a_write_at_200_kilobytes_a_second_succeeds() -> None:
    with storage(taking(200_000)) as url:
        assert put(url) > 1


@pytest.mark.parametrize(
    "limit", [{"silence_seconds": 0.3}, {"lasts_seconds": 0.3}], ids=["ceiling", "deadline"]
)
def test_an_unanswered_write_ends_at_its(limit: dict[str, float]) -> None:
    began = time.monotonic()
    with storage(taking(50_000)) as url, pytest.raises(StorageError):
        put(url, **limit)
    assert time.monotonic() - began < 5


def test_a_file_that_trickles_in_ends_at_its_deadline() -> None:
    def work(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n")
        while True:
            connection.sendall(b"X-More: 1\r\n")
            time.sleep(0.02)

    began = time.monotonic()
    with storage(work) as url, pytest.raises(StorageError):
        Storage().get(url, max_bytes=1000, deadline=began + 0.3)
    assert time.monotonic() - began < 2
