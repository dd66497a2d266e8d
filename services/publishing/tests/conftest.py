"""Puts `publishing_kit` on the path, and gives each test a media service in memory."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from publishing_kit.fake_media import FakeMedia


@pytest.fixture
def media() -> FakeMedia:
    return FakeMedia()
