"""Frames are joined in their order, up to a limit, and written at the end of a round of the loop."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from pika.adapters.utils.io_services_utils import _AsyncPlaintextTransport

from chassis.bus.connection import MOST_BYTES, Chunks, Connection


def test_small_chunks_become_one():
    chunks = Chunks([b"method", b"header"])
    chunks.append(b"body")
    assert list(chunks) == [b"methodheaderbody"]


def test_a_chunk_that_would_pass_the_limit_stands_alone():
    chunks = Chunks()
    chunks.append(b"a" * MOST_BYTES)
    chunks.append(b"b")
    assert [len(chunk) for chunk in chunks] == [MOST_BYTES, 1]


def test_what_a_socket_did_not_take_goes_first_with_what_follows():
    chunks = Chunks([b"0123456789"])
    rest = chunks.popleft()[4:]
    chunks.appendleft(rest)
    chunks.append(b"next")
    assert b"".join(chunks) == b"456789next"


def test_a_chunk_is_copied_so_that_its_owner_s_bytes_stay():
    frame = bytearray(b"frame")
    chunks = Chunks([frame])
    chunks.append(b"more")
    assert frame == b"frame"


class Loop:
    """Stands in for pika's loop. Records whether the connection waits until its socket can be written to."""

    def __init__(self) -> None:
        self.waits_to_write = False

    def set_reader(self, _file: int, _callback: object) -> None:
        """Does nothing: these tests only write."""

    def set_writer(self, _file: int, _callback: object) -> None:
        self.waits_to_write = True

    def remove_writer(self, _file: int) -> None:
        self.waits_to_write = False


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def connected(sockets: Any, loop: Loop) -> Any:
    connection = Connection.__new__(Connection)
    connection._transport = _AsyncPlaintextTransport(sockets[0], None, loop)
    return connection


def test_what_waits_is_written_without_a_round_of_the_loop(sockets):
    loop = Loop()
    connection = connected(sockets, loop)
    connection._transport.write(b"method")
    connection._transport.write(b"body")
    connection.flush()
    assert sockets[1].recv(100) == b"methodbody"
    assert not loop.waits_to_write


def test_what_a_full_socket_does_not_take_waits_for_the_loop(sockets):
    loop = Loop()
    connection = connected(sockets, loop)
    connection._transport.write(b"x" * 10_000_000)
    connection.flush()
    connection.flush()
    assert loop.waits_to_write
    assert len(sockets[1].recv(100)) == 100


def test_a_connection_that_is_not_there_has_nothing_to_write():
    connection = Connection.__new__(Connection)
    connection._transport = None
    connection.flush()
