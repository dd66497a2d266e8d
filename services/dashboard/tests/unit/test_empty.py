"""Screens with nothing on them: the next step for a newcomer, and no search through an empty list."""

from types import SimpleNamespace
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard import api, kept
from dashboard.app import create_app
from dashboard.config import Config
from dashboard.routes import comments

PAGE = SimpleNamespace(
    id="pag_f", name="Bakery", platform="FB", brand_id="brd_1", brand_name="Bakery", expired=False
)


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    browser = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost")).test_client()
    browser.set_cookie("posthaste_session", "svc_session_x")
    monkeypatch.setattr(kept, "_values", {})
    return browser


def serve(monkeypatch: pytest.MonkeyPatch, *pages: Any) -> None:
    """Puts an API in place that has these linked pages, and no post and no file."""
    client = SimpleNamespace(
        iterate_pages=lambda **_: pages, iterate_brands=lambda **_: [],
        list_scheduled_posts=lambda **_: SimpleNamespace(scheduled_posts=[], next_cursor=None),
        list_published_posts=lambda **_: SimpleNamespace(published_posts=[], next_cursor=None),
        list_media=lambda **_: SimpleNamespace(
            media=[], quota=SimpleNamespace(used_bytes=0, limit_bytes=10), next_cursor=None
        ),
    )  # fmt: skip
    monkeypatch.setattr(api, "reader", lambda: client)
    rules = SimpleNamespace(comments=True)
    monkeypatch.setattr(comments, "recent_platforms", lambda _client: lambda: {"FB": rules})


@pytest.mark.parametrize("address", ["/posts", "/posts?tab=published", "/comments"])
def test_who_has_no_page_is_led_to_connect_one(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    serve(monkeypatch)
    assert ">Connect a page</a>" in browser.get(address).text
    kept._values.clear()
    serve(monkeypatch, PAGE)
    shown = browser.get(address).text
    assert ">Connect a page</a>" not in shown
    assert ">Write a post</a>" in shown


@pytest.mark.parametrize("address", ["/posts", "/library"])
def test_an_empty_list_is_searched_only_if_a_filter_made_it_empty(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    serve(monkeypatch, PAGE)
    assert 'name="search"' not in browser.get(address).text
    assert 'name="search"' in browser.get(f"{address}?search=rye").text
