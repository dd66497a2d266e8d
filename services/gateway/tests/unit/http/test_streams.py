"""Bodies that are read as they arrive: gunicorn knows how much is left to read, and slow clients are recognised."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from gunicorn.http.body import Body, LengthReader
from gunicorn.http.unreader import SocketUnreader

from gateway.http import body
from gateway.http.body import SENDING, BodyStream, discard_rest


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.settimeout(5)
    with ours, theirs:
        yield ours, theirs


def environ_of(ours: socket.socket, length: int, *, read_already: bytes = b"") -> dict[str, Any]:
    unreader = SocketUnreader(ours)
    unreader.unread(read_already)
    body = Body(LengthReader(unreader, length))
    return {"CONTENT_LENGTH": str(length), "wsgi.input": body, "gunicorn.socket": ours}


def test_what_is_there_is_given_and_never_more_than_the_body(ends) -> None:
    ours, theirs = ends
    environ = environ_of(ours, 10, read_already=b"abc")
    stream = BodyStream(environ)
    assert stream.read(2) == b"ab"
    assert stream.read(100) == b"c"
    theirs.sendall(b"defghijNEXT")
    assert stream.read(4) == b"defg"
    assert stream.read(100) == b"hij"
    assert stream.read(100) == b""
    assert environ["wsgi.input"].reader.length == 0
    assert ours.recv(10) == b"NEXT"


def test_the_next_request_stays_with_gunicorn(ends) -> None:
    environ = environ_of(ends[0], 3, read_already=b"abcNEXT")
    assert BodyStream(environ).read(100) == b"abc"
    assert environ["wsgi.input"].reader.unreader.take_buffered() == b"NEXT"


def test_a_client_that_leaves_is_the_end(ends) -> None:
    ours, theirs = ends
    stream = BodyStream(environ_of(ours, 10))
    theirs.close()
    assert stream.read(10) == b""


def test_a_slow_line_falls_behind_and_a_fast_one_never(ends, monkeypatch) -> None:
    ours, theirs = ends
    now, since = [100.0], []
    monkeypatch.setattr(body.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(SENDING, "watch", lambda _client, began: since.append(now[0] - began))

    def arrives(count: int, after_seconds: float) -> None:
        theirs.sendall(b"x" * count)
        receive = stream._receive_directly
        stream._receive_directly = lambda most: (now.__setitem__(0, now[0] + after_seconds), receive(most))[1]
        assert len(stream.read(count)) == count
        stream._receive_directly = receive

    stream = BodyStream(environ_of(ours, 10**6))
    arrives(1, 5.0)
    arrives(1, 5.0)
    arrives(64 * 1024, 0.0)  # four seconds' worth
    arrives(100_000, 0.0)
    arrives(1, 3.0)
    arrives(1, 0.0)
    assert [round(behind) for behind in since] == [0, 5, 10, 6, 0, 3]


def test_what_is_refused_is_read_and_thrown_away(ends) -> None:
    ours, theirs = ends
    environ = environ_of(ours, 10)
    theirs.sendall(b"0123456789NEXT")
    discard_rest(environ)
    assert ours.recv(10) == b"NEXT"
