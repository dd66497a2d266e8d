"""The inbox: which of its screens mark comments as read, and what the API is told."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dashboard import api, cookies, kept
from dashboard.app import create_app
from dashboard.config import Config
from dashboard.routes import comments

APP: Flask = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost"))
KEY, SESSION = "k" * 43, "svc_session_x"
AT = datetime(2026, 11, 28, 9, tzinfo=UTC)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The marks that the API was told of. It has no posts and no pages."""
    told: list[dict[str, Any]] = []
    reader = SimpleNamespace(
        iterate_pages=lambda **_: [], iterate_brands=lambda **_: [],
        list_published_posts=lambda **_: SimpleNamespace(published_posts=[], next_cursor=None),
        mark_comments_read=lambda **given: told.append(given),
    )  # fmt: skip
    monkeypatch.setattr(api, "reader", lambda: reader)
    monkeypatch.setattr(comments, "recent_platforms", lambda _client: dict)
    monkeypatch.setattr(kept, "_values", {})
    return told


@pytest.fixture
def browser() -> FlaskClient:
    browser = APP.test_client()
    browser.set_cookie("posthaste_session", SESSION)
    browser.set_cookie("posthaste_form", KEY)
    return browser


def send(browser: FlaskClient, **form: str) -> int:
    headers = {"HX-Request": "true", "X-Form-Token": cookies.form_token(KEY, SESSION)}
    return browser.post("/comments/read", data=form, headers=headers).status_code


def test_the_api_is_told_how_far_the_person_has_read(
    browser: FlaskClient, told: list[dict[str, Any]]
) -> None:
    assert send(browser, read_until=AT.isoformat(), brand_id="") == 204
    assert send(browser, read_until=AT.isoformat(), brand_id="brd_1") == 204
    assert told == [{"read_until": AT, "brand_id": None}, {"read_until": AT, "brand_id": "brd_1"}]


@pytest.mark.parametrize("form", [{"brand_id": "brd_1"}, {"read_until": "yesterday"}])
def test_a_time_that_is_none_is_refused(
    browser: FlaskClient, told: list[dict[str, Any]], form: dict[str, str]
) -> None:
    assert (send(browser, **form), told) == (400, [])


@pytest.mark.parametrize(
    ("query", "marks"),
    [
        ("", True),
        ("?state=all", True),
        ("?state=answered", False),
        ("?platform=FB", False),
        ("?page=pag_1", False),
        ("?after=c2", False),
    ],
)
def test_only_a_screen_with_all_of_the_newest_comments_marks_them(
    browser: FlaskClient, told: list[dict[str, Any]], query: str, marks: bool
) -> None:
    assert ("data-read=" in browser.get(f"/comments{query}").text) == marks
    assert told == [], "a screen alone marks nothing: a browser may load it before it is looked at"
