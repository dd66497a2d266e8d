"""Gives each test a media service in memory."""

import pytest
from publishing_kit.fake_media import FakeMedia


@pytest.fixture
def media() -> FakeMedia:
    return FakeMedia()
