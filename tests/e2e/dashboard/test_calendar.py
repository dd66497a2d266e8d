"""The calendar: a post on its day, in the zone that is named; other months; one page alone."""

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

from e2e_kit.waiting import until

BERLIN = ZoneInfo("Europe/Berlin")


def schedule(person: Any, at: dt.datetime, text: str, platform: str = "FB") -> None:
    body = {"page_id": person.account.page_id(platform), "message": text, "scheduled_at": at.isoformat()}
    person.account.api.post("/posts/schedule", body)


def next_month() -> dt.datetime:
    """Returns noon of the fifteenth of the next month, in the zone of the test's brand."""
    now = dt.datetime.now(BERLIN)
    first = (now.replace(day=1) + dt.timedelta(days=32)).replace(day=15)
    return first.replace(hour=12, minute=0, second=0, microsecond=0)


def test_a_post_is_on_its_day_and_leads_to_its_page(person: Any) -> None:
    at = next_month()
    schedule(person, at, "In the middle of the month")
    window = person.window
    person.open("/calendar")
    assert "Times in Europe/Berlin" in window.text("#calendar")
    window.press("nav[aria-label=Month] a:last-child")
    assert window.text("h1") == f"{at:%B %Y}"
    day = window.run(
        f"return document.querySelector('time[datetime=\"{at:%Y-%m-%d}\"]').closest('li').innerText"
    )
    assert "12:00 Facebook" in day
    assert "In the middle of the month" in day
    window.press(".entry")
    assert "In the middle of the month" in window.text(".text")


def test_what_is_out_is_there_too(person: Any) -> None:
    body = {"page_id": person.account.page_id(), "message": "Out today"}
    person.account.api.post("/posts/publish", body)
    person.open("/calendar")
    today = person.window.text(".today")
    assert "Facebook, published" in today
    assert "Out today" in today


def test_one_page_is_shown_alone(person: Any) -> None:
    at = next_month()
    schedule(person, at, "For Facebook")
    schedule(person, at, "For X", "TW")
    window = person.window
    person.open(f"/calendar?month={at:%Y-%m}")
    assert "For X" in window.text("#calendar")
    window.run(
        f"const list = document.querySelector('#page'); list.value = '{person.account.page_id('TW')}';"
        "list.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    shown = "return document.querySelector('#calendar').innerText"
    until(lambda: "For Facebook" not in window.run(shown), 20, "one page is left")
    assert "For X" in window.run(shown)
    assert window.text("h1") == f"{at:%B %Y}"
