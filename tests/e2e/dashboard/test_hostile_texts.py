"""Enters two hundred hostile texts wherever a stranger can write: in posts, comments, the names of their authors,
names of brands, searches, and every other text that the API returns.

The dashboard shows each text as it is: no script runs, nothing is loaded from elsewhere, and no page is wider than its
window or cut off at its edge. With `FULL_SIZE=1` the page of every post is opened and each form is sent with every
text, otherwise the page of every eighth post and each form with a third of the texts.
"""

import datetime as dt
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
import requests
from e2e_kit.accessibility import cut_off
from e2e_kit.attacks.hostile_api import hostile_dashboard
from e2e_kit.attacks.texts import PAYLOADS
from e2e_kit.chromium import Chromium
from e2e_kit.operator import Accounts
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

WIDTH, WIDE_WIDTH = 360, 1280
EVERY = 1 if os.environ.get("FULL_SIZE") else 8
#: The forms, and the screens in a wide window, take turns: each has the texts of one round in so many.
EACH = 1 if os.environ.get("FULL_SIZE") else 3
#: Comments that one read of a post brings at most.
COMMENTS_EACH = 50
NEXT = "return document.querySelector('a[href*=\"after=\"]')?.getAttribute('href')"
#: What is wider than the window, with the beginning of its text.
WIDE = (
    "return [...document.querySelectorAll('main *')].filter(it => it.scrollWidth > innerWidth)"
    ".slice(-3).map(it => [it.outerHTML.slice(0, 90), escape(it.textContent.trim().slice(0, 30))])"
)
#: What the browser says of a text in a field for a date, which it then shows empty.
NO_DATE = "does not conform to the required format"
#: What is still being loaded.
LOADING = "[hx-trigger=load], .htmx-request"
#: Unfolds everything once all is loaded, and lets the browser show it, which runs what a text might have brought along.
UNFOLD = f"""
const done = arguments[arguments.length - 1];
const isLoaded = !document.querySelector("{LOADING}");
if (isLoaded) for (const it of document.querySelectorAll("details")) it.open = true;
requestAnimationFrame(() => requestAnimationFrame(() => done(isLoaded)));
"""
#: What matters of a page, once all is loaded: whether a script of a text ran, the address, and the widths.
SEEN = (
    f"return !document.querySelector('{LOADING}') && "
    "[window.ran === undefined, location.href, innerWidth, document.documentElement.scrollWidth]"
)
#: Hostile texts in one field at once: six rounds, so that each platform has one.
TOGETHER = 34
#: Every screen that shows a text which somebody else may have written.
SCREENS = (
    "/", "/posts", "/posts?tab=published", "/posts/x", "/compose", "/compose?copy=x", "/calendar",
    "/calendar?view=week", "/calendar?view=list", "/calendar/move/x", "/comments?state=all", "/comments/of/x",
    "/library", "/library/x", "/pages", "/pages/linked?session_id=x", "/brands", "/brands/x", "/developers",
    "/developers/webhooks/x", "/developers/webhooks/x/deliveries/x", "/usage", "/developers/requests",
    "/developers/requests/x", "/usage/credits", "/activity/audit", "/account", "/invitations/x/x",
)  # fmt: skip
#: Every form whose answer is a page of its own, with fields that it needs; `text` stands for hostile texts.
FORMS: tuple[tuple[str, dict[str, str]], ...] = (
    ("/compose", {"page_id": "x", "message": "text", "text_of_x": "text", "first_comment": "text", "do": "check"}),
    ("/compose", {"page_id": "x", "message": "text", "do": "send"}),
    ("/compose", {"page_id": "x", "message": "text", "when": "later", "date": "text", "time": "text", "zone": "text"}),
    ("/compose/edit", {"page_id": "x", "message": "text", "media_id": "x"}),
    ("/compose/ai/caption", {"ai_brand": "x", "ai_instruction": "text"}),
    ("/compose/ai/image", {"ai_brand": "x", "ai_prompt": "text"}),
    ("/compose/ai/film", {"ai_brand": "x", "ai_film": "text"}),
    ("/posts/x/edit", {"message": "text", "date": "2099-01-01", "time": "12:00", "zone": "UTC"}),
    ("/posts/x/edit", {"message": "text", "date": "text", "time": "text", "zone": "text"}),
    ("/calendar/move", {"post_id": "x", "date": "2099-01-01", "time": "12:00", "zone": "UTC"}),
    ("/comments/of/x/reply", {"comment_id": "x", "page_id": "x", "message": "text"}),
    ("/pages/connect", {"platform": "FB", "brand_id": "x"}),
    ("/pages/x/check", {}),
    ("/pages/linked/x", {}),
    ("/brands/x", {"name": "text", "zone": "UTC", "was_name": "text", "was_zone": "UTC"}),
    ("/developers/tokens", {"name": "text", "scope": "read:posts"}),
    ("/developers/tokens/x/rotate", {}),
    ("/developers/sandbox-token", {}),
    ("/developers/webhooks", {"name": "text", "url": "text", "event": "post.failed"}),
    ("/developers/webhooks/x/rotate", {}),
    ("/account/codes/begin", {"password": "text"}),
    ("/account/codes/confirm", {"code": "1"}),
    ("/library/delete", {"media_id": "x"}),
)  # fmt: skip


