"""The location of a public file is cached for a minute. Errors are not cached."""

from datetime import UTC, datetime

import pytest

from contracts.errors import NOT_FOUND, ApiError
from contracts.media import LocatedFile, LocateFile
from gateway.transfers.file_locations import FileLocations

LOCATED = LocatedFile(
    source_url="http://s3/1",
    mime_type="image/jpeg",
    size_bytes=200,
    etag='"abc"',
    created_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
)


def test_media_is_asked_once_a_minute_and_again_after_an_error() -> None:
    now, asked = [0.0], []

    def locate(request: LocateFile) -> LocatedFile:
        asked.append(request.key)
        if request.key == "none":
            raise ApiError(NOT_FOUND)
        return LOCATED

    locations = FileLocations(locate, monotonic=lambda: now[0])
    for at in (0.0, 59.0, 61.0):
        now[0] = at
        assert locations.find(LocateFile(key="a", filename="x")) == LOCATED
    for _ in range(2):
        with pytest.raises(ApiError):
            locations.find(LocateFile(key="none", filename="x"))
    assert asked == ["a", "a", "none", "none"]
