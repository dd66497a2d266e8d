"""A file on its way from the storage to a platform: never whole in memory, and the effects of a break or of
slowness.
"""

import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import pytest

from chassis.http.outbound import Limits, Outbound
from publishing.platforms.base import (
    Account,
    Checkpoint,
    Content,
    MediaSource,
    OutcomeUnknown,
    PlatformRefusal,
    Refusal,
)
from publishing.platforms.facebook.connector import FacebookConnector
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.uploads import sources
from publishing.platforms.uploads.sources import stored

ACCOUNT = Account("1001", "token-1")
ANSWER = b'{"id": "1_2", "post_id": "1_2"}'
MIB = 2**20


class Lost(Exception):
    """Another process has claimed the post."""


class Line:
    """The platform's end of a connection: the received head, and the body that is still to be read."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(4096)
        self.head, _, self.begun = head.partition(b"\r\n\r\n")

    @property
    def length_bytes(self) -> int:
        [line] = [line for line in self.head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        return int(line.partition(b":")[2])

    def drain(self, keep: bool = False) -> bytes:
        """Reads the body until it is complete or the connection ends. Returns it all if `keep`."""
        left, kept = self.length_bytes - len(self.begun), [self.begun]
        while left and (piece := self.connection.recv(min(left, MIB))):
            left -= len(piece)
            if keep:
                kept.append(piece)
        return b"".join(kept)

    def take(self, bytes_per_second: float, stop_after: int | None = None) -> None:
        """Reads the body at this rate. After `stop_after` bytes it reads only a byte now and then."""
        taken, began = len(self.begun), time.monotonic()
        while taken < self.length_bytes:
            in_drops = stop_after is not None and taken >= stop_after
            if in_drops and time.monotonic() > began + 1:  # the caller has left, as far as anybody can tell
                raise ConnectionError
            piece = self.connection.recv(1 if in_drops else min(self.length_bytes - taken, 4_000))
            if not piece:
                raise ConnectionError
            taken += len(piece)
            ahead = began + taken / bytes_per_second - time.monotonic()
            time.sleep(0.02 if in_drops else max(ahead, 0))

    def drip(self) -> None:
        """Sends a head that never ends, one line after another."""
        self.connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            self.connection.sendall(b"X-More: 1\r\n")
            time.sleep(0.02)

    def answer(self, body: bytes, length_bytes: int | None = None, status: str = "200 OK") -> None:
        length = len(body) if length_bytes is None else length_bytes
        head = f"HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        self.connection.sendall(head.encode() + body)


@contextmanager
def far_side(serve: Callable[[Line], None]) -> Iterator[str]:
    """Serves each connection in turn and closes it. Yields the server's URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    try:
                        serve(Line(connection))
                    except ConnectionError:
                        continue

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def publish(
    url: str,
    *files: MediaSource,
    checkpoint: Checkpoint | None = None,
    connect_seconds: float = 5.0,
    read_seconds: float = 5.0,
) -> Any:
    settings = MetaSettings(
        facebook_url=url, connect_timeout_seconds=connect_seconds, read_timeout_seconds=read_seconds
    )
    return FacebookConnector(settings).publish(ACCOUNT, Content("größer", files), checkpoint or Checkpoint())


def photo(size_bytes: int, opener: Any) -> MediaSource:
    return MediaSource(
        "photo", "https://a.example/a.jpg", content_type="image/jpeg", size_bytes=size_bytes, opener=opener
    )


@contextmanager
def made_up(pieces: int) -> Iterator[Iterator[bytes]]:
    yield (bytes(MIB) for _ in range(pieces))


def from_storage(url: str, size_bytes: int) -> MediaSource:
    return photo(size_bytes, stored(f"{url}/a?signature=x", size_bytes))


