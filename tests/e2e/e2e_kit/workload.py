"""Load from many accounts: hundreds of posts due at once, and clients that repeat a write until it succeeds."""

import datetime as dt
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import requests

from e2e_kit.api import Json, stamp, told
from e2e_kit.operator import Account, Accounts, Clock
from e2e_kit.simulator import Simulator
from e2e_kit.waiting import until

#: Posts of a round on each page: fewer than the 10 that a Facebook page takes in an hour.
POSTS_PER_PAGE = 8
#: How long after the schedule the first post is due: at least 10 minutes, and the time that scheduling all posts may
#: take.
UNTIL_DUE = dt.timedelta(minutes=12)
#: A client that waits longer sends the same key again.
CLIENT_TIMEOUT_SECONDS = 20.0
PAUSE_AFTER_FAILURE_SECONDS = 0.2
#: Keeps a client within its account's 300 requests a minute.
PAUSE_BETWEEN_WRITES_SECONDS = 0.25


@dataclass
class Client:
    """An account with two pages: one for the posts of `Workload.write`, and one for the posts of the latest round."""

    account: Account
    written_page: Json
    due_page: Json = field(default_factory=dict)
    #: Number of its writes. Each is scheduled for an hour after the one before.
    writes: int = 0


@dataclass
class WriteResults:
    """The responses that the clients got: `posts` (idempotency key → post id, for each 201) and `statuses` (HTTP
    status → number).
    """

    posts: dict[str, str] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    unfinished: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)


