"""The whole way of one person in a real browser: from signing up to signing out on every device.

Three such journeys in a row take at most four minutes. Other tests cover each part; this one shows that each part
works with what the parts before it left.
"""

import datetime as dt
import json
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import requests
from e2e_kit.api import Api, Json
from e2e_kit.chromium import Chromium
from e2e_kit.mails import await_mail, await_url
from e2e_kit.operator import Operator
from e2e_kit.receiver import Receiver
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

from local.servers import mail

pytestmark = pytest.mark.quiet

PASSWORD = "a sentence nobody guesses"
ZONE = "Europe/Berlin"
TAB, ENTER = "\ue004", "\ue007"
#: A third of what three in a row may take.
MOST_SECONDS = 80.0
#: The 10th of the next month at noon, and where its posts are moved to.
AT = (dt.datetime.now(ZoneInfo(ZONE)).replace(day=1) + dt.timedelta(days=32)).replace(
    day=10, hour=12, minute=0, second=0, microsecond=0
)
DRAGGED, TYPED = AT.replace(day=20), AT.replace(day=21, hour=18, minute=30)


@dataclass
class Traveller:
    """A person without an account, in front of a browser."""

    window: Chromium
    stack: Stack
    operator: Operator
    simulator: Simulator
    email: str
    #: Page → id of the post that was scheduled on it.
    posts: dict[str, str] = field(default_factory=dict)
    #: Platform → who logs in there.
    persons: dict[str, Json] = field(default_factory=dict)
    brand_id: str = ""
    user_id: str = ""

    def open(self, path: str) -> None:
        self.window.open(self.stack.env["DASHBOARD_URL"] + path)

    @property
    def api(self) -> Api:
        """Returns a client of the API with the browser's session, to see what is stored."""
        return Api(self.stack.base_url, self.window.cookies()["posthaste_session"])

    def shows(self, css: str, text: str) -> None:
        script = f"return document.querySelector({json.dumps(css)})?.innerText ?? ''"
        until(lambda: text in self.window.run(script), 60, f"{css} shows {text!r}")

    def post(self, post_id: str) -> Json:
        found: Json = self.api.get(f"/posts/{post_id}")["post"]
        return found

    def sign_in(self, email: str, password: str) -> None:
        self.window.type("#email", email)
        self.window.type("#password", password)
        self.window.press("form button")
        assert self.window.text("h1") == "Overview"


@pytest.fixture
def traveller(
    window: Chromium, stack: Stack, operator: Operator, simulator: Simulator
) -> Iterator[Traveller]:
    who = Traveller(window, stack, operator, simulator, f"{uuid.uuid4().hex}@example.test")
    who.open("/sign-in")
    window.forget()
    window.run("sessionStorage.clear()")
    window.emulate_phone(1280, 1000, "light")
    yield who
    window.emulate_phone(0, 0, "")


@pytest.mark.parametrize("turn", ["first", "second", "third"])
def test_from_sign_up_to_signing_out_everywhere(
    traveller: Traveller, receiver: Receiver, picture: Path, turn: str
) -> None:
    begun_at = time.monotonic()
    signs_up(traveller)
    makes_a_brand(traveller)
    connects(traveller, "FB", accounts=2)
    connects(traveller, "IG", accounts=1)
    writes_for_three_pages(traveller, picture)
    moves_two_posts(traveller)
    mends_a_failed_post(traveller)
    answers_a_comment(traveller)
    makes_a_token_for_curl(traveller)
    looks_after_a_webhook(traveller, receiver)
    invites_somebody_who_sees_no_more_than_the_brand(traveller)
    looks_at_the_usage(traveller)
    signs_out_everywhere(traveller)
    assert time.monotonic() - begun_at <= MOST_SECONDS, turn


