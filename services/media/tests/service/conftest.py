"""The media service as a process, with a new database, virtual host and bucket."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from media_kit.running_media import RunningMedia


@pytest.fixture(scope="module")
def gateway_of() -> Iterator[Callable[[Any], RunningMedia]]:
    """`gateway_of(service)` returns a client that calls the service as the gateway does."""
    made: list[RunningMedia] = []

    def make(service: Any) -> RunningMedia:
        made.append(RunningMedia(service))
        return made[-1]

    yield make
    for storage in made:
        storage.database.close()


@pytest.fixture(scope="module")
def storage(
    shared_service: Callable[..., Any],
    shared_bucket: dict[str, str],
    gateway_of: Callable[[Any], RunningMedia],
) -> RunningMedia:
    return gateway_of(shared_service("media", env=shared_bucket))