@dataclass(frozen=True)
class Visitor:
    """A browser in front of a dashboard."""

    window: Chromium
    url: str

    def open(self, path: str) -> None:
        self.window.open(self.url + path)


@pytest.fixture
def phone(person: Any) -> Iterator[Any]:
    person.window.emulate_phone(WIDTH, 740, "light")
    person.window.logged()
    yield person
    person.window.emulate_phone(0, 0, "")


def look(person: Any, path: str) -> None:
    """Opens a page and everything that can be unfolded on it. Asserts that no script of a text ran, and that the
    page is not wider than the window and not cut off at its edge.
    """
    person.open(path)
    look_at(person, path)
    assert (path, cut_off(person.window)) == (path, [])


def look_at(person: Any, path: str, *widths: int) -> None:
    """Unfolds the present page and asserts the same but for its edge, in windows of these widths too.

    The fake API puts a text of two thousand characters also where the real one has a word of ours, such as a role.
    """
    window = person.window
    until(lambda: window.run_async(UNFOLD), 20, f"{path} is complete")
    for width in (WIDTH, *widths):
        if widths:
            window.resize(width, 740)
        is_clean, url, shown, needed = until(lambda: window.run(SEEN), 20, f"{path} is unfolded")
        assert is_clean, path
        assert url.startswith(person.url), path
        assert needed <= width, (path, window.run(WIDE))
        assert shown == width, path
    if widths:
        window.resize(WIDTH, 740)


def assert_nothing_was_refused(person: Any) -> None:
    """Asserts that the browser's content security policy had nothing to refuse, because no text became markup."""
    logged = [it for it in person.window.logged() if NO_DATE not in it]
    assert [it for it in logged if "Content Security Policy" in it or "evil.test" in it] == []


def test_there_are_two_hundred_of_them() -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS) == 200


def test_texts_of_posts_are_shown_as_they_are(phone: Any) -> None:
    first = dt.datetime.now(dt.UTC).replace(microsecond=0) + dt.timedelta(hours=6)
    made = {}
    # Two in a post, because an account may ask only so often in a minute.
    half = len(PAYLOADS) // 2
    for number, text in enumerate(map("\n".join, zip(PAYLOADS[:half], PAYLOADS[half:], strict=True))):
        body = {
            "page_id": phone.account.page_id(),
            "message": text,
            "scheduled_at": (first + dt.timedelta(hours=16 * number)).isoformat(),
        }
        made[phone.account.api.post("/posts/schedule", body)["scheduled_post"]["id"]] = text
    path, lists = "/posts", 0
    while path:
        look(phone, path)
        path, lists = phone.window.run(NEXT), lists + 1
    assert lists > 1
    for month in {(first + dt.timedelta(days=days)).strftime("%Y-%m") for days in (0, 31, 60)}:
        look(phone, f"/calendar?month={month}")
    look(phone, "/")
    for post_id, text in list(made.items())[::EVERY]:
        look(phone, f"/posts/{post_id}")
        assert phone.window.run("return document.querySelector('.text').textContent") == text
        look(phone, f"/compose?copy={post_id}")
    assert_nothing_was_refused(phone)


