"""Dates in the time zone and the language that the person chose."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from dashboard import api, dates, languages
from dashboard.app import create_app
from dashboard.config import Config
from dashboard.dates import Dates
from dashboard.periods import Period

APP = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost"))
AT = datetime(2026, 11, 27, 21, 5, tzinfo=UTC)


@pytest.fixture
def german() -> Iterator[None]:
    with APP.test_request_context(headers={"Cookie": "posthaste_dates=Europe/Berlin|de"}):
        APP.preprocess_request()
        yield


@pytest.mark.parametrize("language", languages.LANGUAGES)
def test_every_language_of_the_list_writes_every_kind_of_date(language: str) -> None:
    day = AT.date()
    written = [
        languages.moment(AT, language), languages.clock(AT, language), languages.short_day(day, language),
        languages.weekday_and_day(day, language), languages.weekday_and_number(day, language),
        languages.ago(12, language), languages.full_day(day, language), languages.month(day, language),
        languages.days(day, date(2026, 12, 3), language), *languages.weekdays(language),
    ]  # fmt: skip
    assert all(text.strip() for text in written)
    assert all(text in written[0] for text in ("27", "2026", "05"))


@pytest.mark.parametrize(
    ("tag", "shown"),
    [
        ("de", "de"), ("de-AT", "de"), ("pt", "pt-PT"), ("zh-Hant-TW", "zh-Hant"), ("en-IN", "en-GB"), ("", "en-GB"),
        ("tlh", "en-GB"), ("../../etc", "en-GB"),
    ],
)  # fmt: skip
def test_a_language_that_is_not_in_the_list_is_shown_as_the_closest(tag: str, shown: str) -> None:
    assert languages.closest(tag) == shown


@pytest.mark.parametrize("packed", ["", "|", "Nowhere/Land|tlh", "x" * 4_000, "|||"])
def test_a_cookie_that_we_did_not_write_shows_utc_and_english(packed: str) -> None:
    assert Dates.read(packed) == Dates("UTC", "en-GB")


@pytest.mark.usefixtures("german")
def test_a_time_is_shown_with_its_zone_and_marked_with_its_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dates, "present_year", lambda: 2027)
    assert dates.here(AT) == "Fr., 27. Nov. 2026, 22:05 Europe/Berlin"
    mine = dates.mine(AT)
    assert ' lang="de" dir="auto">Fr., 27. Nov. 2026, 22:05</time> <span class="zone">Europe/Berlin' in mine
    assert mine.startswith('<span class="at">')  # which a line does not break, where it has room
    assert mine.find(dates.my_time(AT)) > 0
    assert 'title="Fr., 27. Nov. 2026, 22:05 Europe/Berlin"' in dates.tagged(AT, "Asia/Tokyo")
    assert 'title="Sa., 28. Nov. 2026, 06:05 Asia/Tokyo"' in dates.tagged(AT, "Asia/Tokyo", says_zone=True)


@pytest.mark.usefixtures("german")
def test_the_present_year_is_left_out_except_for_a_pointer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dates, "present_year", lambda: 2026)
    told = dates.tagged(AT, "Europe/Berlin")
    assert 'title="Fr., 27. Nov. 2026, 22:05 Europe/Berlin"' in told
    assert told.endswith(">Fr., 27. Nov., 22:05</time>")
    assert dates.clock(AT, "Asia/Tokyo").endswith(">06:05</time>")


@pytest.mark.usefixtures("german")
def test_an_entry_of_the_calendar_has_the_time_of_its_brand_too_where_that_has_another_zone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dates, "present_year", lambda: 2026)
    berlin, tokyo, noon = "Europe/Berlin", "Asia/Tokyo", datetime(2026, 11, 27, 11, tzinfo=UTC)
    data = f' data-at="{noon.isoformat()}" data-date="2026-11-27"'
    assert dates.in_calendar(noon, berlin, berlin) == (
        f'{data} data-time="12:00" data-zone="Europe/Berlin"', "12:00", "", "",
    )  # fmt: skip
    assert dates.in_calendar(noon, berlin, tokyo) == (
        f'{data} data-time="20:00" data-zone="Asia/Tokyo"', "12:00", "Fr., 27. Nov. 2026, 20:00 Asia/Tokyo",
        "20:00 Asia/Tokyo",
    )  # fmt: skip
    there = dates.in_calendar(AT, berlin, tokyo)
    assert ' data-date="2026-11-28" data-time="06:05" ' in there.data
    assert there[1:] == ("22:05", "Sa., 28. Nov. 2026, 06:05 Asia/Tokyo", "Sa., 28. Nov., 06:05 Asia/Tokyo")
    *_, hover, there = dates.in_calendar(noon, tokyo, "UTC")
    assert hover == "Fr., 27. Nov. 2026, 11:00 UTC; Fr., 27. Nov. 2026, 12:00 Europe/Berlin for you"
    assert there == "11:00 UTC"


@pytest.mark.usefixtures("german")
def test_a_time_of_the_last_day_is_told_by_how_long_ago_it_was() -> None:
    now = datetime.now(UTC)
    assert ">vor 12 Minuten</time>" in dates.ago(now - timedelta(minutes=12), "UTC")
    assert ">vor 1 Minute</time>" in dates.ago(now, "UTC")
    assert "vor" not in dates.ago(now - timedelta(days=2), "UTC")
    assert "vor" not in dates.ago(now + timedelta(hours=2), "UTC")


@pytest.mark.usefixtures("german")
def test_a_day_of_a_list_has_its_name() -> None:
    today = date(2026, 12, 30)
    days = (date(2026, 12, 29), today, date(2026, 12, 31), date(2026, 12, 1), date(2027, 1, 2))
    assert [dates.day_heading(it, today) for it in days] == [
        *("Yesterday", "Today", "Tomorrow", "Di., 1. Dez.", "Samstag, 2. Januar 2027"),
    ]


def test_a_month_a_week_and_a_day_have_names_in_the_language() -> None:
    names = [Period(view, AT.date(), "UTC", "fr").name for view in ("month", "week", "day")]
    assert names == ["novembre 2026", "23–29 nov. 2026", "ven. 27 nov. 2026"]


class Client:
    """An API that accepts the chosen zone and language, or refuses them."""

    def edit_account(self, **chosen: Any) -> Any:
        self.chosen = chosen
        return type("User", (), {"timezone": chosen["timezone"], "language": chosen["language"]})()


def test_what_is_chosen_is_saved_and_kept_by_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    client, browser = Client(), APP.test_client()
    monkeypatch.setattr(api, "own", lambda: client)
    browser.set_cookie("posthaste_session", "svc_sess_x")
    token = re.search(r'name="form_token" value="(\w+)"', browser.get("/posts?tab=none").text)
    assert token
    form = {"form_token": token[1], "zone": "Asia/Tokyo", "language": "ja", "key": "k" * 32}
    assert browser.post("/account/dates", data=form).location == "/account?done=dates"
    assert client.chosen == {"timezone": "Asia/Tokyo", "language": "ja", "idempotency_key": "k" * 32}
    cookie = browser.get_cookie("posthaste_dates")
    assert cookie is not None
    assert cookie.decoded_value == "Asia/Tokyo|ja"