def test_the_platform_gets_fields_and_bytes_as_a_form_of_known_length() -> None:
    seen: list[tuple[bytes, bytes]] = []

    def platform(line: Line) -> None:
        seen.append((line.head, line.drain(keep=True) if line.head.startswith(b"POST") else b""))
        line.answer(ANSWER)

    with far_side(lambda line: line.answer(b"photo bytes")) as storage, far_side(platform) as url:
        assert publish(url, from_storage(storage, 11)).remote_id == "1_2"
    head, body = seen[0]
    assert b"transfer-encoding" not in head.lower()
    assert body.count(b"photo bytes") == 1
    assert b'name="published"\r\n\r\nfalse\r\n' in body
    assert b"gr%C3%B6%C3%9Fer" in seen[1][1], "the text goes with the post, not with the staged photo"
    assert b'name="source"; filename="file"\r\nContent-Type: image/jpeg\r\n\r\nphoto bytes\r\n--' in body


def test_a_large_file_is_never_in_memory_as_a_whole() -> None:
    def platform(line: Line) -> None:
        if line.head.startswith(b"POST"):
            line.drain()
        line.answer(ANSWER)

    with far_side(platform) as url:
        tracemalloc.start()
        try:
            publish(url, photo(96 * MIB, partial(made_up, 96)))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 8 * MIB


@pytest.mark.parametrize(
    "serve",
    [lambda line: line.connection.recv(100), lambda line: line.drain() and None],
    ids=["early", "late"],
)
def test_a_platform_that_breaks_off_while_a_photo_is_staged_has_published_nothing(serve: Any) -> None:
    with far_side(serve) as url, pytest.raises(PlatformRefusal) as refusal:
        publish(url, photo(16 * MIB, partial(made_up, 16)))
    assert refusal.value.kind is Refusal.TRANSIENT


@pytest.mark.parametrize(
    ("storage", "kind", "code"),
    [
        (lambda line: line.answer(b"", status="404 Not Found"), Refusal.REJECTED, "MEDIA_GONE"),
        (lambda line: line.answer(b"", status="503 Busy"), Refusal.TRANSIENT, "MEDIA_UNAVAILABLE"),
        (lambda line: line.answer(b"half", length_bytes=8), Refusal.TRANSIENT, "MEDIA_UNAVAILABLE"),
        (lambda line: line.answer(b"short"), Refusal.TRANSIENT, "MEDIA_CHANGED"),
        (lambda line: line.answer(b"longer than said"), Refusal.TRANSIENT, "MEDIA_CHANGED"),
        (lambda line: None, Refusal.TRANSIENT, "MEDIA_UNAVAILABLE"),
    ],
    ids=["gone", "busy", "cut", "shorter", "longer", "silent"],
)
def test_a_file_that_does_not_come_whole_is_never_published(storage: Any, kind: Refusal, code: str) -> None:
    whole: list[int] = []

    def platform(line: Line) -> None:
        length = line.length_bytes
        if len(line.drain(keep=True)) == length:
            whole.append(length)

    with (
        far_side(storage) as storage_url,
        far_side(platform) as url,
        pytest.raises(PlatformRefusal) as refusal,
    ):
        publish(url, from_storage(storage_url, 8))
    assert (refusal.value.kind, refusal.value.code) == (kind, code)
    assert whole == []


def test_a_photo_whose_post_somebody_else_has_taken_over_meanwhile_is_not_published() -> None:
    asked: list[bytes] = []

    def platform(line: Line) -> None:
        asked.append(line.head.split()[1])
        line.drain()
        line.answer(ANSWER)

    def lost(values: dict[str, Any]) -> None:
        raise Lost

    with far_side(platform) as url, pytest.raises(Lost):
        publish(url, photo(MIB, partial(made_up, 1)), checkpoint=Checkpoint(store=lost))
    assert [path.rpartition(b"/")[2] for path in asked] == [b"photos"]


# -- slow, but alive: the times are small, the rates are real --------------------------------------------