def signs_up(who: Traveller) -> None:
    window = who.window
    who.open("/sign-up")
    for name, value in {"firstname": "Kim", "email": who.email, "password": PASSWORD}.items():
        window.type(f"#{name}", value)
    window.press("form button")
    assert f"A link is on its way to {who.email}" in window.text("main")
    window.open(await_url(who.stack, who.email))
    window.type("#password", PASSWORD)
    window.press("form button")
    assert window.text("h1") == "Overview"
    who.user_id = who.api.get("/me")["authenticated_as"]["user_id"]
    # The free plan's ten calls a minute are for looking around, not for a journey of four minutes.
    who.operator("user", "plan", who.user_id, "elite")


def makes_a_brand(who: Traveller) -> None:
    window = who.window
    who.open("/pages")
    window.press("main a.primary")
    window.type("#name", "Night Market")
    window.type("#zone", ZONE)
    window.press("#new form button")
    assert window.text("h1") == "Night Market"
    who.brand_id = window.url.rpartition("/")[2].partition("?")[0]


def connects(who: Traveller, platform: str, accounts: int) -> None:
    """Goes through the platform's login, allows everything, and takes every account that the platform offers."""
    window = who.window
    who.open("/pages")
    window.run("document.querySelector('#connect').open = true")
    window.press(f"#connect button[value={platform}]")
    who.persons[platform] = who.simulator.person(platform, accounts=accounts)
    at_the_platform(who, who.persons[platform])
    for box in range(window.run("return document.querySelectorAll('[name=account_id]').length")):
        if not window.run(f"return document.querySelectorAll('[name=account_id]')[{box}].checked"):
            window.click(f".choices label:nth-child({box + 1})")
    window.press("main form button")
    assert "You can post to it now" in window.text("[role=status]")


def at_the_platform(who: Traveller, person: Json) -> None:
    window = who.window
    window.press("main a.primary")
    window.run(f"document.cookie = 'sim_person={person['person_id']}; path=/'")
    window.press("a")
    window.press("button[name=sim_allow]")
    window.press("button[value=give]")
    until(lambda: "/pages/linked?" in window.url, 20, "the login leads back")


