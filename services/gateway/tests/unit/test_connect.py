"""Linking seen at the gateway: which brand, which platform, and the page that a browser ends on."""

from html.parser import HTMLParser
from typing import Any

import pytest

from contracts import accounts, publishing
from contracts.errors import NOT_FOUND, SERVICE_UNAVAILABLE, ApiError

CALLBACK = "/connect/twitter/callback"


@pytest.fixture(autouse=True)
def answers(bus: Any, kit: Any) -> None:
    bus.answers["get_brand"] = accounts.Brand(
        id="brd_1", name="Corner Bakery", description=None, logo=None, timezone="UTC", created_at=kit.NOW
    )
    bus.answers["begin_link"] = publishing.LinkBegun(
        session_id="lnk_1", authorize_url="https://platform.test/?state=s", expires_at=kit.NOW
    )
    bus.answers["finish_link"] = session(kit, "choose")


def session(kit: Any, status: str, **more: Any) -> publishing.LinkSession:
    found = publishing.LinkableAccount(
        account_id="1", name="<b>Bakery</b>", username=None, followers=0, picture=None
    )
    return publishing.LinkSession(
        session_id="lnk_1", platform="TW", brand_id="brd_1", status=status, accounts=(found,),
        error=more.get("error"), expires_at=kit.NOW, brand_name=more.get("brand_name"),
    )  # fmt: skip


class Seen(HTMLParser):
    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.outcome = self.text = ""
        assert answer.content_type == "text/html; charset=utf-8"
        self.feed(answer.get_data(as_text=True))

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.outcome = dict(attrs).get("data-outcome") or self.outcome

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("platform", ["TW", "twitter", "Twitter"])
def test_a_linking_begins_with_the_brands_name_and_the_platforms_code(client, bus, platform) -> None:
    answer = client.post("/api/v1/pages/connect", json={"platform": platform, "brand_id": "brd_1"})
    assert (answer.status_code, answer.json["session_id"]) == (201, "lnk_1")
    [(_, asked)] = bus.asked("begin_link")
    assert (asked.platform, asked.brand_id, asked.brand_name) == ("TW", "brd_1", "Corner Bakery")


def test_a_brand_that_is_not_there_is_refused(client, bus) -> None:
    bus.answers["get_brand"] = ApiError(NOT_FOUND, field="brand_id")
    answer = client.post("/api/v1/pages/connect", json={"platform": "TW", "brand_id": "brd_2"})
    assert (answer.status_code, answer.json["field"]) == (404, "brand_id")
    assert not bus.asked("begin_link")


@pytest.mark.parametrize(
    ("status", "code"),
    [("choose", 200), ("linked", 200), ("refused", 200), ("pending", 200), ("failed", 400)],
)
def test_the_browser_is_told_how_it_went_without_a_token(client, bus, kit, status, code) -> None:
    del client.environ_base["HTTP_AUTHORIZATION"]
    problem = publishing.PostError(code="odd", message="<script>") if status == "failed" else None
    bus.answers["finish_link"] = session(kit, status, error=problem)
    answer = client.get(CALLBACK, query_string={"state": "s", "code": "c", "scopes": "x"})
    seen = Seen(answer)
    assert (answer.status_code, seen.outcome) == (code, status)
    assert set(seen.tags) <= {"html", "head", "meta", "title", "style", "body", "main", "h1", "p"}
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    [(_, asked)] = bus.asked("finish_link")
    assert (asked.platform, asked.state, asked.code) == ("twitter", "s", "c")


def test_names_are_shown_as_they_are_written(client, bus, kit) -> None:
    bus.answers["finish_link"] = session(kit, "linked")
    assert "<b>Bakery</b>" in Seen(client.get(CALLBACK)).text


@pytest.mark.parametrize("status", ["choose", "linked"])
def test_who_came_by_a_strangers_address_sees_whose_brand_has_the_permission_and_how_to_undo_it(
    client, bus, kit, status
) -> None:
    bus.answers["finish_link"] = session(kit, status, brand_name="<i>Them</i>")
    seen = Seen(client.get(CALLBACK))
    assert "the brand “<i>Them</i>”" in seen.text
    assert "i" not in seen.tags
    assert "remove the app in the settings of your X account" in seen.text


@pytest.mark.parametrize(("error", "status"), [(NOT_FOUND, 400), (SERVICE_UNAVAILABLE, 503)])
def test_a_return_that_cannot_be_finished_is_told_to_people_too(client, bus, error, status) -> None:
    bus.answers["finish_link"] = ApiError(error)
    answer = client.get(CALLBACK)
    assert (answer.status_code, Seen(answer).outcome) == (status, "failed")


def test_a_platforms_endless_words_are_cut(client, bus) -> None:
    client.get(CALLBACK, query_string={"error": "e" * 5_000, "error_description": "d" * 5_000})
    [(_, asked)] = bus.asked("finish_link")
    assert (len(asked.error), len(asked.error_description)) == (100, 500)