def answering(work: Callable[[Line], None]) -> Callable[[Line], None]:
    """Returns a platform that does this work for a POST and then answers. It answers other requests at once."""

    def platform(line: Line) -> None:
        if line.head.startswith(b"POST"):
            work(line)
        line.answer(ANSWER)

    return platform


def small_buffer(line: Line) -> Line:
    """Makes the platform's buffer small: it receives little more than it has read."""
    line.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    return line


def test_a_post_whose_answer_takes_longer_than_connecting_may_take_is_published() -> None:
    with far_side(answering(lambda line: time.sleep(0.4))) as url:
        assert publish(url, connect_seconds=0.1, read_seconds=2).remote_id == "1_2"


def test_a_photo_that_is_taken_at_200_kilobytes_a_second_is_published() -> None:
    with far_side(answering(lambda line: line.take(200_000))) as url:
        source = photo(500_000, lambda: nullcontext(iter([bytes(100_000)] * 5)))
        began = time.monotonic()
        assert publish(url, source, connect_seconds=1.0, read_seconds=1.5).remote_id == "1_2"
    assert time.monotonic() - began > 2


def test_a_film_whose_piece_is_taken_at_500_kilobytes_a_second_is_published() -> None:
    size_bytes = 1_000_000
    offsets = b'"start_offset": "%d", "end_offset": "%d"'

    def platform(line: Line) -> None:
        is_piece, is_get = b"multipart" in line.head, line.head.startswith(b"GET")
        body = b"" if is_piece or is_get else line.drain(keep=True)
        if is_get:
            status = b'{"status": {"video_status": "ready"}, "post_id": "1_2", "id": "1_2"}'
            line.answer(status)
        elif b"upload_phase=start" in body:
            begun = b'{"upload_session_id": "s", "video_id": "v", ' + offsets % (0, size_bytes) + b"}"
            line.answer(begun)
        elif b"upload_phase=finish" in body:
            line.answer(b'{"success": true}')
        else:
            line.take(500_000)
            line.answer(b"{" + offsets % (size_bytes, size_bytes) + b"}")

    film = MediaSource(
        "video",
        content_type="video/mp4",
        size_bytes=size_bytes,
        opener=lambda: nullcontext(iter([bytes(size_bytes)])),
    )
    with far_side(platform) as url:
        began = time.monotonic()
        assert publish(url, film, connect_seconds=1.0, read_seconds=1.5).remote_id == "1_2"
    assert time.monotonic() - began > 1.6


def test_an_answer_in_drops_leaves_the_outcome_open_when_the_ceiling_is_reached() -> None:
    began = time.monotonic()
    with far_side(answering(lambda line: line.drip())) as url, pytest.raises(OutcomeUnknown):
        publish(url, read_seconds=0.3)
    assert time.monotonic() - began < 2


def test_a_body_that_is_read_in_drops_has_published_nothing_when_the_ceiling_is_reached() -> None:
    began = time.monotonic()
    drops = answering(lambda line: small_buffer(line).take(1e9, stop_after=1000))
    with far_side(drops) as url, pytest.raises(PlatformRefusal) as refusal:
        publish(url, photo(8 * MIB, partial(made_up, 8)), read_seconds=0.3)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "TIMED_OUT")
    assert time.monotonic() - began < 2


def test_a_file_that_storage_gives_in_drops_is_given_up_at_its_ceiling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quick = Outbound(Limits(connect_seconds=1, silence_seconds=0.3, trusts_length=True), connections=1)
    monkeypatch.setattr(sources, "_pool", lambda: quick)
    began = time.monotonic()
    with (
        far_side(lambda line: line.drip()) as storage,
        far_side(answering(lambda line: line.drain() and None)) as url,
        pytest.raises(PlatformRefusal) as refusal,
    ):
        publish(url, from_storage(storage, 8))
    assert refusal.value.code == "MEDIA_UNAVAILABLE"
    assert time.monotonic() - began < 2
