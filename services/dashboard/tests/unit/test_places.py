"""The pages and brands of a session, which several screens in a row need."""

from types import SimpleNamespace
from typing import Any

import pytest
from flask import g

from dashboard.app import create_app
from dashboard.config import Config
from dashboard.routes import shared


class Client:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def iterate_pages(self, **_: Any) -> Any:
        self.calls += 1
        return (SimpleNamespace(id=f"pag_{number}") for number in range(150))

    def iterate_brands(self, **_: Any) -> Any:
        self.calls += 1
        return (SimpleNamespace(id=f"brd_{number}") for number in range(1_000))


def find(client: Any, session: str) -> None:
    """Reads the places as a screen of this session does."""
    with create_app(Config(api_url="http://127.0.0.1:9")).test_request_context():
        g.session_token = session
        shared.recent_places(client)()


def test_an_agency_with_many_pages_and_brands_sees_all() -> None:
    places = shared.Places(Client())  # type: ignore[arg-type]
    assert (len(places.pages), len(places.brands)) == (150, 1_000)


def test_screens_of_one_session_share_them_for_half_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    client, now = Client(), 1000.0
    monkeypatch.setattr(shared, "_kept", {})
    monkeypatch.setattr(shared.time, "monotonic", lambda: now)
    find(client, "svc_a")
    find(client, "svc_a")
    assert client.calls == 2
    find(client, "svc_b")
    assert client.calls == 4
    now = 1031.0
    find(client, "svc_a")
    assert client.calls == 6


def test_they_are_read_anew_after_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    monkeypatch.setattr(shared, "_kept", {})
    find(client, "svc_a")
    with create_app(Config(api_url="http://127.0.0.1:9")).test_request_context():
        g.session_token = "svc_a"
        shared.forget_places()
    find(client, "svc_a")
    assert client.calls == 4


def test_not_more_are_kept_than_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[bytes, Any] = {}
    monkeypatch.setattr(shared, "_kept", kept)
    monkeypatch.setattr(shared, "_MOST_KEPT", 3)
    for number in range(10):
        find(Client(), f"svc_{number}")
        assert len(kept) <= 3
