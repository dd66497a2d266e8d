"""Makes docs/screenshots: `SCREENSHOTS=1 ./dev test tests/e2e/dashboard/test_screenshots.py`. Without SCREENSHOTS,
does nothing.

Takes each screen of an account with some posts by day, by night and on a phone; and some screens that are empty, wait
for something or report a failure.
"""

import datetime as dt
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
from e2e_kit.api import Api
from e2e_kit.chromium import Chromium
from e2e_kit.files import uploaded
from e2e_kit.operator import Accounts, Operator
from e2e_kit.posting import schedule
from e2e_kit.receiver import Answer, Receiver
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until
from PIL import Image

from local.paths import ROOT

pytestmark = pytest.mark.skipif(
    "SCREENSHOTS" not in os.environ, reason="makes pictures for the docs: SCREENSHOTS=1"
)
PASSWORD = "the owner's own"
FOLDER = ROOT / "docs" / "screenshots"
#: How many parts of the page htmx has still to load, and how many pictures in the window.
UNLOADED = """
const parts = document.querySelectorAll('[hx-trigger=load], .threads:not(:has(.conversations))');
const isSeen = it => it.getBoundingClientRect().top < innerHeight;
return parts.length + [...document.images].filter(it => isSeen(it) && !it.complete).length;
"""
#: Name → width, scheme.
LOOKS = {"light": (1280, "light"), "dark": (1280, "dark"), "phone": (360, "light")}
ZONE = ZoneInfo("Europe/Berlin")
#: Surnames of Ada, one for each test: no two accounts have the same address.
SURNAMES = iter(("baker", "miller", "reed"))
PAGES = {"FB": "Corner Bakery Berlin", "IG": "Corner Bakery Berlin", "TW": "Corner Bakery"}
#: Platform, days from today, hour in Berlin, text. The first post fails.
TEXTS = (
    ("TW", 1, 17, "Tonight: the last mulled wine of the week at the market."),
    ("FB", 1, 8, "Fresh sourdough is out of the oven. Come by before noon, it never lasts longer."),
    ("IG", 2, 9, "Good morning! Today we bake rye bread with caraway."),
    ("FB", 3, 18, "Save the date: an Advent evening with carols, cinnamon buns and a very tired baker."),
    ("TW", 4, 12, "We are looking for somebody who likes bread and early mornings."),
    ("FB", 6, 8, "Second batch of stollen: sliced while you watch."),
    ("IG", 8, 10, "Our oven turns a hundred. It still runs hot on the left."),
    ("FB", 10, 9, "Orders for Christmas are open, until the oven is full."),
    ("TW", 12, 12, "Twelve kinds of cookies. We counted by eating."),
    ("FB", 15, 16, "A year in numbers: 61,000 rolls, nine bakers, no alarm slept through."),
)
COMMENTS = (
    ("Vera Visitor", "Do you still have the rye with caraway?"),
    ("Tom Baker", "The best cinnamon buns in town. When do you open on Sundays?"),
)


@pytest.fixture
def stranger(stranger: Any, accounts: Accounts) -> Any:
    """Ada of the Corner Bakery, not signed in. Her account and pages have names that are fit for pictures."""
    account = accounts.new(pages=(), email=f"ada.{next(SURNAMES)}@corner-bakery.example")
    for platform, name in PAGES.items():
        account.pages[platform] = accounts.page(account.brand_id, platform, name)
    accounts.sign_in(account, PASSWORD)
    stranger.account = account
    return stranger


@pytest.fixture
def person(stranger: Any) -> Any:
    """Ada, signed in on this browser alone. She reads times as people in Berlin do."""
    stranger.open("/")
    stranger.sign_in()
    session = Api(stranger.account.api.base_url, stranger.window.cookies()["posthaste_session"])
    for other in session.get("/auth/sessions")["sessions"]:
        if not other["current"]:
            session.delete(f"/auth/sessions/{other['id']}")
    session.patch("/account", {"timezone": "Europe/Berlin"})
    session.patch(f"/tokens/{stranger.account.token_id}", {"name": "Shop website"})
    stranger.open("/account")
    return stranger