def test_comments_of_visitors_are_shown_as_they_are(phone: Any, simulator: Simulator) -> None:
    api, page_id = phone.account.api, phone.account.page_id("FB")
    for start in range(0, len(PAYLOADS), COMMENTS_EACH):
        post = api.post("/posts/publish", {"page_id": page_id, "message": f"Open from {start}"})
        for text in PAYLOADS[start : start + COMMENTS_EACH]:
            simulator.comment("FB", post["platform_post_id"], text, visitor=text[:60])
        look(phone, f"/comments/of/{post['post_id']}")
        shown = phone.window.run("return [...document.querySelectorAll('.said')].map(it => it.textContent)")
        assert sorted(shown) == sorted(PAYLOADS[start : start + COMMENTS_EACH])
    look(phone, "/comments")
    assert_nothing_was_refused(phone)


def test_names_of_brands_are_shown_as_they_are(phone: Any, accounts: Accounts) -> None:
    account = phone.account
    manager = accounts.client(accounts.token(account.user_id, "*,manage:*")["api_token"])
    names = [text for text in PAYLOADS if len(text) <= 60 and text == text.strip() and text.isprintable()][
        ::12
    ]
    assert len(names) >= 8
    for name in names:
        manager.patch(f"/brands/{account.brand_id}", {"name": name})
        look(phone, f"/brands/{account.brand_id}")
        look(phone, "/compose")
        look(phone, "/brands")
        assert name in phone.window.run("return document.body.textContent")
    assert_nothing_was_refused(phone)


def test_words_that_are_searched_for_are_shown_as_they_are(phone: Any) -> None:
    for text in PAYLOADS[::EVERY]:
        look(phone, f"/posts?search={quote(text[:100])}")
        look(phone, f"/developers/requests?request_id={quote(text[:100])}")
    assert_nothing_was_refused(phone)


def begin_a_linking(visitor: Visitor) -> None:
    """Begins to link a page in this browser, because only this browser may then see the platform's answer."""
    visitor.open("/account")
    status = visitor.window.run_async(
        "const done = arguments[arguments.length - 1];"
        "const token = document.querySelector('[name=form_token]').value;"
        "const form = new URLSearchParams({form_token: token, platform: 'FB', brand_id: 'x'});"
        "fetch('/pages/connect', {method: 'POST', body: form}).then((it) => done(it.status), (it) => done(String(it)))"
    )
    assert status == 200


def test_whatever_the_api_answers_with_is_shown_as_it_is(window: Chromium, stack: Stack) -> None:
    description = requests.get(f"{stack.base_url}/openapi.json", timeout=30).json()
    with hostile_dashboard(description) as (url, hostile):
        visitor = Visitor(window, url)
        window.emulate_phone(WIDTH, 740, "light")
        visitor.open("/sign-in")
        window.run("document.cookie = 'posthaste_session=x; path=/'")
        hostile.text = PAYLOADS[0]
        begin_a_linking(visitor)
        window.logged()
        for turn, start in enumerate(range(0, len(PAYLOADS), TOGETHER)):
            hostile.text, hostile.turn = " ".join(PAYLOADS[start : start + TOGETHER]), turn
            for number, screen in enumerate(SCREENS):
                visitor.open(screen)
                look_at(visitor, screen, *(() if (turn + number) % EACH else (WIDE_WIDTH,)))
            for path, fields in FORMS[turn % EACH :: EACH]:
                if not window.has("[name=form_token]"):  # some answers have no form
                    visitor.open("/account")
                window.send(
                    path, **{name: hostile.text if it == "text" else it for name, it in fields.items()}
                )
                look_at(visitor, f"{turn} {path}", WIDE_WIDTH)
        assert_nothing_was_refused(visitor)
    window.emulate_phone(0, 0, "")
