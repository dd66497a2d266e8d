"""A session's pages and brands, which screens in a row share, and the screens of a person who has none."""

import re
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from flask import g
from flask.testing import FlaskClient

from dashboard import api, kept, times
from dashboard.app import create_app
from dashboard.config import Config
from dashboard.dates import Dates
from dashboard.routes import comments, shared


class Client:
    """An API with many pages and brands, which counts its calls."""

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
    """The values that the process keeps in memory: none at first."""
    values: dict[Any, Any] = {}
    monkeypatch.setattr(kept, "_values", values)
    return values


def find(client: Any, session: str, **more: bool) -> shared.Places:
    """Reads the pages and brands as a screen of this session does."""
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


def test_without_a_brand_the_calendar_has_the_persons_zone() -> None:
    with create_app(Config(api_url="http://127.0.0.1:9")).test_request_context():
        g.dates = Dates("Asia/Tokyo")
        assert shared.Filters().zone(shared.Places({}, {})) == "Asia/Tokyo"


def test_a_value_that_could_not_be_read_is_asked_for_again() -> None:
    client, gone = Client(), SimpleNamespace(iterate_pages=lambda **_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        find(gone, "svc_a")
    find(client, "svc_a")
    assert client.calls == 2


class Watched(Future[Any]):
    """A value that is being read. Tells when somebody waits for it."""

    awaited = threading.Event()

    def result(self, timeout: float | None = None) -> Any:
        self.awaited.set()
        return super().result(timeout)


class Slow(Client):
    """An API that lists the pages once somebody else waits for them, or when it is told to."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.begun, self.may_go_on, self._error = threading.Event(), threading.Event(), error

    def iterate_pages(self, **_: Any) -> Any:
        self.begun.set()
        assert self.may_go_on.wait(10)
        if self._error is not None:
            raise self._error
        return super().iterate_pages()


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> type[Watched]:
    monkeypatch.setattr(kept, "Future", Watched)
    monkeypatch.setattr(Watched, "awaited", threading.Event())
    return Watched


def pages(client: Any) -> Any:
    """Reads the pages as a screen of the session "svc_a" does."""
    with create_app(Config(api_url="http://127.0.0.1:9")).test_request_context():
        g.acting_token = "svc_a"
        return shared.recent_pages(client)()


@pytest.mark.parametrize("error", [None, ZeroDivisionError()])
def test_screens_that_need_the_same_at_the_same_time_share_one_call(
    watched: type[Watched], error: Exception | None
) -> None:
    client = Slow(error)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(pages, client)
        assert client.begun.wait(10)
        second = pool.submit(pages, Client())
        assert watched.awaited.wait(10)
        client.may_go_on.set()
        assert (first.exception(10), second.exception(10)) == (error, error)
    assert client.calls == (0 if error else 1)
    if not error:
        assert len(second.result()) == 150


@pytest.mark.usefixtures("watched")
def test_what_was_being_read_when_it_changed_is_read_again() -> None:
    client, later = Slow(), Client()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(pages, client)
        assert client.begun.wait(10)
        with create_app(Config(api_url="http://127.0.0.1:9")).test_request_context():
            g.acting_token = "svc_a"
            shared.forget_places()
        client.may_go_on.set()
        assert len(first.result(10)) == 150
    pages(later)
    assert later.calls == 1


def test_not_more_are_kept_than_memory_allows(
    monkeypatch: pytest.MonkeyPatch, values: dict[Any, Any]
) -> None:
    monkeypatch.setattr(kept, "_MOST", 3)
    for number in range(10):
        find(Client(), f"svc_{number}")
        assert len(values) <= 3


PAGE = SimpleNamespace(
    id="pag_f",
    name="Bakery",
    platform="FB",
    brand_id="brd_1",
    brand_name="Bakery",
    expired=False,
    missing_permissions=None,
)


@pytest.fixture
def browser() -> FlaskClient:
    browser = create_app(Config(api_url="http://127.0.0.1:9", public_url="http://localhost")).test_client()
    browser.set_cookie("posthaste_session", "svc_session_x")
    return browser


def serve(monkeypatch: pytest.MonkeyPatch, *pages: Any) -> None:
    """Replaces the API by one with these linked pages, no posts and no files."""
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
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, address: str, values: dict[Any, Any]
) -> None:
    serve(monkeypatch)
    assert ">Connect a page</a>" in browser.get(address).text
    values.clear()
    serve(monkeypatch, PAGE)
    shown = browser.get(address).text
    assert ">Connect a page</a>" not in shown
    assert ">Write a post</a>" in shown


@pytest.mark.parametrize("address", ["/posts", "/library"])
def test_an_empty_list_is_searched_only_if_a_filter_made_it_empty(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, address: str, values: dict[Any, Any]
) -> None:
    serve(monkeypatch, PAGE)
    assert 'name="search"' not in browser.get(address).text
    assert 'name="search"' in browser.get(f"{address}?search=rye").text


def planned(number: int, status: str) -> Any:
    at = datetime(2026, 11, 27, 8, tzinfo=UTC)
    return SimpleNamespace(
        id=f"pst_{status}{number}", page_id="pag_f", brand_id="brd_1", platform="FB", status=status, error=None,
        message=f"{status} {number}", scheduled_at=at, media=[],
    )  # fmt: skip


def test_the_overview_asks_for_no_more_posts_than_it_shows(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, values: dict[Any, Any]
) -> None:
    serve(monkeypatch, PAGE)
    asked = []

    def listed(**filters: Any) -> Any:
        asked.append((filters["status"], filters["limit"]))
        broken = [] if filters["status"] == "queued" else [planned(number, "failed") for number in range(9)]
        found = [*broken, *(planned(number, "queued") for number in range(30))]
        return SimpleNamespace(scheduled_posts=found[: filters["limit"]], next_cursor="more")

    monkeypatch.setattr(api.reader(), "list_scheduled_posts", listed)
    shown = browser.get("/").text
    assert asked == [("queued,failed,held", 12)]
    assert [shown.count(f"/posts/pst_{status}") for status in ("failed", "queued")] == [2 * 9, 0]
    assert "All posts that need attention" in shown
    assert 'hx-get="/overview/next"' in shown
    part = browser.get("/overview/next", headers={"HX-Request": "true"}).text
    assert asked[1:] == [("queued", 8)]
    assert part.count("/posts/pst_queued") == 3 * 8
    assert "<html" not in part
    assert browser.get("/overview/next").location == "/posts"


@pytest.mark.parametrize(("after", "told"), [(timedelta(days=3), True), (timedelta(minutes=-1), False)])
def test_the_overview_says_that_nothing_goes_out_today(
    browser: FlaskClient,
    monkeypatch: pytest.MonkeyPatch,
    values: dict[Any, Any],
    after: timedelta,
    told: bool,
) -> None:
    serve(monkeypatch, PAGE)
    post = planned(1, "queued")
    post.scheduled_at = datetime.now(UTC) + after
    found = SimpleNamespace(scheduled_posts=[post], next_cursor=None)
    monkeypatch.setattr(api.reader(), "list_scheduled_posts", lambda **_: found)
    assert ("Nothing more goes out today." in browser.get("/").text) == told


@pytest.mark.parametrize(
    ("hours", "is_cut", "told"),
    [
        ((1, 2, 30), False, "2 posts go out"),
        ((1,), True, "1 or more posts go out"),
        ((1, 30), True, "1 post goes out"),
        (range(10, 22), False, "12 posts go out"),
    ],
)
def test_the_overview_says_how_many_posts_go_out_today_in_the_zone_of_their_brand(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, values: dict[Any, Any], hours: Iterable[int],
    is_cut: bool, told: str,
) -> None:  # fmt: skip
    serve(monkeypatch, PAGE)
    now = datetime.now(UTC)  # in this zone the day has just begun
    zone = next(it for it in times.zones() if now.astimezone(times.zone_of(it)).hour == 0)
    posts = [planned(number, "queued") for number in hours]
    for post, hour in zip(posts, hours, strict=True):
        post.scheduled_at = now + timedelta(hours=hour)
    found = SimpleNamespace(scheduled_posts=posts, next_cursor="more" if is_cut else None)
    monkeypatch.setattr(api.reader(), "list_scheduled_posts", lambda **_: found)
    brand = SimpleNamespace(id="brd_1", name="Bakery", timezone=zone)
    monkeypatch.setattr(api.reader(), "iterate_brands", lambda **_: [brand])
    address = "/overview/next" if is_cut else "/"
    shown = browser.get(address, headers={"HX-Request": "true"} if is_cut else {}).text
    assert re.findall(r'Today <span class="today">(.*?)</span>', shown) == [told]
    assert "Nothing more goes out today." not in shown


def test_a_post_that_needs_attention_has_one_button_in_the_overview(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, values: dict[Any, Any]
) -> None:
    serve(monkeypatch, PAGE)
    posts = [planned(number, "failed") for number in range(3)] + [planned(3, "held")]
    for post, code in zip(posts, ("PLATFORM_REJECTED", "PLATFORM_UNAVAILABLE", "PAGE_EXPIRED"), strict=False):
        post.error = SimpleNamespace(code=code, message="Refused (403)")
    found = SimpleNamespace(scheduled_posts=posts, next_cursor=None)
    monkeypatch.setattr(api.reader(), "list_scheduled_posts", lambda **_: found)
    rows = re.findall(r'<div class="buttons">(.*?)</div>', browser.get("/").text, re.DOTALL)
    assert [row.count("<button") + row.count('class="button') for row in rows] == [1] * 4
    shown = [re.findall(r">([^<>]+)</(?:a|button)>", row) for row in rows]
    # The page of the third is connected again.
    to_page = ["Go to the page"]
    assert shown == [to_page, to_page, ["Try again"], ["Release or cancel"]]


@pytest.mark.parametrize(
    ("counts", "told"), [((5, 0, 0), ""), ((5, 1, 2), "&nbsp;(3)"), ((5, 1, 1_000), "&nbsp;(1,001+)")]
)
def test_the_tab_counts_posts_that_need_attention_without_reading_them(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, values: dict[Any, Any], counts: tuple[int, int, int],
    told: str,
) -> None:  # fmt: skip
    serve(monkeypatch, PAGE)
    found = SimpleNamespace(**dict(zip(("queued", "held", "failed"), counts, strict=True)))
    monkeypatch.setattr(api.reader(), "count_scheduled_posts", lambda: found, raising=False)
    assert browser.get("/posts/attention").text == f"<span>{told}</span>"


@pytest.mark.parametrize(
    ("queued", "held", "told"),
    [
        (0, 0, "No post waits"),
        (1, 0, "1 post waits<"),
        (40, 2, "42 posts wait<"),
        (1_000, 0, "At least 1,000 posts wait<"),
    ],
)
def test_the_form_that_unlinks_a_page_says_how_many_posts_wait_for_it(
    browser: FlaskClient, monkeypatch: pytest.MonkeyPatch, values: dict[Any, Any], queued: int, held: int, told: str
) -> None:  # fmt: skip
    serve(monkeypatch, PAGE)
    found = SimpleNamespace(queued=queued, held=held, failed=7)
    monkeypatch.setattr(api.reader(), "count_scheduled_posts", lambda page_id: found, raising=False)
    assert told in browser.get("/pages/pag_f/waiting").text
