"""The pages and brands of a session, which several screens in a row need."""

from types import SimpleNamespace
from typing import Any

import pytest
from flask import g

from dashboard import kept
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


@pytest.fixture(autouse=True)
def values(monkeypatch: pytest.MonkeyPatch) -> dict[Any, Any]:
    """What the process keeps, empty at the beginning."""
    values: dict[Any, Any] = {}
    monkeypatch.setattr(kept, "_values", values)
    return values


def find(client: Any, session: str, **more: bool) -> shared.Places:
    """Reads the places as a screen of this session does."""
    with create_app(Config(api_url="http://127.0.0.1:9")).test_request_context():
        g.acting_token = session
        return shared.recent_places(client, **more)()


def test_an_agency_with_many_pages_and_brands_sees_all() -> None:
    places = find(Client(), "svc_a")
    assert (len(places.pages), len(places.brands)) == (150, 1_000)


def test_screens_of_one_session_share_pages_for_a_minute_and_brands_for_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client, now = Client(), 1000.0
    monkeypatch.setattr(kept.time, "monotonic", lambda: now)
    find(client, "svc_a")
    find(client, "svc_a")
    assert client.calls == 2
    find(client, "svc_b")
    assert client.calls == 4
    now = 1061.0
    find(client, "svc_a")
    assert client.calls == 5
    now = 1121.0
    find(client, "svc_a")
    assert client.calls == 7


def test_a_screen_about_pages_reads_them_anew() -> None:
    client = Client()
    find(client, "svc_a")
    find(client, "svc_a", with_new_pages=True)
    assert client.calls == 3


def test_they_are_read_anew_after_a_change() -> None:
    client = Client()
    find(client, "svc_a")
    with create_app(Config(api_url="http://127.0.0.1:9")).test_request_context():
        g.acting_token = "svc_a"
        shared.forget_places()
    find(client, "svc_a")
    assert client.calls == 4


def test_a_value_that_could_not_be_read_is_asked_for_again() -> None:
    client, gone = Client(), SimpleNamespace(iterate_pages=lambda **_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        find(gone, "svc_a")
    find(client, "svc_a")
    assert client.calls == 2


def test_not_more_are_kept_than_memory_allows(
    monkeypatch: pytest.MonkeyPatch, values: dict[Any, Any]
) -> None:
    monkeypatch.setattr(kept, "_MOST", 3)
    for number in range(10):
        find(Client(), f"svc_{number}")
        assert len(values) <= 3