@pytest.fixture
def filled(
    person: Any, simulator: Simulator, operator: Operator, photo: str, jpeg: bytes, png: bytes, mp4: bytes
) -> Any:
    """A person with published, scheduled and failed posts."""
    api, today = person.account.api, dt.datetime.now(ZONE).replace(minute=0, second=0, microsecond=0)
    media = {"media_urls": [photo]}
    post = {"page_id": person.account.page_id("FB"), "message": "We are open.", **media}
    out = api.post("/posts/publish", post)["platform_post_id"]
    for visitor, text in COMMENTS:
        simulator.comment("FB", out, text, visitor)
    for sample, name, kind in (
        (jpeg, "Bread.jpg", "image/jpeg"), (png, "Shop window.png", "image/png"), (mp4, "The oven.mp4", "video/mp4"),
    ):  # fmt: skip
        uploaded(api, sample, name, kind)
    for platform, days, hour, text in TEXTS:
        at = (today + dt.timedelta(days=days)).replace(hour=hour)
        body = {"page_id": person.account.page_id(platform), "message": text, "scheduled_at": at.isoformat()}
        made = api.post("/posts/schedule", body | (media if platform == "IG" else {}))
        person.post_id = person.post_id or made["scheduled_post"]["id"]
    bread = next(it["media_id"] for it in api.get("/media")["media"] if it["filename"] == "Bread.jpg")
    for days in (1, 2):
        at = (today + dt.timedelta(days=days)).replace(hour=9)
        body = {"page_id": person.account.page_id("FB"), "media_ids": [bread], "scheduled_at": at.isoformat()}
        api.post("/posts/schedule", body | {"message": "Bread of the day, as long as there is some."})
    simulator.fault("reject", person.account.pages["TW"], operation="publish")
    operator("post", "due", person.post_id, "--reason", "You asked us by email to send it early.")
    until(lambda: api.get(f"/posts/{person.post_id}")["post"]["status"] == "failed", 30, "one fails")
    return person


def write_a_post(person: Any) -> None:
    """Fills in the composer so that it shows findings."""
    window = person.window
    for platform in ("FB", "IG"):
        window.click(f"input[name=page_id][value={person.account.page_id(platform)}]")
    # On a phone the bar with the buttons would lie on it.
    window.run("document.querySelector('input[value=later]').scrollIntoView({block: 'center'})")
    window.click("input[name=when][value=later]")
    window.type("#message", "Gingerbread is back. Ask for the broken ones, they are half the price.")
    until(lambda: window.has("#findings .good") and window.has("#findings .bad"), 20, "there are findings")


def send_password(person: Any) -> None:
    """Sends the password form: leads to the QR code of an app, or to the page of a used-up link."""
    person.window.type("#password", PASSWORD)
    person.window.press("main form button")


def ask_for_another_address(person: Any) -> None:
    """Asks for another e-mail address, which waits to be confirmed."""
    person.window.type("#email", "ada@corner-bakery.example")
    person.window.type("#email-password", PASSWORD)
    person.window.press("[aria-labelledby=another] form button")


def begin_a_film(person: Any) -> None:
    """Asks AI for a film, which takes a while."""
    window = person.window
    window.run("[...document.querySelectorAll('summary')].find(it => it.innerText.includes('AI')).click()")
    until(lambda: window.has("#ai_film"), 20, "the form is there")
    window.run("document.querySelector('#ai_film').closest('details').open = true")
    window.type("#ai_film", "A baker lifts a loaf out of the oven, at dawn")
    window.run("const it = document.querySelector('button[hx-post$=film]'); it.scrollIntoView(); it.click()")
    until(lambda: "is being created" in window.text(".ai"), 20, "it is being made")


def write(person: Any) -> None:
    """Writes a post in a new form."""
    person.window.run("sessionStorage.clear()")
    person.open("/compose")
    write_a_post(person)


def begin_linking(person: Any) -> None:
    """Begins to connect a page of LinkedIn, up to the link to its login."""
    person.window.click("#connect summary")
    person.window.press("#connect button[value=LN]")


def choose_accounts(person: Any) -> None:
    """Signs in at LinkedIn, and comes back to the choice of accounts."""
    window = person.window
    begin_linking(person)
    window.press("main a.primary")
    window.run(f"document.cookie = 'sim_person={person.of_linkedin}; path=/'")
    window.press("a")
    window.press("button[name=sim_allow]")
    window.press("button[value=give]")
    until(lambda: "/pages/linked?" in window.url, 20, "the login leads back")


def make_token(person: Any) -> None:
    """Makes a token, whose secret is shown once."""
    window = person.window
    window.click("[aria-labelledby=tokens] .make summary")
    window.type("#token-name", "Newsletter")
    window.click("input[name=scope][value='read:posts']")
    window.press("form[action$='/tokens'] button")


def send(person: Any) -> None:
    """Sends a post to two pages, of which one refuses it."""
    window = person.window
    window.run("sessionStorage.clear()")
    person.open("/compose")
    for platform in ("FB", "IG"):
        window.click(f"input[name=page_id][value={person.account.page_id(platform)}]")
    window.type("#message", f"Rolls are out of the oven, tray number {secrets.randbelow(900) + 100}.")
    until(lambda: window.has("#ready button"), 20, "one page is ready")
    window.press("#ready button")


