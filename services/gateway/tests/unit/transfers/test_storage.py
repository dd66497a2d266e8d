"""The storage client, with a server that answers as the test says."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from contracts.errors import UPLOAD_ERROR, ApiError
from gateway.transfers.storage import Storage

FILE = bytes(range(256)) * 4096


class Server(ThreadingHTTPServer):
    """Stores complete objects. If `status` is set, the server answers with it and stores nothing."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.kept: dict[str, bytes] = {}
        self.headers: list[dict[str, str]] = []
        self.status = 0
        self.broken_off = threading.Semaphore(0)
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        self.server.headers.append(dict(self.headers))
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:
            self.server.broken_off.release()
            return
        if not self.server.status:
            self.server.kept[self.path] = body
        self._answer(self.server.status or 200, b"")

    def do_GET(self) -> None:
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        if self.server.status:
            self._answer(self.server.status, b"<Error>secret</Error>")
        else:
            self._answer(206, FILE[first : last + 1], f"bytes {first}-{last}/{len(FILE)}")

    def _answer(self, status: int, body: bytes, content_range: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Range", content_range)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_given: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def storage() -> Iterator[Storage]:
    storage = Storage(4)
    yield storage
    storage.close()


def test_blocks_are_put_as_one_file_with_its_length_and_the_tickets_headers(server, storage) -> None:
    storage.put(f"{server.url}/a", {"Content-Type": "image/png"}, 6, iter([b"abc", memoryview(b"def")]))
    assert server.kept == {"/a": b"abcdef"}
    assert server.headers[0]["Content-Length"] == "6"
    assert server.headers[0]["Content-Type"] == "image/png"
    assert "Transfer-Encoding" not in server.headers[0]


def test_an_error_among_the_blocks_breaks_the_transfer_off(server, storage) -> None:
    def blocks() -> Iterator[bytes]:
        yield b"abc"
        raise ApiError(UPLOAD_ERROR)

    with pytest.raises(ApiError, match="UPLOAD_ERROR"):
        storage.put(f"{server.url}/a", {}, 6, blocks())
    assert server.broken_off.acquire(timeout=30)
    assert server.kept == {}


@pytest.mark.parametrize("status", [403, 404, 500, 503])
def test_what_storage_does_not_take_is_a_503(server, storage, status: int) -> None:
    server.status = status
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        storage.put(f"{server.url}/a", {}, 1, iter([b"a"]))


def test_storage_that_is_not_there_is_a_503(storage) -> None:
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        storage.put("http://127.0.0.1:1/a", {}, 1, iter([b"a"]))
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        storage.get("http://127.0.0.1:1/a", 0, 1)


def test_a_span_comes_in_blocks(server, storage) -> None:
    download = storage.get(f"{server.url}/a", 5, len(FILE) - 2)
    blocks = list(download)
    download.close()
    assert b"".join(blocks) == FILE[5:-1]
    assert len(blocks) > 1


@pytest.mark.parametrize(
    ("status", "code"), [(404, "NOT_FOUND"), (403, "SERVICE_UNAVAILABLE"), (200, "SERVICE_UNAVAILABLE")]
)
def test_storages_own_errors_never_come_through(server, storage, status: int, code: str) -> None:
    server.status = status
    with pytest.raises(ApiError, match=code) as refusal:
        storage.get(f"{server.url}/a", 0, 9)
    assert "secret" not in refusal.value.message
