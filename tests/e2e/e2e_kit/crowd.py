"""Many accounts at work at once: due posts by the hundred, and clients that write with keys whatever breaks."""

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

#: A Facebook page takes 10 posts an hour.
POSTS_PER_PAGE = 8
#: A post is queued at least so far away; there has to be time to queue them all.
UNTIL_DUE = dt.timedelta(minutes=12)
#: An answer that takes longer counts as none; the same key is sent again.
CLIENT_TIMEOUT_SECONDS = 20.0
PAUSE_AFTER_FAILURE_SECONDS = 0.2
#: Keeps a client within its account's 300 requests a minute.
PAUSE_BETWEEN_WRITES_SECONDS = 0.25


@dataclass
class Member:
    """An account with a page that clients write to, and one whose posts come due in the latest round."""

    account: Account
    written_page: Json
    due_page: Json = field(default_factory=dict)
    #: Minute 0 of the next write; every write is an hour after the one before.
    writes: int = 0


@dataclass
class Writing:
    """What the clients got: the post of every key that was answered with 201, and all answers by status."""

    posts: dict[str, str] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    unfinished: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)


class Crowd:
    """Members made once; every round schedules new texts on new pages. `texts` are those of all rounds.

    Posts of an earlier round may still be on their way: on a page of their own they do not count against a later one.
    """

    def __init__(self, accounts: Accounts, simulator: Simulator, clock: Clock, size: int) -> None:
        self.simulator, self.clock, self._accounts = simulator, clock, accounts
        self.members: list[Member] = []
        self.texts: list[str] = []
        #: When the first post of the latest round is due.
        self.begin_at = clock.now()
        for _ in range(size):
            account = accounts.new(pages=())
            self.members.append(Member(account, accounts.page(account.brand_id)))

    def schedule(self, members: Sequence[Member], text: str) -> list[str]:
        """A round: posts on a new page of each member, a minute apart from the earliest time on. Their texts."""
        for member in members:
            member.due_page = self._accounts.page(member.account.brand_id)
        self.begin_at = begin = self.clock.now() + UNTIL_DUE

        def fill(member: Member) -> list[str]:
            texts = [f"{text} {uuid.uuid4().hex}" for _ in range(POSTS_PER_PAGE)]
            for minute, one in enumerate(texts):
                at = stamp(begin + dt.timedelta(minutes=minute))
                body = {"page_id": member.due_page["id"], "message": one, "scheduled_at": at}
                member.account.api.post("/posts/schedule", body)
            return texts

        with ThreadPoolExecutor(16) as pool:
            made = [text for texts in pool.map(fill, members) for text in texts]
        self.texts += made
        return made

    def make_due(self) -> None:
        """All of the round is due now."""
        self.clock.shift_to(self.begin_at + dt.timedelta(minutes=POSTS_PER_PAGE))

    def held(self, texts: Iterable[str]) -> Counter[str]:
        """How often the platform holds each of these texts."""
        wanted = set(texts)
        return Counter(post["text"] for post in self.simulator.posts() if post["text"] in wanted)

    def await_held(self, texts: list[str], count: int, seconds: float) -> None:
        """Until the platform holds so many of these texts, each only once."""
        until(lambda: len(self.held(texts)) >= count, seconds, f"{count} of {len(texts)} posts are out")
        held = self.held(texts)
        assert set(held.values()) == {1}, held.most_common(5)

    def await_settled(self, seconds: float) -> None:
        """Until the API shows no post of any round as queued; one that waits for its next attempt gets it."""

        def look() -> bool:
            waiting = [post for member in self.members for post in self._queued(member)]
            if waiting and all(post["next_attempt_at"] for post in waiting):
                self.clock.shift(minutes=1)
            return not waiting

        until(look, seconds, "no post is under way any more")

    def _queued(self, member: Member) -> list[Json]:
        """Posts of the rounds that are neither published nor failed; those written by clients lie far ahead."""
        soon = stamp(self.clock.now() + dt.timedelta(days=1))
        found: list[Json] = member.account.api.get("/posts/scheduled", limit=100)["scheduled_posts"]
        return [post for post in found if post["scheduled_at"] < soon]

    def write(self, during: Callable[[Writing], None]) -> Writing:
        """Every member writes with keys while `during` runs, which sees what they got so far; each key is sent until it
        is answered."""
        writing, stop = Writing(), threading.Event()
        first_at = self.clock.now() + dt.timedelta(days=40)
        with ThreadPoolExecutor(len(self.members)) as pool:
            clients = [pool.submit(_client, member, first_at, writing, stop) for member in self.members]
            try:
                during(writing)
            finally:
                stop.set()
        for client in clients:
            client.result()
        return writing

    def check(self, writing: Writing) -> None:
        """Every key had one effect, which is the one it was answered with."""
        assert not writing.strange, writing.strange[:5]
        assert not writing.unfinished, f"never answered: {len(writing.unfinished)}, {writing.statuses}"
        made = [post for member in self.members for post in self._written(member)]
        of_text = Counter(post["message"] for post in made)
        assert not [text for text, count in of_text.items() if count > 1], "a key had two effects"
        post_ids = {post["message"]: post["id"] for post in made}
        wrong = {key: post_id for key, post_id in writing.posts.items() if post_ids.get(key) != post_id}
        assert not wrong, f"answered with 201 and gone: {wrong}"

    def _written(self, member: Member) -> list[Json]:
        posts: list[Json] = []
        cursor: dict[str, str] = {}
        while cursor != {"cursor": None}:
            query = {"page_id": member.written_page["id"], "status": "all", "limit": 100, **cursor}
            found = member.account.api.get("/posts/scheduled", 200, **query)
            posts += found["scheduled_posts"]
            cursor = {"cursor": found["next_cursor"]}
        return posts


def _client(member: Member, first_at: dt.datetime, writing: Writing, stop: threading.Event) -> None:
    """Writes one post after the other; a key that got no good answer is sent again, for a while after `stop` too."""
    while not stop.is_set():
        key = uuid.uuid4().hex
        member.writes += 1
        at = stamp(first_at + dt.timedelta(hours=member.writes))
        body = {"page_id": member.written_page["id"], "message": key, "scheduled_at": at}
        give_up_at: float | None = None
        while True:
            try:
                answer = member.account.api.call(
                    "POST", "/posts/schedule", json=body, key=key, timeout=CLIENT_TIMEOUT_SECONDS
                )
            except requests.RequestException:
                status = 0
            else:
                status = answer.status_code
                if status == 201:
                    writing.posts[key] = answer.json()["scheduled_post"]["id"]
                elif status not in (409, 503):
                    writing.strange.append(told(answer))
            writing.statuses[status] += 1
            if status not in (0, 409, 503):
                break
            if stop.is_set():
                give_up_at = give_up_at or time.monotonic() + CLIENT_TIMEOUT_SECONDS
                if time.monotonic() > give_up_at:
                    writing.unfinished.append(key)
                    break
            time.sleep(PAUSE_AFTER_FAILURE_SECONDS)
        stop.wait(PAUSE_BETWEEN_WRITES_SECONDS)
