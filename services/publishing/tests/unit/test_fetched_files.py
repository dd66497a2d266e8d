"""The type of a file, by its first bytes."""

import pytest

from publishing.sending.fetched_files import content_type_of


@pytest.mark.parametrize(
    ("head", "content_type"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"\0\0\0\x18ftypmp42", "video/mp4"),
        (b"\0\0\0\x14ftypqt  ", "video/quicktime"),
        (b"\x1aE\xdf\xa3", "video/webm"),
        (b"<svg xmlns", None),
        (b"<!doctype html>", None),
        (b"%PDF-1.7", None),
        (b"PK\x03\x04", None),
        (b"", None),
    ],
)
def test_a_file_is_what_its_bytes_say(head: bytes, content_type: str | None) -> None:
    assert content_type_of(head) == content_type
