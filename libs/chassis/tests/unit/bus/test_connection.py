"""Frames are joined before they are written, in their order and within a limit."""

from chassis.bus.connection import MOST_BYTES, Chunks


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