def writes_for_three_pages(who: Traveller, picture: Path) -> None:
    window = who.window
    pages = who.api.get("/pages")["pages"]
    assert sorted(it["platform"] for it in pages) == ["FB", "FB", "IG"]
    [instagram] = [it for it in pages if it["platform"] == "IG"]
    window.press("a.new")
    for page in pages:
        window.click(f"input[name=page_id][value={page['id']}]")
    window.type("#message", "Lanterns on Friday")
    window.click("main summary")
    window.type(f"#own-{instagram['id']}", "Lanterns, and soup")
    window.type("#files-input", str(picture))
    who.shows("#files", "bread.jpg")
    window.click("input[name=when][value=later]")
    window.fill_time("#date", AT)
    window.fill_time("#time", AT)
    until(lambda: window.run("return document.querySelectorAll('#findings .finding.good').length") == 3, 30,
          "each page is ready")  # fmt: skip
    window.press("#send")
    assert window.text("h1") == "Scheduled"
    made = who.api.get("/posts/scheduled")["scheduled_posts"]
    assert {it["scheduled_at"] for it in made} == {AT.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    assert sorted(it["message"] for it in made) == ["Lanterns on Friday"] * 2 + ["Lanterns, and soup"]
    who.posts = {it["page_id"]: it["id"] for it in made}


def moves_two_posts(who: Traveller) -> None:
    window = who.window
    first, second, _ = who.posts.values()
    who.open(f"/calendar?month={AT:%Y-%m}")
    window.drag(f"#slot-{first} .entry", f".day[data-day='{DRAGGED:%Y-%m-%d}']")
    who.shows("#told", f"{DRAGGED.day}")
    who.open(f"/calendar?month={AT:%Y-%m}")
    for _ in range(80):
        if window.run(f"return document.activeElement.matches('#slot-{second} a.move')"):
            break
        window.press_keys(TAB)
    window.press_keys(ENTER)
    until(lambda: window.has("#mover[open] #move-date"), 20, "the form is there")
    window.fill_time("#move-date", TYPED)
    window.fill_time("#move-time", TYPED)
    window.press_keys(ENTER)
    who.shows("#told", f"{TYPED:%H:%M}")
    for post_id, at in ((first, DRAGGED), (second, TYPED)):
        assert dt.datetime.fromisoformat(who.post(post_id)["scheduled_at"]) == at


def mends_a_failed_post(who: Traveller) -> None:
    """The page's credentials have become invalid, so its post fails. The person reconnects the page and tries again."""
    window = who.window
    pages = {it["id"]: it for it in who.api.get("/pages")["pages"]}
    page_id = next(it for it in who.posts if pages[it]["platform"] == "FB")
    who.operator("page", "expire", page_id)
    who.operator("post", "due", who.posts[page_id])
    until(lambda: who.post(who.posts[page_id])["status"] == "failed", 30, "the post fails")
    who.open("/")
    assert "The connection has ended" in window.text("[aria-labelledby=needs]")
    assert "Lanterns" in window.text("[aria-labelledby=needs]")
    window.press("[aria-labelledby=needs] form button")
    at_the_platform(who, who.persons["FB"])
    window.press("main form button")
    assert "You can post to it now" in window.text("[role=status]")
    who.open("/")
    assert window.text("[aria-labelledby=needs] form[action$=retry]") == "Try again"
    who.open(f"/posts/{who.posts[page_id]}")
    assert "Why it failed" in window.text("main")
    window.press("form[action$=retry] button")
    until(lambda: who.post(who.posts[page_id])["status"] == "published", 30, "it goes out")
    who.open("/")
    assert "Nothing failed, and every page is connected." in window.text("[aria-labelledby=needs]")


def answers_a_comment(who: Traveller) -> None:
    window = who.window
    [post] = who.api.get("/posts/published")["published_posts"]
    who.simulator.comment("FB", post["remote_id"], "Is there tea?")
    who.open("/comments")
    who.shows("#inbox", "Is there tea?")
    window.type(".conversations textarea", "Three kinds of it.")
    window.click(".conversations form button")
    who.shows("#inbox", "Sent")
    texts = [it["text"] for it in who.api.get("/comments", post_id=post["id"])["comments"]]
    assert sorted(texts) == ["Is there tea?", "Three kinds of it."]


def makes_a_token_for_curl(who: Traveller) -> None:
    window = who.window
    who.open("/developers")
    window.click("[aria-labelledby=tokens] .make summary")
    window.type("#token-name", "For curl")
    window.click("input[name=scope][value='read:posts']")
    window.press("form[action$='/tokens'] button")
    token = window.run("return document.querySelector('#secret').value")
    asked = ["curl", "--silent", "--header", f"Authorization: Bearer {token}"]
    answer = subprocess.run(
        [*asked, f"{who.stack.base_url}/posts/scheduled"], capture_output=True, check=True, timeout=30
    )
    assert len(json.loads(answer.stdout)["scheduled_posts"]) == 2


def looks_after_a_webhook(who: Traveller, receiver: Receiver) -> None:
    window = who.window
    who.open("/developers")
    window.click("[aria-labelledby=webhooks] .make summary")
    window.type("#hook-name", "The till")
    window.type("#hook-url", receiver.url("/till"))
    window.click("input[name=event][value='post.published']")
    window.press("form[action$='/webhooks'] button")
    secret = window.run("return document.querySelector('#secret').value")
    window.press("main a.button")
    window.press("[aria-labelledby=webhooks] .row a")
    page = window.url

    def is_delivered(count: int) -> bool:
        window.open(page)
        return window.text("[aria-labelledby=deliveries]").count("Answered 2") == count

    window.press("form[action$=test] button")
    until(lambda: is_delivered(1), 30, "the test event is delivered")
    window.press("[aria-labelledby=deliveries] .row a")
    assert "webhook.test" in window.text("h1")
    window.press("main form button.primary")
    assert "sent again" in window.text("[role=status]")
    first, again = (it.verified(secret) for it in receiver.await_arrivals("/till", 2))
    assert (again.id, again.event) == (first.id, "webhook.test")
    window.click("details:has(> form[action$=rotate]) summary")
    window.press("form[action$=rotate] button")
    assert window.run("return document.querySelector('#secret').value") != secret


def invites_somebody_who_sees_no_more_than_the_brand(who: Traveller) -> None:
    """The guest has no account yet and accepts with the link in the mail. With a limited role the guest works on the
    brand, sees no other brand of the owner, and cannot connect pages.
    """
    window, guest = who.window, f"{uuid.uuid4().hex}@example.test"
    secret_brand = who.api.post("/brands", {"name": "Nobody knows"})["id"]
    facebook = next(it["id"] for it in who.api.get("/pages")["pages"] if it["platform"] == "FB")
    who.open(f"/brands/{who.brand_id}")
    window.click("#invite summary")
    window.type("#invited", guest)
    window.click("#role option[value=limited]")
    window.press("#invite form button")
    assert "The invitation is sent" in window.text("[role=status]")
    link = mail.link_in(await_mail(who.stack, guest, "invited to work on a brand"))
    assert link
    window.open(link)
    window.type("#password", PASSWORD)
    window.press("main form button")
    assert window.text("h1") == "Overview"
    window.press(".leave button")
    who.sign_in(who.email, PASSWORD)
    who.open(f"/brands/{who.brand_id}")
    assert guest in window.text("[aria-labelledby=people]")
    window.press(".leave button")
    who.sign_in(guest, PASSWORD)
    # Their new account has the free plan's ten calls a minute.
    who.operator("user", "plan", who.api.get("/me")["authenticated_as"]["user_id"], "elite")
    assert "You are working on Kim’s Night Market Limited access" in " ".join(window.text(".shared").split())
    who.open("/brands")
    assert ("Night Market" in window.text("main"), "Nobody knows" in window.text("main")) == (True, False)
    who.open("/pages")
    assert "ask Kim" in window.text("main")
    for path in ("/posts", f"/calendar?month={AT:%Y-%m}"):
        who.open(path)
        assert "Lanterns" in window.text("main")
    who.open(f"/brands/{secret_brand}")
    assert window.text("h1") == "You may not do this"
    window.press("a.new")
    window.click(f"input[name=page_id][value={facebook}]")
    window.type("#message", "By the guest")
    window.press("#send")
    assert window.text("h1") == "Published", window.text("main")
    assert any("By the guest" in str(it) for it in who.simulator.posts())
    window.press(".shared button")
    assert not window.has(".shared")
    who.open(f"/posts/{next(iter(who.posts.values()))}")
    assert window.text("h1") == "There is nothing here"
    window.press(".leave button")
    who.sign_in(who.email, PASSWORD)


def looks_at_the_usage(who: Traveller) -> None:
    window = who.window
    who.open("/usage")
    assert "1 of" in window.text("main")
    assert window.has(".chart rect.good")
    assert window.has(".chart rect.accent")


def signs_out_everywhere(who: Traveller) -> None:
    window = who.window
    own = window.cookies()["posthaste_session"]
    who.open("/account")
    assert "This browser" in window.text("[aria-labelledby=sessions]")
    window.click(".danger summary")
    window.press("form[action$='sessions/end'] button")
    assert "Every browser is signed out." in window.text("main")
    headers = {"Authorization": f"Bearer {own}"}
    assert requests.get(f"{who.stack.base_url}/me", headers=headers, timeout=30).status_code == 401
    who.open("/posts")
    assert window.title == "Sign in · Posthaste"
