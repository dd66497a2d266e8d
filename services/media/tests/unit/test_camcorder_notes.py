"""A camcorder's notes are found wherever they are in a video, and blanked without any other change."""

import os
import tempfile

import pytest

from media.decoder.camcorder_notes import blank_camcorder_notes

UUID = bytes.fromhex("17ee8c60f84d11d98cd60800200c9a66")


def blanked(data: bytes) -> bytes:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        blank_camcorder_notes(None, (file.fileno(),))
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
