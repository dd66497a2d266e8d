"""While the API does not answer, every screen says so and loads again by itself, and no form loses what the person
typed.
"""

import re
import threading
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dashboard import api, kept
from dashboard.app import create_app
from dashboard.config import Config
from dashboard.cookies import linking_proof
from posthaste.errors import ApiError, LimitReached, PermissionDenied, ServerError
from posthaste.retries import RetryPolicy

#: Nothing listens on the discard port.
APP: Flask = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost"))
KEY = "k" * 43
TYPED = "what somebody <typed> & more"
#: A value for each field of a form that the screens check before they ask the API.
FORM = {
    **dict.fromkeys(("message", "name", "firstname", "email", "ai_instruction", "ai_prompt", "ai_film"), TYPED),
    "page_id": "pag_x", "brand_id": "brd_x", "post_id": "pst_x", "comment_id": "cmt_x", "media_id": "med_x",
    "account_id": "1", "platform": "FB", "date": "2099-01-01", "time": "12:00", "zone": "UTC", "enabled": "yes",
    "threshold": "1", "amount": "500", "key": "k" * 32, "password": "hidden words",
    "code": "hidden words", "latest_id": "cmt_x", "read_until": "2026-11-28T09:00:00Z",
}  # fmt: skip
_ACTIONS = {"brands": "archive", "posts": "edit", "tokens": "rotate", "webhooks": "test"}
#: They send files alone: the script keeps the row of the file with a button to try again.
FILES = ("/library", "/library/files", "/compose/files")
#: Parts of a page: its form stays as it is, and the answer is shown beside it.
PARTS = ("/compose/ai/caption", "/compose/ai/image", "/compose/ai/film", "/compose/check")
#: Forms and screens that make no call of the API.
STILL = ("/work/own", "/healthz", "/sign-in/forgot", "/sign-up", "/reset/x/x", "/email/x/x")


def addresses(method: str) -> list[str]:
    found = set()
    for rule in APP.url_map.iter_rules():
        if (
            method in (rule.methods or ())
            and rule.endpoint
            not in (
                "static",
                "usage.billing",
                "activity.index",
                "pages.reconnect",
                "shared_work.others",
                "overview.goes_out_next",  # a part of the overview: opened by itself, it leads to the list of posts
                "posts.attention",  # a number beside a tab, which is the same without it
                "compose.files",  # it asks only for the files of a draft, which no address here has
            )
        ):
            noun = re.sub(r"/<[^>]+>/<action>$", "", rule.rule).rpartition("/")[2]
            found.add(re.sub(r"<[^>]+>", "x", rule.rule.replace("<action>", _ACTIONS.get(noun, "x"))))
    return sorted(found)


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client makes each call once, so that no test waits for a retry."""
    monkeypatch.setattr(api, "_RETRIES", RetryPolicy(max_retries=0))


@pytest.fixture
def browser() -> FlaskClient:
    browser = APP.test_client()
    browser.set_cookie("posthaste_session", "svc_session_x")
    browser.set_cookie("posthaste_form", KEY)
    browser.set_cookie("posthaste_linking", linking_proof(KEY, "x"))
    return browser


def form_token(browser: FlaskClient) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', browser.get("/posts?tab=none").text)
    assert found
    return found[1]


def test_a_search_that_has_found_nothing_yet_goes_on_by_itself(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(cursor: str | None = None, **_: object) -> SimpleNamespace:
        return SimpleNamespace(published_posts=[], next_cursor=None if cursor else "c2")

    reader = SimpleNamespace(
        iterate_pages=lambda **_: [], iterate_brands=lambda **_: [], list_published_posts=listed
    )
    monkeypatch.setattr(api, "reader", lambda: reader)
    address = "/posts?tab=published&search=rye"
    first = browser.get(address).text
    assert 'hx-get="/posts?tab=published&amp;after=c2&amp;search=rye"' in first
    assert "Search on" in first
    last = browser.get(f"{address}&after=c2").text
    assert "after=c2" not in last
    assert "No posts here with" in last


def test_a_post_is_not_moved_while_the_names_for_the_answer_cannot_be_read(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer shows the names of pages and brands. If reading them failed after the move, the person would be told
    that the API did not answer, although the post had moved.
    """
    moved: list[str] = []
    post = SimpleNamespace(scheduled_at=datetime(2099, 1, 1, 12, tzinfo=UTC))

    def refuse(**_: object) -> None:
        raise ServerError(503, {})

    writer = SimpleNamespace(
        get_post=lambda _: SimpleNamespace(post=post), iterate_pages=refuse, iterate_brands=lambda **_: [],
        edit_post=lambda post_id, **_: moved.append(post_id),
    )  # fmt: skip
    data = {"form_token": form_token(browser), **FORM, "seen_at": post.scheduled_at.isoformat()}
    monkeypatch.setattr(api, "patient", lambda: writer)
    monkeypatch.setattr(kept, "_values", {})
    answer = browser.post("/calendar/move", data=data, headers={"HX-Request": "true"})
    assert answer.status_code == 503
    assert moved == []


