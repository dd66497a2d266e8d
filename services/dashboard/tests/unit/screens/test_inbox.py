"""The inbox: which of its screens mark comments as read or as needing no reply, and what the API is told."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dashboard import api, cookies, kept
from dashboard.app import create_app
from dashboard.config import Config
from dashboard.routes import comments
from posthaste.errors import ServerError

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


def post(browser: FlaskClient, address: str, *, is_part: bool = True, **form: str) -> TestResponse:
    headers = {"X-Form-Token": cookies.form_token(KEY, SESSION)} | ({"HX-Request": "true"} if is_part else {})
    return browser.post(address, data=form, headers=headers)


def send(browser: FlaskClient, **form: str) -> int:
    return post(browser, "/comments/read", **form).status_code


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


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of the API about comments that need no reply. A comment "away" cannot be changed."""
    calls: list[str] = []

    def call(name: str, comment_id: str) -> None:
        calls.append(f"{name} {comment_id}")
        if comment_id == "away":
            raise ServerError(503, {})

    client = SimpleNamespace(
        settle_comment=lambda it: call("settle", it), reopen_comment=lambda it: call("reopen", it)
    )
    monkeypatch.setattr(api, "patient", lambda: client)
    return calls


@pytest.mark.parametrize(
    ("form", "call", "button"),
    [({}, "settle", ">Undo</button>"), ({"undo": "1"}, "reopen", ">No reply needed</button>")],
)
def test_the_form_of_a_comment_that_needs_no_reply_offers_to_undo_that(
    browser: FlaskClient, settled: list[str], form: dict[str, str], call: str, button: str
) -> None:
    address, fields = (
        "/comments/of/pst_1/settled",
        {"latest_id": "cmt_1", "message": "half <an> answer", **form},
    )
    part = post(browser, address, **fields)
    assert part.status_code == 200
    assert button in part.text
    assert "half &lt;an&gt; answer" in part.text
    whole = post(browser, address, is_part=False, **fields)
    assert (whole.status_code, whole.location) == (302, "/comments/of/pst_1")
    assert settled == [f"{call} cmt_1"] * 2


def test_a_comment_that_cannot_be_changed_now_keeps_its_button_beside_the_reason(
    browser: FlaskClient, settled: list[str]
) -> None:
    part = post(browser, "/comments/of/pst_1/settled", latest_id="away", message="half an answer")
    assert part.status_code == 503
    assert ">No reply needed</button>" in part.text
    assert 'role="alert"' in part.text
    assert "half an answer" in part.text
