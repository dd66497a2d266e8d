"""Tests moving posts in the calendar: by mouse and keyboard, refused moves, conflicts with another person's change,
undoing, and a post of a brand in another zone.
"""

import datetime as dt
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from e2e_kit.accessibility import flaws
from e2e_kit.api import Json
from e2e_kit.operator import Accounts
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

BERLIN = ZoneInfo("Europe/Berlin")
TAB, ENTER = "\ue004", "\ue007"
#: The 10th and the 20th of the next month at noon, in the zone of the test's brand.
AT = (dt.datetime.now(BERLIN).replace(day=1) + dt.timedelta(days=32)).replace(
    day=10, hour=12, minute=0, second=0, microsecond=0
)
LATER = AT.replace(day=20)


@pytest.fixture
def planner(person: Any) -> Iterator[Any]:
    """A person who looks at the next month in the calendar, with a post on its 10th."""
    body = {
        "page_id": person.account.page_id("FB"),
        "message": "Advent evening",
        "scheduled_at": AT.isoformat(),
    }
    person.post_id = person.account.api.post("/posts/schedule", body)["scheduled_post"]["id"]
    person.window.emulate_phone(1280, 1000, "light")
    person.open(f"/calendar?month={AT:%Y-%m}")
    yield person
    person.window.emulate_phone(0, 0, "")


def stored(planner: Any) -> dt.datetime:
    post: Json = planner.account.api.get(f"/posts/{planner.post_id}")["post"]
    return dt.datetime.fromisoformat(post["scheduled_at"]).astimezone(BERLIN)


def day_of(planner: Any) -> str:
    """Returns the day on which the page shows the post."""
    script = f"return document.getElementById('slot-{planner.post_id}')?.closest('.day').dataset.day ?? ''"
    return str(planner.window.run(script))


def drag(planner: Any, day: dt.datetime) -> None:
    """Drags the post to a day with the mouse."""
    planner.window.drag(f"#slot-{planner.post_id} .entry", f".day[data-day='{day:%Y-%m-%d}']")


def reason(planner: Any) -> str:
    """Waits until the page gives the reason of the refusal, and returns it. That takes long if the called process
    dies: the call is given up after 10 s and repeated once.
    """
    css = f"#slot-{planner.post_id} [role=alert]"
    until(lambda: planner.window.has(css), 60, "the refusal is at the post")
    return str(planner.window.text(css))


def test_a_post_is_dragged_to_another_day_keeps_its_time_and_comes_back(planner: Any) -> None:
    window = planner.window
    drag(planner, LATER)
    until(lambda: window.has("#told .moved"), 20, "the move is told")
    assert day_of(planner) == f"{LATER:%Y-%m-%d}"
    assert stored(planner) == LATER
    assert "12:00 Europe/Berlin" in window.text("#told")
    assert flaws(window) == []
    window.click("#told button")
    until(lambda: day_of(planner) == f"{AT:%Y-%m-%d}", 20, "it is back")
    until(lambda: stored(planner) == AT, 20, "it is stored")


def test_a_post_is_moved_by_keyboard(planner: Any) -> None:
    window = planner.window
    for _ in range(80):
        if window.run("return document.activeElement.matches('a.move')"):
            break
        window.press_keys(TAB)
    assert flaws(window, 1280) == []  # with the link on the post, as under a pointer, which phones hide
    assert f"{AT:%H:%M}" in window.text(f"#slot-{planner.post_id}")
    window.press_keys(ENTER)
    until(lambda: window.has("#mover[open] #move-date"), 20, "the form is there")
    assert window.text("#mover .platform") == "Facebook"  # the same text may wait for several pages
    assert flaws(window) == []
    window.fill_time("#move-date", LATER)
    window.fill_time("#move-time", LATER.replace(hour=18, minute=30))
    assert "Scheduled for " in window.text("#mover")
    assert "Moves to " in window.text("#moves-to")
    assert "18:30" in window.text("#moves-to")
    window.press_keys(ENTER)
    until(lambda: window.has("#told .moved"), 20, "the move is told")
    assert stored(planner) == LATER.replace(hour=18, minute=30)
    assert day_of(planner) == f"{LATER:%Y-%m-%d}"


def test_where_a_post_can_be_moved_to_is_asked_once_and_shows_at_once_that_it_comes(planner: Any) -> None:
    window, link = planner.window, f"#slot-{planner.post_id} .move"
    assert window.click_and_hold(link)
    window.run(f"document.querySelector('{link}').click()")  # a second press asks no second time
    window.go_on()
    until(lambda: window.has("#mover[open] #move-date"), 20, "the form is there")
    assert not window.has(f"{link}.busy")
    window.click("#mover [data-close]")
    assert not window.has("#mover[open]")


def test_a_post_that_was_moved_on_a_page_of_its_own_is_brought_back(planner: Any) -> None:
    window = planner.window
    planner.open(f"/calendar/move/{planner.post_id}")
    assert window.text("#moves-to").startswith("Goes out ")
    window.fill_time("#move-date", LATER)
    assert f"{LATER:%Y}, 12:00 Europe/Berlin" in window.text("#moves-to")
    assert window.text("#moves-to").startswith("Moves to ")
    window.press("main form button")
    assert stored(planner) == LATER
    assert "12:00 Europe/Berlin" in window.text("[role=status]")
    assert flaws(window) == []
    window.press("[role=status] button")  # undo
    assert stored(planner) == AT
    window.press("main a.primary")
    assert "Advent evening" in window.run("return document.querySelector('#calendar').textContent")


