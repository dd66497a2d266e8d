"""Thousands of scheduled posts on hundreds of pages that become due in steps, and their outcomes."""

import datetime as dt
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import requests
from e2e_kit.api import Json, stamp, told
from e2e_kit.operator import Account, Accounts, Clock
from e2e_kit.simulator import Simulator

#: Pages of an account, half on Facebook (10 posts an hour), half on X. A brand may have 500 posts a day.
PAGES = 20
#: Time between two posts of a page: six posts an hour.
STEP = dt.timedelta(minutes=10)
#: How long after the schedule the first step is due: at least 10 minutes, and the time that scheduling all posts
#: takes.
UNTIL_FIRST = dt.timedelta(minutes=25)
#: This long before a step the test checks that none of its posts is published: half of the largest error of a clock.
CLOSE = dt.timedelta(seconds=150)
CLIENT_TIMEOUT_SECONDS = 30.0
#: Timeout of a call that its client abandons.
ABANDON_SECONDS = 5.0
#: How long a client repeats a key that got no response.
INSIST_SECONDS = 180.0


@dataclass
class Owner:
    account: Account
    pages: list[Json]


class Many:
    """Schedules and counts posts: `size` accounts with PAGES pages each, and `steps` posts on every page."""

    def __init__(self, accounts: Accounts, simulator: Simulator, clock: Clock, size: int, steps: int) -> None:
        self.simulator, self.clock, self.steps = simulator, clock, steps
        self.owners = []
        for _ in range(size):
            account = accounts.new(pages=())
            pages = [accounts.page(account.brand_id, "FB" if n % 2 else "TW") for n in range(PAGES)]
            self.owners.append(Owner(account, pages))
        self.first_at = clock.now()
        #: Native account of the page and text → its step.
        self.due: dict[tuple[str, str], int] = {}
        #: Posts that were published before their time.
        self.early: set[tuple[str, str]] = set()
        self.statuses: Counter[int] = Counter()
        #: Status of the abandoned calls; 0: no response.
        self.abandoned: Counter[int] = Counter()
        self._lock = threading.Lock()

    @property
    def total(self) -> int:
        return len(self.owners) * PAGES * self.steps

    def schedule(self) -> None:
        """Schedules all posts. A request schedules a post on all pages of an account. It has an idempotency key and is
        repeated until it is answered.
        """
        self.first_at = self.clock.now() + UNTIL_FIRST
        with ThreadPoolExecutor(8) as pool:
            list(
                pool.map(
                    self._schedule, [(owner, step) for step in range(self.steps) for owner in self.owners]
                )
            )

    def _schedule(self, one: tuple[Owner, int]) -> None:
        owner, step = one
        self._abandon(owner, step)
        text, key = f"step {step} {uuid.uuid4().hex}", uuid.uuid4().hex
        body = {
            "page_ids": [page["id"] for page in owner.pages], "message": text,
            "scheduled_at": stamp(self.first_at + STEP * step),
        }  # fmt: skip
        end = time.monotonic() + INSIST_SECONDS
        while True:
            try:
                answer = owner.account.api.call(
                    "POST", "/posts/schedule", json=body, key=key, timeout=CLIENT_TIMEOUT_SECONDS
                )
                status, said = answer.status_code, told(answer)
            except requests.RequestException as error:
                status, said = 0, repr(error)
            with self._lock:
                self.statuses[status] += 1
            if status == 201:
                break
            assert status in (0, 409, 503), said
            assert time.monotonic() < end, f"not answered in {INSIST_SECONDS} s: {said}"
            time.sleep(0.3)
        with self._lock:
            self.due |= {(page["account_id"], text): step for page in owner.pages}

    def _abandon(self, owner: Owner, step: int) -> None:
        """Sends one request without an idempotency key, and does not repeat it. So only the services can find out
        whether its month unit was used.
        """
        body = {
            "page_id": owner.pages[step % PAGES]["id"], "message": f"abandoned {uuid.uuid4().hex}",
            "scheduled_at": stamp(self.first_at + STEP * step - STEP / 2),
        }  # fmt: skip
        try:
            answer = owner.account.api.call("POST", "/posts/schedule", json=body, timeout=ABANDON_SECONDS)
            status = answer.status_code
        except requests.RequestException:
            status = 0
        with self._lock:
            self.abandoned[status] += 1

    def units_and_posts(self) -> list[tuple[int, int]]:
        """Returns for each account the number of used month units, and the number of posts that its requests have
        created.
        """
        posts = Counter(
            post["brand_id"] for status in ("queued", "published", "failed") for post in self.shown(status)
        )
        return [
            (
                owner.account.api.get("/account")["quota"]["monthly"]["publishes"]["used"],
                posts[owner.account.brand_id],
            )
            for owner in self.owners
        ]

    def come_close(self, step: int) -> None:
        """Moves the clock to shortly before the posts of this step are due."""
        self.clock.shift_to(self.first_at + STEP * step - CLOSE)

    def make_due(self, step: int) -> None:
        self.clock.shift_to(self.first_at + STEP * step + dt.timedelta(seconds=1))

    def held(self) -> Counter[tuple[str, str]]:
        """Returns (account, text) of each post on the platforms → how often it is there."""
        rows = ((post["account_id"], post["text"]) for post in self.simulator.posts())
        return Counter(row for row in rows if row in self.due)

    def out(self, step: int) -> int:
        """Returns how many posts are published after this step has become due. Records published posts of later steps
        as early.
        """
        held = self.held()
        self.early |= {one for one in held if self.due[one] > step}
        return len(held)

    def until_step(self, step: int) -> int:
        return len(self.owners) * PAGES * (step + 1)

    def queued(self) -> list[Json]:
        """Returns the posts that the API lists as not published, at most 100 of each account."""
        return [
            post
            for owner in self.owners
            for post in owner.account.api.get("/posts/scheduled", limit=100)["scheduled_posts"]
        ]

    def shown(self, status: str) -> list[Json]:
        """Returns all posts with this status."""
        found: list[Json] = []
        for owner in self.owners:
            cursor: dict[str, str] = {}
            while cursor != {"cursor": None}:
                page = owner.account.api.get("/posts/scheduled", 200, status=status, limit=100, **cursor)
                found += page["scheduled_posts"]
                cursor = {"cursor": page["next_cursor"]}
        return found

    def texts(self) -> Iterable[tuple[str, str]]:
        return self.due
