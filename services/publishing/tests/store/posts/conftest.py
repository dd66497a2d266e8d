"""A page with posts of a person who may lose access."""

import pytest
from publishing_kit.held_posts import Scene
from publishing_kit.world import World


@pytest.fixture
def scene(world: World) -> Scene:
    return Scene(world)