class Workload:
    """A fixed number of clients. Each round schedules posts with new texts; `texts` holds the texts of all rounds.

    A round uses new pages, because posts of the last round may still be unsent and count against their page's cap.
    """

    def __init__(self, accounts: Accounts, simulator: Simulator, clock: Clock, size: int) -> None:
        self.simulator, self.clock, self._accounts = simulator, clock, accounts
        self.clients: list[Client] = []
        self.texts: list[str] = []
        #: When the first post of the latest round is due.
        self.begin_at = clock.now()
        for _ in range(size):
            account = accounts.new(pages=())
            self.clients.append(Client(account, accounts.page(account.brand_id)))

    def schedule(self, clients: Sequence[Client], text: str) -> list[str]:
        """Begins a round: schedules eight posts, a minute apart, on a new page of each client. Returns the posts'
        texts.
        """
        for client in clients:
            client.due_page = self._accounts.page(client.account.brand_id)
        self.begin_at = begin = self.clock.now() + UNTIL_DUE

        def fill(client: Client) -> list[str]:
            texts = [f"{text} {uuid.uuid4().hex}" for _ in range(POSTS_PER_PAGE)]
            for minute, one in enumerate(texts):
                at = stamp(begin + dt.timedelta(minutes=minute))
                body = {"page_id": client.due_page["id"], "message": one, "scheduled_at": at}
                client.account.api.post("/posts/schedule", body)
            return texts

        with ThreadPoolExecutor(16) as pool:
            made = [text for texts in pool.map(fill, clients) for text in texts]
        self.texts += made
        return made

    def make_due(self) -> None:
        """Shifts the clock so that every post of the round is due."""
        self.clock.shift_to(self.begin_at + dt.timedelta(minutes=POSTS_PER_PAGE))

    def published_counts(self, texts: Iterable[str]) -> Counter[str]:
        """Returns text → how often it was published on the simulated platforms. Texts that were not published are left
        out.
        """
        wanted = set(texts)
        return Counter(post["text"] for post in self.simulator.posts() if post["text"] in wanted)

    def await_published(self, texts: list[str], count: int, seconds: float) -> None:
        """Waits until `count` of these texts are published. Asserts that none was published twice."""
        until(
            lambda: len(self.published_counts(texts)) >= count,
            seconds,
            f"{count} of {len(texts)} posts are out",
        )
        held = self.published_counts(texts)
        assert set(held.values()) == {1}, held.most_common(5)

    def await_settled(self, seconds: float) -> None:
        """Waits until no post of any round is queued. Shifts the clock if all remaining posts wait for their next
        attempt.
        """

        def look() -> bool:
            waiting = [post for client in self.clients for post in self._queued(client)]
            if waiting and all(post["next_attempt_at"] for post in waiting):
                self.clock.shift(minutes=1)
            return not waiting

        until(look, seconds, "no post is under way any more")

    def _queued(self, client: Client) -> list[Json]:
        """Returns the client's posts that are due within a day and neither published nor failed. That leaves out the
        posts of `write`, which are due weeks later.
        """
        soon = stamp(self.clock.now() + dt.timedelta(days=1))
        found: list[Json] = client.account.api.get("/posts/scheduled", limit=100)["scheduled_posts"]
        return [post for post in found if post["scheduled_at"] < soon]

    def write(self, during: Callable[[WriteResults], None]) -> WriteResults:
        """Makes every client schedule posts while `during` runs, and returns the results. `during` gets the results so
        far.

        Each post has an idempotency key. The request is repeated with this key until it is answered.
        """
        results, stop = WriteResults(), threading.Event()
        first_at = self.clock.now() + dt.timedelta(days=40)
        with ThreadPoolExecutor(len(self.clients)) as pool:
            writers = [pool.submit(_write_posts, client, first_at, results, stop) for client in self.clients]
            try:
                during(results)
            finally:
                stop.set()
        for writer in writers:
            writer.result()
        return results

    def check(self, results: WriteResults) -> None:
        """Asserts that every idempotency key that was answered with 201 created exactly one post, the one in its
        answer.
        """
        assert not results.strange, results.strange[:5]
        assert not results.unfinished, f"never answered: {len(results.unfinished)}, {results.statuses}"
        made = [post for client in self.clients for post in self._written(client)]
        of_text = Counter(post["message"] for post in made)
        assert not [text for text, count in of_text.items() if count > 1], "a key had two effects"
        post_ids = {post["message"]: post["id"] for post in made}
        wrong = {key: post_id for key, post_id in results.posts.items() if post_ids.get(key) != post_id}
        assert not wrong, f"answered with 201 and gone: {wrong}"

    def _written(self, client: Client) -> list[Json]:
        posts: list[Json] = []
        cursor: dict[str, str] = {}
        while cursor != {"cursor": None}:
            query = {"page_id": client.written_page["id"], "status": "all", "limit": 100, **cursor}
            found = client.account.api.get("/posts/scheduled", 200, **query)
            posts += found["scheduled_posts"]
            cursor = {"cursor": found["next_cursor"]}
        return posts


def _write_posts(client: Client, first_at: dt.datetime, results: WriteResults, stop: threading.Event) -> None:
    """Schedules one post after the other until `stop` is set. Repeats a request that has no final answer, also for 20
    s after `stop`.
    """
    while not stop.is_set():
        key = uuid.uuid4().hex
        client.writes += 1
        at = stamp(first_at + dt.timedelta(hours=client.writes))
        body = {"page_id": client.written_page["id"], "message": key, "scheduled_at": at}
        give_up_at: float | None = None
        while True:
            try:
                answer = client.account.api.call(
                    "POST", "/posts/schedule", json=body, key=key, timeout=CLIENT_TIMEOUT_SECONDS
                )
            except requests.RequestException:
                status = 0
            else:
                status = answer.status_code
                if status == 201:
                    results.posts[key] = answer.json()["scheduled_post"]["id"]
                elif status not in (409, 503):
                    results.strange.append(told(answer))
            results.statuses[status] += 1
            if status not in (0, 409, 503):
                break
            if stop.is_set():
                give_up_at = give_up_at or time.monotonic() + CLIENT_TIMEOUT_SECONDS
                if time.monotonic() > give_up_at:
                    results.unfinished.append(key)
                    break
            time.sleep(PAUSE_AFTER_FAILURE_SECONDS)
        stop.wait(PAUSE_BETWEEN_WRITES_SECONDS)
