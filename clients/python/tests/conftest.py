"""A local server that misbehaves, and clients of it that only record their pauses."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from client_kit.misbehaving import MisbehavingServer

from posthaste import Posthaste, RetryPolicy


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer() as server:
        yield server


@pytest.fixture
def pauses() -> list[float]:
    """The pauses that clients would have made, in seconds."""
    return []


@pytest.fixture
def make_client(server: MisbehavingServer, pauses: list[float]) -> Iterator[Callable[..., Posthaste]]:
    clients: list[Posthaste] = []

    def make(**options: Any) -> Posthaste:
        policy = RetryPolicy(max_retries=options.pop("max_retries", 7))
        client = Posthaste("svc_live_x", base_url=server.url, retries=policy, sleep=pauses.append, **options)
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(make_client: Callable[..., Posthaste]) -> Posthaste:
    return make_client(timeout_seconds=5.0)
