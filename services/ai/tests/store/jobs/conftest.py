"""The use cases over a new database."""

import pytest
from ai_kit.world import World

from chassis.db.database import Database


@pytest.fixture
def world(database: Database) -> World:
    return World(database)
