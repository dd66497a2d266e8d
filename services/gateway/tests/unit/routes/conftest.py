"""A storage in memory instead of the bucket that uploads go to."""

from typing import Any

import pytest

from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from gateway.transfers.storage import Storage


class FakeStorage:
    """Stores only complete objects, as the real storage does."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.away = False

    def put(self, url: str, headers: dict[str, str], size_bytes: int, blocks: Any) -> None:
        if self.away:
            raise ApiError(SERVICE_UNAVAILABLE)
        taken = b"".join(bytes(block) for block in blocks)
        assert len(taken) == size_bytes
        self.kept[url] = taken


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> FakeStorage:
    storage = FakeStorage()
    monkeypatch.setattr(Storage, "put", lambda _self, *given: storage.put(*given))
    return storage
