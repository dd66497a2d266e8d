"""Tests the calendar: each post stands on its day in the zone that the page names; other months, weeks and days;
filters; and the search for posts by their text.
"""

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import requests
from e2e_kit.accessibility import flaws
from e2e_kit.files import uploaded
from e2e_kit.operator import Accounts
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
    window.press("nav[aria-label=Time] a:last-child")
    assert window.text("h1") == f"{at:%B %Y}"
    day = window.run(
        f"return document.querySelector('time[datetime=\"{at:%Y-%m-%d}\"]').closest('li').innerText"
    )
    assert "12:00" in day
    assert window.text(".entry .top").split() == ["12:00", "Facebook"]
    assert "In the middle of the month" in day
    window.press(".entry")
    assert "In the middle of the month" in window.text(".text")


def test_in_a_week_a_long_name_of_a_page_has_two_lines_and_a_pointer_shows_all_of_it(
    person: Any, jpeg: bytes, accounts: Accounts
) -> None:
    account, at = person.account, next_month()
    page = accounts.page(account.brand_id, "IG", "The Corner Bakery of the Old Town")
    file = uploaded(account.api, jpeg, "bread.jpg")["media_id"]
    body = {"page_id": page["id"], "message": "Rye", "scheduled_at": at.isoformat(), "media_ids": [file]}
    account.api.post("/posts/schedule", body)
    person.window.emulate_phone(1280, 900, "light")
    person.open("/pages")  # reads them anew; the calendar knows those of the last minute
    person.open(f"/calendar?view=week&day={at:%Y-%m-%d}")
    lines = person.window.run(
        "const it = document.querySelector('.entry .where b');"
        "return it.offsetHeight / parseFloat(getComputedStyle(it).lineHeight)"
    )
    assert "1 photo" in person.window.text(".entry .where")
    assert round(lines) == 2
    assert person.window.run("return document.querySelector('.entry .where b').title") == page["name"]
    person.window.emulate_phone(0, 0, "")


def test_what_is_out_is_there_too(person: Any) -> None:
    body = {"page_id": person.account.page_id(), "message": "Out today"}
    person.account.api.post("/posts/publish", body)
    person.open("/calendar")
    today = person.window.text(".today")
    assert "Published" in today
    assert "Out today" in today


def test_a_day_to_come_begins_a_post_for_itself(person: Any) -> None:
    at, window = next_month(), person.window
    person.open(f"/calendar?month={at:%Y-%m}")
    window.press(f"[data-day='{at:%Y-%m-%d}'] .add")
    assert window.run("return document.querySelector('#date').value") == f"{at:%Y-%m-%d}"
    assert window.run("return document.querySelector('[name=when]:checked').value") == "later"


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


@pytest.mark.parametrize("view", ["month", "week", "day", "list"])
def test_each_view_shows_the_post_and_goes_on_to_the_next_time(person: Any, view: str) -> None:
    at = next_month()
    schedule(person, at, "In the middle of the month")
    window = person.window
    person.open(f"/calendar?day={at:%Y-%m-%d}")
    window.press(f"nav[aria-label=View] a[href*='view={view}']")
    shown = window.run(f"return document.querySelector('[data-day=\"{at:%Y-%m-%d}\"]').innerText")
    assert "In the middle of the month" in shown
    title = window.text("h1")
    window.press("nav[aria-label=Time] a:last-child")
    assert window.text("h1") != title
    assert "In the middle" not in window.text("#calendar")
    assert window.text("nav[aria-label=View] [aria-current]").lower() == view
    window.press("nav[aria-label=Time] a:first-child")
    assert "In the middle" in window.text("#calendar")
    assert flaws(window) == []


def test_a_phone_begins_with_the_list_and_a_computer_with_the_month(person: Any) -> None:
    session = {"posthaste_session": person.window.cookies()["posthaste_session"]}
    phone = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1"
    for agent, view in ((phone, "list"), (phone.replace("Mobile/15E148 ", ""), "month")):
        page = requests.get(
            f"{person.url}/calendar", cookies=session, headers={"User-Agent": agent}, timeout=30
        ).text
        assert f'class="month as-{view}"' in page
        assert 'id="today"' in page


def choose(person: Any, name: str, value: str) -> None:
    person.window.run(
        f"const list = document.querySelector('form.filters [name={name}]'); list.value = '{value}';"
        "list.dispatchEvent(new Event('change', {bubbles: true}))"
    )


def test_filters_by_brand_platform_and_state_are_kept_from_view_to_view(stranger: Any, accounts: Any) -> None:
    at, window = next_month(), stranger.window
    window.emulate_phone(1280, 900, "light")  # the month of a phone has dots in place of texts
    schedule(stranger, at, "For Facebook")
    schedule(stranger, at, "For X", "TW")
    other = accounts.brand(stranger.account.user_id, "Night Market")["id"]
    body = {
        "page_id": accounts.page(other)["id"],
        "message": "For the market",
        "scheduled_at": at.isoformat(),
    }
    stranger.account.api.post("/posts/schedule", body)
    shown = "return document.querySelector('#calendar').innerText"

    def left(*texts: str) -> None:
        every = {"For Facebook", "For X", "For the market"}
        until(lambda: {it for it in every if it in window.run(shown)} == set(texts), 20, f"{texts} are left")

    stranger.open(f"/calendar?day={at:%Y-%m-%d}")
    stranger.sign_in()
    choose(stranger, "platform", "FB")
    left("For Facebook", "For the market")
    choose(stranger, "brand", other)
    left("For the market")
    window.press("nav[aria-label=View] a[href*='view=list']")
    left("For the market")
    choose(stranger, "state", "failed")
    left()
    assert "No posts for this choice in this month." in window.run(shown)
    choose(stranger, "state", "queued")
    left("For the market")
    window.emulate_phone(0, 0, "")


def test_posts_are_found_by_their_text_and_the_choice_goes_with_the_tabs(person: Any) -> None:
    window = person.window
    schedule(person, next_month(), "Rye bread, 100 % of it")
    schedule(person, next_month(), "Wheat", "TW")
    person.open("/posts")
    window.type("#posts [type=search]", "rYE bread, 100 %")
    choose(person, "page", "")
    shown = "return document.querySelector('#posts').innerText"
    until(lambda: "Wheat" not in window.run(shown), 20, "one post is left")
    assert "Rye bread" in window.run(shown)
    assert flaws(window) == []
    window.press(".tabs a[href*=cancelled]")
    assert "with “rYE bread, 100 %” in their text" in window.text("#posts")
    assert flaws(window) == []
    window.press(".empty a")
    assert "Nothing was cancelled." in window.text("#posts")


def test_the_dots_of_a_phones_month_differ_in_shape_and_are_explained(person: Any) -> None:
    window = person.window
    person.account.api.post("/posts/publish", {"page_id": person.account.page_id(), "message": "Out today"})
    schedule(person, dt.datetime.now(BERLIN) + dt.timedelta(minutes=30), "Soon")
    window.emulate_phone(360, 800, "light")
    person.open("/calendar?view=month")
    assert window.text(".legend").split() == ["Scheduled", "Held", "Failed", "Published"]
    shape = "getComputedStyle(document.querySelector('.month .dots .{}')).backgroundColor"
    grounds = [window.run("return " + shape.replace("{}", it)) for it in ("queued", "published")]
    assert grounds[0] == "rgba(0, 0, 0, 0)"
    assert grounds[1] != grounds[0]
    assert flaws(window) == []
    window.emulate_phone(0, 0, "")