def test_a_day_in_the_past_is_refused_at_the_post_which_stays(planner: Any) -> None:
    now = dt.datetime.now(BERLIN)
    window, past = planner.window, now.replace(year=now.year - 1, month=3, day=3)
    window.run(
        f"document.querySelector('.day[data-day=\"{LATER:%Y-%m-%d}\"]').dataset.day = '{past:%Y-%m-%d}'"
    )
    drag(planner, past)
    assert len(reason(planner)) > 10
    assert day_of(planner) == f"{AT:%Y-%m-%d}"
    assert stored(planner) == AT
    assert flaws(window) == []


def test_who_moves_what_somebody_else_has_moved_is_told(planner: Any) -> None:
    elsewhere = {"scheduled_at": AT.replace(day=15).isoformat()}
    planner.account.api.patch(f"/posts/scheduled/{planner.post_id}", elsewhere)
    drag(planner, LATER)
    assert "Somebody has moved this post to" in reason(planner)
    assert stored(planner).day == 15


@pytest.mark.alone
def test_while_the_service_is_away_the_post_goes_back_and_says_so(planner: Any, stack: Stack) -> None:
    with stack.held_down("publishing"):
        drag(planner, LATER)
        assert len(reason(planner)) > 10
        assert day_of(planner) == f"{AT:%Y-%m-%d}"
    stack.await_ready(60)
    assert stored(planner) == AT
    window = planner.window
    drag(planner, LATER)

    def is_moved() -> bool:
        """Tries the move again, as the refusal advises. One try may not be enough: each gateway process learns
        separately that the service is back.
        """
        if window.has(f"#slot-{planner.post_id} [role=alert]"):
            drag(planner, LATER)
        return window.has("#told .moved")

    until(is_moved, 60, "it is moved", pause_seconds=0.5)


def test_the_calendar_and_its_form_look_right(planner: Any) -> None:
    window = planner.window
    assert flaws(window) == []
    planner.open(f"/calendar/move/{planner.post_id}")
    assert flaws(window) == []
    window.run("document.querySelector('#move-date').value = '2020-01-01'")
    window.press("main form button")
    assert window.has("[role=alert]")
    assert flaws(window) == []
    assert stored(planner) == AT


def test_a_post_of_a_brand_in_another_zone_shows_its_own_time_and_keeps_it_when_it_is_moved(
    stranger: Any, accounts: Accounts
) -> None:
    """One brand is in Berlin, the other in Tokyo. The calendar shows the days of one of the two zones."""
    account, window = stranger.account, stranger.window
    market = accounts.brand(account.user_id, "Night Market", "--timezone", "Asia/Tokyo")["id"]
    pages = {"Europe/Berlin": account.page_id("FB"), "Asia/Tokyo": accounts.page(market)["id"]}
    posts = {}
    for zone, page in pages.items():
        body = {"page_id": page, "message": f"From {zone}", "scheduled_at": AT.isoformat()}
        posts[zone] = account.api.post("/posts/schedule", body)["scheduled_post"]["id"]
    window.emulate_phone(1280, 1000, "light")
    stranger.open(f"/calendar?month={AT:%Y-%m}")
    stranger.sign_in()
    zone = window.run("return document.querySelector('#calendar').dataset.zone")
    [other] = posts.keys() - {zone}
    here, there, stranger.post_id = ZoneInfo(zone), ZoneInfo(other), posts[other]
    slot = f"#slot-{stranger.post_id}"

    assert "in the brand’s own zone where it differs" in window.text(".period .zone")
    assert other not in window.text(f"#slot-{posts[zone]}")
    assert f"{AT.astimezone(here):%H:%M}" in window.text(f"{slot} .hour")
    assert f"{AT.astimezone(there):%H:%M} {other}" in window.text(slot)
    assert other in window.run(f"return document.querySelector('{slot} .entry').title")
    assert flaws(window) == []

    drag(stranger, LATER)
    until(lambda: window.has("#told .moved"), 20, "the move is told")
    assert stored(stranger) == LATER
    assert day_of(stranger) == f"{LATER:%Y-%m-%d}"
    assert f"{LATER.astimezone(there):%H:%M} {other}" in window.text("#told")
    assert f"{LATER.astimezone(there):%H:%M} {other}" in window.text(slot)
    window.click("#told button")
    until(lambda: stored(stranger) == AT, 20, "it is back")
    until(lambda: day_of(stranger) == f"{AT:%Y-%m-%d}", 20, "it is shown there")

    window.run(f"document.querySelector('{slot} a.move').click()")
    until(lambda: window.has("#mover[open] #move-date"), 20, "the form is there")
    assert window.text("#moves-to").startswith("Goes out ")
    assert f"{AT.astimezone(there):%H:%M} {other}" in window.text("#moves-to")
    window.run(
        f"document.querySelector('#move-date').value = '{LATER:%Y-%m-%d}';"
        "document.querySelector('#move-time').value = '05:00'"
    )
    window.click("#mover .primary")
    moved = dt.datetime(LATER.year, LATER.month, LATER.day, 5, tzinfo=there)
    until(lambda: f"05:00 {other}" in window.text("#told"), 20, "the move is told")
    assert stored(stranger) == moved
    # 05:00 in Tokyo is on the day before in Berlin.
    assert day_of(stranger) == f"{moved.astimezone(here):%Y-%m-%d}"
    assert f"{moved.astimezone(here):%H:%M}" in window.text(f"{slot} .hour")
    window.emulate_phone(0, 0, "")
