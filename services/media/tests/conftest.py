"""The inspection of images, for all tests of the media service."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from media.decoder import images
from media.decoder.formats import Refused


@pytest.fixture
def inspect_image(tmp_path: Path) -> Callable[..., tuple[dict[str, Any], bytes]]:
    """`inspect_image(data, mime_type)` returns the findings and the bytes to store. Raises Refused if the image is not
    accepted.
    """

    def look(data: bytes, mime_type: str = "image/jpeg") -> tuple[dict[str, Any], bytes]:
        uploaded, replacement = tmp_path / "uploaded", tmp_path / "replacement"
        uploaded.write_bytes(data)
        replacement.write_bytes(b"")
        with uploaded.open("rb") as first, replacement.open("r+b") as second:
            found = images.inspect_image({"mime_type": mime_type}, (first.fileno(), second.fileno()))
        if "refused" in found:
            raise Refused(found["refused"])
        return found, replacement.read_bytes() if found["changed"] else data

    return look
