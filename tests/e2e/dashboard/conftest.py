"""A browser, and people who are signed in to the dashboard."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from e2e_kit.chromium import Chromium
from e2e_kit.operator import Account, Accounts
from e2e_kit.receiver import Receiver
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack

PASSWORD = "the owner's own"
#: Its name where the dashboard is reached without TLS.
SESSION_COOKIE = "posthaste_session"


@dataclass
class Person:
    """A person in front of a browser, with an account."""

    window: Chromium
    url: str
    account: Account
    session_token: str
    #: A scheduled post, where the test needs one.
    post_id: str = ""

    def open(self, path: str) -> None:
        self.window.open(self.url + path)

    def sign_in(self) -> None:
        """Fills in the sign-in form on the present page, and sends it."""
        self.window.type("#email", self.account.email)
        self.window.type("#password", PASSWORD)
        self.window.press("form button")


@pytest.fixture
def stranger(window: Chromium, accounts: Accounts, stack: Stack) -> Person:
    """An account with pages on Facebook, Instagram and X, whose owner has a password and is not signed in."""
    account = accounts.new(pages=("FB", "IG", "TW"), password=PASSWORD)
    session_token = accounts.log_in(account, PASSWORD)["session_token"]
    person = Person(window, stack.env["DASHBOARD_URL"], account, session_token)
    # What earlier tests left belongs to the dashboard's origin. This is its smallest answer.
    person.open("/healthz")
    window.forget()
    window.run("sessionStorage.clear()")
    return person


@pytest.fixture
def person(stranger: Person) -> Person:
    """The same person as `stranger`, signed in. Each test opens the screen that it is about.

    The browser gets the session's cookie without the form, which test_sign_up.py and test_the_journey.py fill in.
    """
    stranger.window.keep_cookie(SESSION_COOKIE, stranger.session_token)
    return stranger


@pytest.fixture
def asked(person: Any, simulator: Simulator, photo: str) -> Iterator[Any]:
    """A person with a post on Facebook and one on Instagram. A visitor has commented on each with a question."""
    for platform, text in (("FB", "Do you have spelt?"), ("IG", "Until when are you open?")):
        page_id = person.account.page_id(platform)
        body = {"page_id": page_id, "message": f"We are open on {platform}", "media_urls": [photo]}
        post = person.account.api.post("/posts/publish", body)
        simulator.comment(platform, post["platform_post_id"], text)
    yield person
    person.window.emulate_phone(0, 0, "")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def picture(jpeg: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "bread.jpg"
    path.write_bytes(jpeg)
    return path
