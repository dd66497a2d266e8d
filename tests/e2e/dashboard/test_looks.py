"""How the screens look by day and by night: axe-core finds nothing, no page is wider than its window, and nothing is
loaded from elsewhere.
"""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from e2e_kit.accessibility import cut_off, flaws
from e2e_kit.receiver import Receiver, await_delivery
from e2e_kit.waiting import until

SCREENS = (
    "/",
    "/posts",
    "/posts?tab=published",
    "/posts?tab=attention",
    "/posts?tab=cancelled",
    "/posts/{post}",
    "/compose",
    "/compose/ai",
    "/comments",
    "/library",
    "/usage",
    "/usage/credits",
    "/developers/requests",
    "/activity/audit",
    "/pages",
    "/developers",
    "/calendar",
    "/calendar?view=week",
    "/calendar?view=day",
    "/calendar?view=list",
    "/calendar/move/{post}",
    "/brands",
    "/brands/{brand}",
    "/account",
    "/account/email",
    "/account/codes",
    "/none",
)

#: Opens everything that can be unfolded.
OPENED = "for (const it of document.querySelectorAll('details')) it.open = true"

#: Buttons and headings that do not show all of their text.
CUT = (
    "return [...document.querySelectorAll('main button, main .button, main h1, main h2, main label')]"
    ".filter(it => it.checkVisibility() && getComputedStyle(it).display !== 'inline')"
    ".filter(it => it.scrollWidth > it.clientWidth + 1).map(it => it.outerHTML.slice(0, 90))"
)


@pytest.fixture
def full(person: Any) -> Iterator[Any]:
    """A person with a published post and a scheduled one."""
    api, page = person.account.api, person.account.page_id()
    at = (dt.datetime.now(dt.UTC) + dt.timedelta(hours=5)).isoformat()
    api.post("/posts/publish", {"page_id": page, "message": "Out"})
    body = {"page_id": page, "message": "Rye bread today", "scheduled_at": at}
    person.post_id = api.post("/posts/schedule", body)["scheduled_post"]["id"]
    yield person
    person.window.set_text_size(16)
    person.window.emulate_phone(0, 0, "")


def settle(window: Any) -> None:
    """Waits until htmx has loaded the later parts of the page."""
    script = "return document.querySelectorAll('[hx-trigger=load]').length"
    until(lambda: window.run(script) == 0, 20, "the page is complete")


def test_no_screen_breaks_a_rule_of_accessibility_or_is_wider_than_its_window(full: Any) -> None:
    found = {}
    for screen in SCREENS:
        full.open(screen.format(post=full.post_id, brand=full.account.brand_id))
        settle(full.window)
        full.window.run(OPENED)
        if broken := flaws(full.window):
            found[screen] = broken
    assert found == {}


def test_nor_does_a_form_with_findings(full: Any) -> None:
    window = full.window
    window.emulate_phone(1280, 800, "light")
    full.open("/compose")
    window.run(OPENED)
    for platform in ("FB", "IG"):
        window.click(f"input[name=page_id][value={full.account.page_id(platform)}]")
    window.click("input[name=when][value=later]")
    window.type("#message", "Hello")
    until(lambda: window.has("#findings .good") and window.has("#findings .bad"), 20, "there are findings")
    assert flaws(window) == []


def test_nor_does_the_form_of_a_stranger(stranger: Any) -> None:
    for path in (
        "/sign-in",
        "/sign-in/forgot",
        "/sign-up",
        "/reset/a/b",
        "/verify/a/b",
        "/email/a/b",
        "/invitations/a/b",
    ):
        stranger.open(path)
        assert flaws(stranger.window) == []


def test_nor_does_what_a_stranger_is_told_of_a_link_or_of_a_form_that_is_too_old(stranger: Any) -> None:
    window = stranger.window
    for path in ("/verify/usr_x/x", "/reset/rst_x/x"):
        stranger.open(path)
        if window.has("#password"):
            window.type("#password", "a sentence nobody guesses")
            window.press("form button")
        assert window.text("h1") == "This link does not work"
        assert flaws(window) == []
    stranger.open("/sign-in")
    window.run("document.querySelector('[name=form_token]').value = 'x'")
    stranger.sign_in()
    assert window.text("h1") == "This form is too old"
    assert flaws(window) == []


def test_a_page_loads_nothing_from_elsewhere_and_breaks_no_policy(full: Any) -> None:
    window = full.window
    for screen in SCREENS:
        full.open(screen.format(post=full.post_id, brand=full.account.brand_id))
        settle(window)
        loaded = window.run("return performance.getEntriesByType('resource').map(it => it.name)")
        assert [it for it in loaded if not it.startswith(full.url)] == []
    assert [it for it in window.logged() if "Content Security Policy" in it] == []


def test_nor_do_the_screens_of_a_webhook_and_of_what_was_sent(full: Any, receiver: Receiver) -> None:
    window, found = full.window, {}

    def look(name: str) -> None:
        window.run(OPENED)
        if broken := flaws(window):
            found[name] = broken

    hook = {"name": "The till", "url": receiver.url("/till"), "events": ["post.published"]}
    hook_id = full.account.api.post("/webhooks", hook)["id"]
    full.account.api.post(f"/webhooks/{hook_id}/test", status=202)
    await_delivery(full.account, hook_id, status="delivered")
    full.open(f"/developers/webhooks/{hook_id}")
    look("webhook")
    window.press("[aria-labelledby=deliveries] .row a")
    look("delivery")
    full.open(f"/developers/webhooks/{hook_id}")
    window.run(OPENED)
    window.press("form[action$=rotate] button")
    look("secret")
    full.open("/compose")
    window.click(f"input[name=page_id][value={full.account.page_id('FB')}]")
    window.type("#message", "Hello")
    window.press("#send")
    assert window.text("h1") == "Published"
    look("sent")
    assert found == {}


@pytest.mark.parametrize(
    ("width", "text_size"), [(640, 16), (1280, 32), (640, 32)], ids=["zoomed", "larger text", "both"]
)
def test_nothing_is_cut_off_or_wider_than_the_window_with_text_of_twice_the_size(
    full: Any, width: int, text_size: int
) -> None:
    """Uses a window of half the width (a browser gives that to a page which it enlarges to twice the size), a browser
    set to text of twice the size, and both together.
    """
    window, found = full.window, {}
    window.emulate_phone(width, 400, "light")
    window.set_text_size(text_size)
    for screen in SCREENS:
        full.open(screen.format(post=full.post_id, brand=full.account.brand_id))
        settle(window)
        window.run(OPENED)
        assert window.run("return getComputedStyle(document.documentElement).fontSize") == f"{text_size}px"
        if (wide := window.run("return document.documentElement.scrollWidth")) > width:
            found[screen] = wide
        if cut := window.run(CUT) + cut_off(window):
            found[screen, "cut"] = cut
    assert found == {}
