"""No screen loads more than it shows: each row that a screen asks the API for is on its page.

The API is a fake that has more rows in every list than anybody asks for. Each row has a mark of its own in its texts.
"""

import dataclasses
import re
import threading
from collections.abc import Callable, Iterable
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from e2e_kit.attacks.hostile_api import HostileApi
from flask.testing import FlaskClient

from dashboard.app import create_app
from dashboard.config import Config
from posthaste import Posthaste

#: Screen or part of a screen → the lists that it asks for, and how many rows of each it loads and shows. The calendar's
#: list has up to 300 posts that wait and 300 that are out.
SHOWN = {
    "/": {"list_scheduled_posts": 12},
    "/posts": {"list_scheduled_posts": 25},
    "/posts?tab=attention": {"list_scheduled_posts": 25},
    "/posts?tab=cancelled": {"list_scheduled_posts": 25},
    "/posts?tab=published": {"list_published_posts": 25},
    "/posts?tab=published&search=rye": {"list_published_posts": 25},
    **{f"/calendar?view={view}": {"list_calendar_posts": 600} for view in ("month", "week", "day", "list")},
    "/comments": {"list_published_posts": 8},
    "/comments/of/x": {"list_comments": 50},
    "/comments/of/x?page=x&state=all": {"list_comments": 50},
    "/library": {"list_media": 24},
    "/library?show=unused&search=rye": {"list_media": 24},
    "/compose/library": {"list_media": 24},
    "/compose/ai": {"list_ai_jobs": 2},
    "/compose/ai/films": {"list_ai_jobs": 5},
    "/brands": {"list_brands": 50, "list_shared_brands": 50},
    "/brands/x": {"list_collaborators": 50, "list_invitations": 50},
    "/pages": {"list_pages": 50},
    "/work": {"list_shared_brands": 12},
    "/developers": {"list_tokens": 25, "list_webhooks": 10},
    "/developers/webhooks/x": {"list_deliveries": 25},
    "/developers/requests": {"list_logs": 50, "list_tokens": 100},  # the tokens are the choices of a filter
    "/usage/credits": {"list_credit_ledger": 50},
    "/activity/audit": {"list_audit": 50},
    "/account": {"list_sessions": 10},
    "/overview/next": {"list_scheduled_posts": 8},
    "/overview/account": {"list_webhooks": 20},
}
#: Parts of a screen, which htmx asks for.
PARTS = (
    "/work",
    "/overview/next",
    "/overview/account",
    "/compose/library",
    "/comments/of/x?page=x&state=all",
)


class Lists(HostileApi):
    """Stands in for the Python client. `loaded` holds the marks of the rows that were asked for, by call."""

    def __init__(self) -> None:
        super().__init__({})
        self.text = "x"
        self.turn = 1
        self.loaded: dict[str, list[str]] = {}
        #: Chooses among the states that a call asks for.
        self.state_of: Callable[[int, list[str]], str] = lambda number, states: states[number % len(states)]
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        answer = super().__getattr__(name)
        if not name.startswith("list_"):
            return answer

        def listed(*_: Any, limit: int = 0, status: str | None = None, **asked: Any) -> Any:
            if "media_ids" in asked or "post_ids" in asked:
                return answer()  # no list, but things of which the screen knows the ids
            assert limit, f"{name} is asked for as many as the API likes"
            kind = get_type_hints(getattr(Posthaste, name))["return"]
            [(field, row)] = [
                (field, get_args(hint)[0])
                for field, hint in get_type_hints(kind).items()
                if get_origin(hint) is list
            ]
            with self._lock:
                self.loaded[name] = [
                    f"{name.replace('_', '-')}-{number:03}"
                    for number in range(2 * limit if name == "list_calendar_posts" else limit)
                ]
                rows = [self._row(row, mark) for mark in self.loaded[name]]
                if status:
                    states = status.split(",")
                    rows = [
                        dataclasses.replace(it, status=self.state_of(number, states))
                        for number, it in enumerate(rows)
                    ]
                return dataclasses.replace(answer(), **{field: rows})

        return listed

    def _row(self, kind: Any, mark: str) -> Any:
        self.text = mark
        try:
            return self._made(kind, "", 0)
        finally:
            self.text = "x"

    def _made(self, kind: Any, field: str, depth: int) -> Any:
        with self._lock:  # calls run side by side
            if kind is str and re.fullmatch(r"(.*_)?ids?", field):
                return self.text
            return super()._made(kind, field, depth)


@pytest.fixture
def lists(serve: Callable[[HostileApi], None]) -> Lists:
    lists = Lists()
    serve(lists)
    return lists


def open_(browser: FlaskClient, address: str) -> str:
    answer = browser.get(address, headers={"HX-Request": "true"} if address in PARTS else {})
    assert answer.status_code in (200, 302), answer.text
    return answer.text


def counts(lists: Lists) -> dict[str, int]:
    return {call: len(marks) for call, marks in lists.loaded.items()}


def missing(lists: Lists, calls: Iterable[str], page: str) -> list[str]:
    """Returns the marks of the rows that were loaded with these calls and are not on the page."""
    return [mark for call in calls for mark in lists.loaded[call] if mark not in page]


@pytest.mark.parametrize("address", SHOWN)
def test_a_screen_shows_every_row_that_it_loads(lists: Lists, browser: FlaskClient, address: str) -> None:
    page = open_(browser, address)
    assert counts(lists) == SHOWN[address]
    assert missing(lists, SHOWN[address], page) == []


def test_the_next_posts_that_an_overview_full_of_failed_ones_leaves_to_its_part_are_there(
    lists: Lists, browser: FlaskClient
) -> None:
    """Both come with one call, because a plan may permit ten a minute. The part has the next posts from the first."""
    lists.state_of = lambda number, _: "failed" if number < 9 else "queued"
    page = open_(browser, "/")
    loaded = lists.loaded["list_scheduled_posts"]
    assert len(missing(lists, ["list_scheduled_posts"], page)) == len(loaded) - 9
    assert 'hx-get="/overview/next"' in page


def screens() -> list[str]:
    """Returns the address of each screen, with `x` for each id in it."""
    found = {
        re.sub(r"<[^>]+>", "x", rule.rule)
        for rule in create_app(Config(api_url="", public_url="")).url_map.iter_rules()
        if "GET" in (rule.methods or ())
    }
    return sorted(found - {"/static/x", *(address.partition("?")[0] for address in SHOWN)})


@pytest.mark.parametrize("address", screens())
def test_no_other_screen_loads_a_list(lists: Lists, browser: FlaskClient, address: str) -> None:
    open_(browser, address + ("?session_id=x" if address == "/pages/linked" else ""))
    assert counts(lists) == {}