#: Screen → what a person does there first.
DONE_FIRST: dict[str, Callable[[Any], None]] = {
    "composer": write,
    "composer-film": begin_a_film,
    "codes": send_password,
    "email": ask_for_another_address,
    "connect": begin_linking,
    "choose-accounts": choose_accounts,
    "secret": make_token,
    "sent": send,
    "link-ended": send_password,
}
#: Screen that waits or fails → what its picture shows, where others are photographed once they are complete.
SHOWN_STATE = {
    "comments-loading": ".threads .with-script",
    "comments-failed": ".threads .note",
    "posts-away": "h1",
}


def await_screen(window: Chromium, name: str) -> None:
    if name in SHOWN_STATE:
        until(lambda: window.has(SHOWN_STATE[name]), 90, "the state is shown")
    else:
        until(lambda: window.run(UNLOADED) == 0, 20, "the page is complete")


def photograph(person: Any, screens: dict[str, str], made: Path) -> None:
    """Saves a picture of each screen by day, by night and as on a phone."""
    window = person.window
    for look, (width, scheme) in LOOKS.items():
        for name, path in screens.items():
            window.emulate_phone(width, 800, scheme)
            person.open(path)
            if name in DONE_FIRST:
                DONE_FIRST[name](person)
            await_screen(window, name)
            window.write_dates_in("en-GB")  # as the dates of the page are
            window.run("document.documentElement.style.scrollbarWidth = 'none'; scrollTo(0, 0)")
            height = window.run("return document.documentElement.scrollHeight")
            window.emulate_phone(width, min(height, 5000), scheme)
            window.keep_picture(made)
            with Image.open(made) as picture:
                half = (picture.width // 2, picture.height // 2)
                small = picture.convert("RGB").resize(half, Image.Resampling.LANCZOS)
                small.save(FOLDER / f"{name}-{look}.webp", quality=80, method=6)
    window.emulate_phone(0, 0, "")


def test_each_screen_is_photographed(
    filled: Any, accounts: Accounts, operator: Operator, tmp_path: Path
) -> None:
    person, window, made = filled, filled.window, tmp_path / "made.png"
    api = person.account.api
    file = next(it for it in api.get("/media")["media"] if it["filename"] == "Bread.jpg")
    request_id = next(it for it in api.get("/logs")["entries"] if it["path"] == "/posts/publish")[
        "request_id"
    ]
    with Receiver() as receiver:
        hook = {"name": "The till", "url": receiver.url("/till"), "events": ["post.published", "post.failed"]}
        hook_id = api.post("/webhooks", hook)["id"]
        for status in (204, 500):
            receiver.answers("/till", Answer(status, b"" if status == 204 else b"out of paper"))
            api.post(f"/webhooks/{hook_id}/test", status=202)
            receiver.await_arrivals("/till", 1 if status == 204 else 2)
    owner = accounts.new(pages=(), firstname="Kim", email="kim@harbour-coffee.example")
    owner.brand_id = accounts.brand(owner.user_id, "Harbour Coffee")["id"]
    owner.pages["FB"] = accounts.page(owner.brand_id, "FB", "Harbour Coffee")
    schedule(owner, message="Chestnuts, hot, from six o'clock on.")
    guest = ("collaborator", "add", "--user", person.account.user_id, "--role", "limited", "--brand")
    operator(*guest, owner.brand_id)
    operator(*guest, accounts.brand(owner.user_id, "Night Market")["id"])
    FOLDER.mkdir(exist_ok=True)
    screens = {
        "overview": "/",
        "posts": "/posts",
        "post": f"/posts/{person.post_id}",
        "calendar": "/calendar",
        "calendar-week": "/calendar?view=week",
        "calendar-list": "/calendar?view=list",
        "composer": "/compose",
        "composer-film": "/compose",
        "comments": "/comments",
        "ai": "/compose/ai",
        "library": "/library",
        "file": f"/library/{file['media_id']}",
        "usage": "/usage",
        "requests": "/developers/requests",
        "audit": "/activity/audit",
        "credits": "/usage/credits",
        "request": f"/developers/requests/{request_id}",
        "pages": "/pages",
        "brand": f"/brands/{person.account.brand_id}",
        "brands": "/brands",
        "developers": "/developers",
        "webhook": f"/developers/webhooks/{hook_id}",
        "account": "/account",
        "codes": "/account/codes",
        "email": "/account/email",
    }
    photograph(person, screens, made)
    person.open("/brands")
    window.press("button[aria-label='Open Harbour Coffee']")
    photograph(person, {"shared-overview": "/", "shared-brand": f"/brands/{owner.brand_id}"}, made)
    window.forget()
    photograph(person, {"sign-in": "/sign-in", "sign-up": "/sign-up"}, made)


def test_screens_that_are_seldom_seen_are_photographed(
    filled: Any, accounts: Accounts, operator: Operator, simulator: Simulator, tmp_path: Path
) -> None:
    person, window, made = filled, filled.window, tmp_path / "made.png"
    api, brand_id = person.account.api, person.account.brand_id
    person.of_linkedin = simulator.person("LN", name="Sam Baker")["person_id"]
    lost = accounts.token(person.account.user_id)
    at = (dt.datetime.now(ZONE) + dt.timedelta(days=2)).replace(hour=15, minute=0, second=0, microsecond=0)
    body = {
        "page_id": person.account.page_id("FB"),
        "message": "Rye at half price after six.",
        "scheduled_at": at.isoformat(),
    }
    held = accounts.client(lost["api_token"]).post("/posts/schedule", body)["scheduled_post"]["id"]
    operator("token", "revoke", lost["token"]["id"])
    until(lambda: api.get(f"/posts/{held}")["post"]["status"] == "held", 30, "it is held")
    with Receiver() as receiver:
        receiver.answers("/till", Answer(410, b"moved out"))
        hook = {"name": "The old till", "url": receiver.url("/till"), "events": ["post.published"]}
        hook_id = api.post("/webhooks", hook)["id"]
        delivery_id = api.post(f"/webhooks/{hook_id}/test", status=202)["id"]
        until(lambda: api.get(f"/webhooks/{hook_id}")["status"] == "disabled", 30, "it is disabled")
    screens = {
        "calendar-day": f"/calendar?view=day&day={at.date()}",
        "move": f"/calendar/move/{api.get('/posts/scheduled')['scheduled_posts'][0]['id']}",
        "post-held": f"/posts/{held}",
        "webhook-disabled": f"/developers/webhooks/{hook_id}",
        "delivery": f"/developers/webhooks/{hook_id}/deliveries/{delivery_id}",
        "connect": "/pages",
        "choose-accounts": "/pages",
        "secret": "/developers",
        "sent": "/compose",
        "not-found": "/nothing-here",
    }
    photograph(person, screens, made)
    session = Api(api.base_url, window.cookies()["posthaste_session"])
    guest = "grace@corner-bakery.example"
    session.post(f"/brands/{brand_id}/invitations", {"email": guest, "role": "limited"})
    link = operator("collaborator", "invitation-link", "--brand", brand_id, "--email", guest)["link"]
    lena = {"email": "lena@corner-bakery.example", "password": PASSWORD}
    lena_id = accounts.client(None).post("/auth/signup", lena)["user"]["id"]
    to_verify = operator("user", "verification-link", lena_id)["link"]
    window.forget()
    visited = {
        "forgot": "/sign-in/forgot",
        "reset": "/reset/rst_1/code",
        "link-ended": "/reset/rst_1/code",
        "verify": urlsplit(to_verify).path,
        "invitation": urlsplit(link).path,
    }
    photograph(person, visited, made)


@pytest.mark.alone
def test_screens_are_photographed_empty_waiting_and_failing(
    filled: Any, accounts: Accounts, simulator: Simulator, stack: Stack, tmp_path: Path
) -> None:
    person, made = filled, tmp_path / "made.png"
    page = person.account.pages["FB"]
    simulator.fault("slow", page, operation="comments", times=len(LOOKS), seconds=10.0)
    photograph(person, {"comments-loading": "/comments"}, made)
    simulator.clear_faults()
    simulator.fault("server_error", page, operation="comments", times=6 * len(LOOKS))
    photograph(person, {"comments-failed": "/comments"}, made)
    simulator.clear_faults()
    with stack.held_down("gateway"):
        photograph(person, {"posts-away": "/posts"}, made)
    stack.await_ready(60)
    person.account.email = "ada@night-market.example"
    session_token = accounts.without_brand(person.account.email, PASSWORD)
    accounts.client(session_token).patch("/account", {"timezone": "Europe/Berlin"})
    person.window.forget()
    person.open("/")
    person.sign_in()
    empty = {
        "overview-empty": "/",
        "calendar-empty": "/calendar",
        "pages-empty": "/pages",
        "brands-empty": "/brands",
        "developers-empty": "/developers",
        "requests-empty": "/developers/requests",
        "audit-empty": "/activity/audit",
        "posts-empty": "/posts",
        "comments-empty": "/comments",
        "library-empty": "/library",
    }
    photograph(person, empty, made)
