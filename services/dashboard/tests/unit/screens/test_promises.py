"""What each screen promises: it says what is missing while its list is empty, and what a destructive button does."""

import dataclasses
import html
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import pytest
from e2e_kit.attacks.hostile_api import HostileApi
from flask.testing import FlaskClient

import dashboard
from posthaste import Posthaste

TEMPLATES = Path(dashboard.__file__).parent / "templates"
#: Screen → what a newcomer without brands and pages is told and offered.
NEWCOMER = {
    "/": ("Connect your first page", "Connect a page"),
    "/posts": ("No page is connected yet.", "Connect a page"),
    "/posts?tab=attention": ("No page is connected yet.", "Connect a page"),
    "/posts?tab=published": ("No page is connected yet.", "Connect a page"),
    "/posts?tab=cancelled": ("No page is connected yet.", "Connect a page"),
    "/calendar": ("No page is connected yet.", "Connect a page"),
    "/calendar?view=list": ("No page is connected yet.", "Connect a page"),
    "/compose": ("No page is connected yet.", "Connect a page"),
    "/comments": ("Comments on your posts appear here.", "Connect a page"),
    "/library": ("No files yet.", "Upload files"),
    "/pages": ("A page belongs to a brand, and you have none yet.", "Create a brand"),
    "/brands": ("A brand groups pages and the people who work on them.", "Create brand"),
    "/developers": ("No tokens yet.", "No webhooks yet.", "Create token", "Add webhook"),
    "/developers/requests": ("No API requests yet.",),
    "/usage/credits": ("Nothing has changed the credits yet.",),
    "/activity/audit": ("Nothing yet.",),
}
#: Screen → what somebody who has pages is told and offered while there is nothing else.
BEGINNER = {
    "/": ("Nothing is scheduled.", "Write a post"),
    "/posts": ("Nothing is scheduled.", "Write a post"),
    "/posts?tab=attention": ("Nothing failed, and nothing is held.",),
    "/posts?tab=published": ("Nothing was published yet.", "Write a post"),
    "/posts?tab=cancelled": ("Nothing was cancelled.",),
    "/posts?search=rye": ("No posts here with “rye” in their text.", "Show all"),
    "/calendar": ("No posts in this month.",),
    "/calendar?view=week": ("No posts in this week.",),
    "/calendar?view=day": ("No posts on this day.", "New post"),
    "/calendar?state=failed": ("No posts for this choice in this month.",),
    "/comments": ("No post is out yet.", "Write a post"),
    "/comments/of/x": ("No comments.",),
    "/library?search=rye": ("No files here for this choice.", "Show all"),
    "/developers/requests?errors=yes": ("No request matches.",),
    "/developers/webhooks/x": ("No deliveries",),
}
#: Template with a destructive button → the screen, the number that chooses the states of what it shows, and what is
#: said beside the button.
DANGERS = {
    "account.html": ("/account", 0, "Every browser is signed out, this one too."),
    "brand.html": ("/brands/x", 0, "Removing ends their access and that of their tokens at once"),
    "codes.html": ("/account/codes", 1, "Signing in asks for your password and for a code"),
    "developers.html": ("/developers", 0, "this token stops working at once."),
    "media.html": ("/library", 0, "A deleted file cannot be brought back."),
    "media_file.html": ("/library/x", 0, "It cannot be"),
    "pages.html": ("/pages", 0, "To unlink it, Posthaste forgets its access."),
    "post.html": ("/posts/x", 0, "It will not go out."),
    "webhook.html": ("/developers/webhooks/x", 0, "the deliveries above are deleted."),
}
#: Screen, and the number that chooses the states of what it shows → what it tells of them.
TOLD = {
    ("/posts/x", 0): ("Attempts", "took", "No answer yet.", "Engagement"),
    ("/posts/x", 2): ("Attempted",),
    ("/developers", 0): ("API reference", "Last used", "3 requests", "Only from"),
    ("/developers", 1): ("Show", "it only reads, works for 100 requests in all, and publishes nothing"),
    ("/usage", 0): ("credits left", "These counts reset on"),
}


class Api(HostileApi):
    """Stands in for the Python client. Its lists are empty if `is_empty`, except those of pages and brands if
    `has_pages`.
    """

    def __init__(self) -> None:
        super().__init__({})
        self.text = "Rye"
        self.is_empty = False
        self.has_pages = True

    def __getattr__(self, name: str) -> Any:
        answer = super().__getattr__(name)
        if not self.is_empty or not name.startswith(("list_", "iterate_")):
            return answer
        if name.startswith("iterate_"):
            return answer if self.has_pages else lambda *_, **__: []
        fields = get_type_hints(get_type_hints(getattr(Posthaste, name))["return"])
        nothing: dict[str, Any] = {field: [] for field, kind in fields.items() if get_origin(kind) is list}
        if "next_cursor" in fields:
            nothing["next_cursor"] = None
        return lambda *_, **__: dataclasses.replace(answer(), **nothing)

    def _made(self, kind: Any, field: str, depth: int) -> Any:
        if field == "revoked_at":  # of a token: it works
            return None
        if field == "expires_at":
            return datetime.now(UTC) + timedelta(days=1)
        return super()._made(kind, field, depth)


@pytest.fixture
def served(serve: Callable[[HostileApi], None]) -> Api:
    served = Api()
    serve(served)
    return served


def shown(browser: FlaskClient, address: str) -> str:
    """Returns the text of a screen."""
    answer = browser.get(address)
    assert answer.status_code == 200, answer.text
    text = re.sub(r"</?(span|code|strong)\b[^>]*>", "", answer.text.partition("<main")[2])
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


@pytest.mark.parametrize("address", NEWCOMER)
def test_a_newcomer_is_told_what_is_missing_and_what_to_do(
    served: Api, browser: FlaskClient, address: str
) -> None:
    served.is_empty, served.has_pages = True, False
    text = shown(browser, address)
    assert [it for it in NEWCOMER[address] if it not in text] == []


@pytest.mark.parametrize("address", BEGINNER)
def test_an_empty_list_says_so(served: Api, browser: FlaskClient, address: str) -> None:
    served.is_empty = True
    text = shown(browser, address)
    assert [it for it in BEGINNER[address] if it not in text] == []


def test_every_template_with_a_destructive_button_is_in_the_table() -> None:
    found = {it.name for it in TEMPLATES.glob("*.html") if 'class="bad"' in it.read_text()}
    assert found == DANGERS.keys()


@pytest.mark.parametrize("template", DANGERS)
def test_a_destructive_button_says_what_it_will_do(served: Api, browser: FlaskClient, template: str) -> None:
    address, served.turn, said = DANGERS[template]
    assert said in shown(browser, address)


@pytest.mark.parametrize(("address", "turn"), TOLD)
def test_a_screen_tells_what_there_is(served: Api, browser: FlaskClient, address: str, turn: int) -> None:
    served.turn = turn
    text = shown(browser, address)
    assert [it for it in TOLD[address, turn] if it not in text] == []


def test_a_post_that_is_out_links_to_where_it_is_live(served: Api, browser: FlaskClient) -> None:
    assert re.search(
        r'<a href="[^"]+" rel="noopener noreferrer">Open the post</a>', browser.get("/posts/x").text
    )