def test_while_comments_take_half_of_the_threads_the_next_ask_again_and_other_screens_are_quick(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = SimpleNamespace(iterate_pages=lambda **_: [], iterate_brands=lambda **_: [])
    monkeypatch.setattr(api, "reader", lambda: reader)
    monkeypatch.setattr(APP.extensions["posthaste_api"], "slow_places", threading.BoundedSemaphore(1))
    address = "/comments/of/pst_1?page=pag_1&state=all"
    with APP.app_context(), api.slow_place():
        part = browser.get(address, headers={"HX-Request": "true"})
    assert part.status_code == 200
    assert f'hx-get="{address.replace("&", "&amp;")}"' in part.text
    assert "load delay:2s" in part.text
    part = browser.get(address, headers={"HX-Request": "true"})
    assert "Loading comments" not in part.text


@pytest.mark.parametrize(
    ("error", "is_kept"),
    [(ServerError(503, {}), True), (LimitReached(429, {}), True), (PermissionDenied(403, {}), False)],
)
def test_a_file_of_a_draft_stays_in_it_while_it_cannot_be_read(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, error: ApiError, is_kept: bool
) -> None:
    def refuse(media_ids: str) -> None:
        raise error

    monkeypatch.setattr(api, "reader", lambda: SimpleNamespace(list_media=refuse))
    tile = browser.get("/compose/files?media_id=med_1").text
    assert ('value="med_1"' in tile) == is_kept


def test_deleted_files_leave_a_draft(browser: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    file = SimpleNamespace(media_id="med_1", filename="a", type="photo", thumbnail_url="/x", url="/x")
    client = SimpleNamespace(list_media=lambda media_ids: SimpleNamespace(media=[file]))
    monkeypatch.setattr(api, "reader", lambda: client)
    tiles = browser.get("/compose/files?media_id=med_1&media_id=med_2").text
    assert re.findall(r'name="media_id" value="(\w+)"', tiles) == ["med_1"]


@pytest.mark.parametrize("address", [it for it in addresses("GET") if it not in (*STILL, "/sign-in")])
def test_every_screen_says_so_and_loads_itself_again(browser: FlaskClient, address: str) -> None:
    address += "?session_id=x" if address == "/pages/linked" else ""
    answer = browser.get(address)
    assert (answer.status_code, answer.headers["Refresh"]) == (503, "5")
    assert "Posthaste is not responding" in answer.text
    assert "retries by itself" in answer.text
    part = browser.get(address, headers={"HX-Request": "true"})
    if address == "/comments/of/x" and part.status_code == 200:
        assert "Try again" in part.text
    else:
        assert part.status_code == 503
        assert "load delay:5s" in part.text
        assert "<html" not in part.text


def test_the_part_with_the_next_posts_loads_itself_again(browser: FlaskClient) -> None:
    part = browser.get("/overview/next", headers={"HX-Request": "true"})
    assert (part.status_code, "load delay:5s" in part.text, "<html" in part.text) == (503, True, False)


@pytest.mark.parametrize("address", [it for it in addresses("POST") if it not in (*FILES, *PARTS, *STILL)])
def test_no_form_loses_what_was_typed(browser: FlaskClient, address: str) -> None:
    answer = browser.post(address, data={"form_token": form_token(browser), **FORM})
    assert answer.status_code == 503
    assert "what somebody &lt;typed&gt; &amp; more" in answer.text
    assert "hidden words" not in answer.text
    assert "Send it again" in answer.text or "<textarea" in answer.text


@pytest.mark.parametrize("address", PARTS)
def test_a_part_says_so_beside_its_form(browser: FlaskClient, address: str) -> None:
    data = {"form_token": form_token(browser), **FORM}
    answer = browser.post(address, data=data, headers={"HX-Request": "true"})
    assert answer.status_code == 503
    assert "not responding" in answer.text or "No answer came" in answer.text
    assert "<html" not in answer.text
    assert ("load delay:5s" in answer.text) == (address == "/compose/check")


@pytest.mark.parametrize(
    ("error", "step"),
    [
        (ApiError(400, {"error": "Not a cursor", "code": "VALIDATION_ERROR"}), "open the screen again"),
        (ApiError(404, {}), "The address is wrong"),
        (PermissionDenied(403, {}), "Ask the owner"),
        (LimitReached(429, {}), "The screen “Usage and billing” shows your limits"),
        (ServerError(503, {}), "retries by itself"),
    ],
)
@pytest.mark.parametrize("is_part", [False, True])
def test_every_refusal_names_the_next_step(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, error: ApiError, step: str, is_part: bool
) -> None:
    def refuse(**_: object) -> None:
        raise error

    monkeypatch.setattr(api, "reader", lambda: SimpleNamespace(list_media=refuse))
    answer = browser.get("/library", headers={"HX-Request": "true"} if is_part else {})
    assert answer.status_code == error.status
    assert step in answer.text
    assert ("Not a cursor" in answer.text) == (error.status == 400)  # the reason, with whole pages and parts


def test_a_refused_form_names_the_next_step(browser: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ApiError(409, {"error": "A payment is under way", "code": "CONFLICT"})

    data = {"form_token": form_token(browser), **FORM}
    monkeypatch.setattr(api, "patient", lambda: SimpleNamespace(check_page=refuse))
    answer = browser.post("/pages/pag_1/check", data=data)
    assert answer.status_code == 409
    assert "A payment is under way" in answer.text
    assert "Go back, change what the reason names, then send it again." in answer.text


def test_the_list_behind_a_filter_is_not_exchanged_for_an_error(browser: FlaskClient) -> None:
    """htmx takes only the list from an answer. An error page has none, so the list would become empty."""
    headers = {"HX-Request": "true", "HX-Request-Type": "full"}
    answer = browser.get("/posts?tab=published&page=pag_x", headers=headers)
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (204, "/posts?tab=published&page=pag_x")


def test_a_form_of_another_site_is_not_kept_for_a_second_try(browser: FlaskClient) -> None:
    answer = browser.post(
        "/brands", data={"form_token": form_token(browser), **FORM}, headers={"Origin": "https://a.test"}
    )
    assert answer.status_code == 403
    assert "Send it again" not in answer.text
    assert "typed" not in answer.text
