"""The two overlays of deploy/kubernetes, as kubectl would apply them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kustomized import FOLDER, OVERLAYS, Resource, build


@pytest.fixture(scope="module", params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> list[Resource]:
    return build(FOLDER / "overlays" / request.param)


@pytest.fixture(scope="module")
def production() -> list[Resource]:
    return build(FOLDER / "overlays" / "production")
