"""Notes about people in a video's tracks are found wherever they are, and blanked without any other change."""

import os
import struct
import tempfile
from collections.abc import Callable

import pytest

from media.decoder.film_notes import blank_notes

UUID = bytes.fromhex("17ee8c60f84d11d98cd60800200c9a66")


def blanked(data: bytes) -> bytes:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        blank_notes(None, (file.fileno(),))
        return os.pread(file.fileno(), len(data) + 1, 0)


@pytest.mark.parametrize(("note", "left"), [
    (b"MDPM" + b"5 Main Street", b"\xff" * 17),
    (b"MDPM" + b"a\0\0\3\1b", b"\xff" * 5 + b"\0\0\3" + b"\xff" * 2),
    (b"MDPM" + b"x" * 300, b"\xff" * 304),
])  # fmt: skip
def test_a_note_is_blanked_up_to_its_end(note: bytes, left: bytes) -> None:
    size = 16 + len(note.replace(b"\0\0\3", b"\0\0"))
    head = b"before\6\5" + b"\xff" * (size // 255) + bytes([size % 255])
    after = b"\x80after" + head + UUID + b"other"
    assert blanked(head + UUID + note + after) == head + UUID + left + after


@pytest.mark.parametrize(
    "data", [UUID + b"MDPM", b"\xff" * 9_000 + UUID + b"MDPM", b"\5\xff" + UUID + b"MDPM", b"x"]
)
def test_a_note_that_is_cut_off_or_has_no_size_does_no_harm(data: bytes) -> None:
    assert blanked(data) == data.replace(b"MDPM", b"\xff" * 4)


IDENTIFICATION, SETUP = b"\x01vorbis" + bytes(23), b"\x05vorbis\x22BCV"


def comments(maker: bytes, *told: bytes) -> bytes:
    """Returns the second header of Vorbis sound."""
    texts = b"".join(struct.pack("<I", len(it)) + it for it in told)
    return (
        b"\x03vorbis" + struct.pack("<I", len(maker)) + maker + struct.pack("<I", len(told)) + texts + b"\1"
    )


def laced(header: bytes) -> bytes:
    """Returns the three headers of Vorbis sound as WebM has them, and most MP4s."""
    size = b"\xff" * (len(header) // 255) + bytes([len(header) % 255])
    return b"\x02\x1e" + size + IDENTIFICATION + header + SETUP


def with_sizes(header: bytes) -> bytes:
    """Returns the three headers of Vorbis sound as some MP4s have them."""
    return b"".join(struct.pack(">H", len(it)) + it for it in (IDENTIFICATION, header, SETUP))


@pytest.mark.parametrize("packed", [laced, with_sizes])
@pytest.mark.parametrize("told", [
    (),
    (b"TITLE=At home", b"ARTIST=5 Main Street", b"DATE=2024-05-06"),
    (b"x" * (255 * 2 - 31),),
    (b"COMMENT=\x05vorbis\x22BCV", b"METADATA_BLOCK_PICTURE=" + b"A" * 40_000),
])  # fmt: skip
def test_the_comments_of_vorbis_become_one_empty_text_of_the_same_length(
    packed: Callable[[bytes], bytes], told: tuple[bytes, ...]
) -> None:
    header = comments(b"a program", *told)
    data = b"before" + packed(header) + b"after" + packed(comments(b"", b"x=y")) + b"after"
    empty = comments(b" " * (len(header) - len(comments(b""))))
    assert blanked(data) == b"before" + packed(empty) + b"after" + packed(comments(b" " * 7)) + b"after"


def test_comments_with_a_large_cover_picture_are_blanked() -> None:
    header = comments(b"a program", b"METADATA_BLOCK_PICTURE=" + b"A" * 1_200_000)
    assert blanked(laced(header)) == laced(comments(b" " * (len(header) - len(comments(b"")))))


@pytest.mark.parametrize("data", [
    laced(comments(b"a" * 300))[:-100], laced(b"\x03vorbis"), with_sizes(b"\x03vorbis"),
    IDENTIFICATION + comments(b"x=y"),
])  # fmt: skip
def test_a_header_of_vorbis_that_is_cut_off_or_has_no_size_does_no_harm(data: bytes) -> None:
    assert blanked(data) == data
