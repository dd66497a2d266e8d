"""A media service in memory, for each test."""

import pytest
from publishing_kit.fake_media import FakeMedia


@pytest.fixture
def media() -> FakeMedia:
    return FakeMedia()
