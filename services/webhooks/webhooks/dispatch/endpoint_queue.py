"""The lanes this process holds: what each has taken up, and how many attempts it has on their way. No I/O.

A lane is a subscription's way to its endpoint. One process at a time serves it, which makes "at most 8 at once" and
"the 20th failure is the last" exact, and lets connections be kept. What is taken up stays pending in the database
until its outcome is written: a process that dies leaves nothing to be mended.
"""

import math
import time
from collections import deque
from collections.abc import Collection, Sequence

from chassis.http.webhook_connection import WebhookConnection
from webhooks.dispatch import rules
from webhooks.records import Due, Entry, Opened, Tried


class Lane:
    """One of them. Whoever changes it holds the office's lock."""

    def __init__(self, lane_id: str, fence: int, valid_until: float) -> None:
        self.id = lane_id
        self.fence = fence
        #: Until then (monotonic) nobody else can have it.
        self.valid_until = valid_until
        self.version: tuple[int, int] | None = None
        #: The version in which its newest secret was not to be read.
        self.unreadable: tuple[int, int] | None = None
        self.url = ""
        self.secrets: tuple[str, ...] = ()
        self.standing = rules.Standing(is_active=True, consecutive_failures=0)
        #: How often the subscription was enabled: the next time begins the standing anew.
        self.enabled_count = 0
        #: Answers judged so far.
        self.judged = 0
        #: How long the endpoint takes, of late; not known yet.
        self.answer_seconds = math.inf
        #: Attempts that went well since the lane was taken.
        self.acknowledged = 0
        #: Taken up and not begun.
        self.ready: deque[Due] = deque()
        #: Ids of what is taken up or on its way.
        self.known: set[str] = set()
        #: Attempts that have begun and are not written down yet.
        self.running = 0
        #: Something is being loaded or charged for it.
        self.is_loading = False
        #: Grows with each `drop`: what was loaded before one is not taken up after it.
        self.generation = 0
        #: Nothing is taken up before then (monotonic).
        self.held_until = 0.0
        #: Since when every attempt has failed for want of something that may be ours (monotonic); infinity: none has.
        self.wanting_since = math.inf
        self.used_at = time.monotonic()
        #: When something was last asked for it (monotonic), and whether there was or may be more.
        self.loaded_at = 0.0
        self.has_more = False
        #: Connections to the endpoint that rest.
        self.lines: list[WebhookConnection] = []

    def set_up(self, opened: Opened, secrets: Collection[str]) -> None:
        """Takes the standing only of a lane that was just taken or enabled: otherwise this holder's own is newer."""
        if self.version is None or self.enabled_count != opened.enabled_count:
            self.standing, self.enabled_count = opened.standing, opened.enabled_count
        self.version, self.url, self.secrets = opened.version, opened.url, tuple(secrets)
        if self.unreadable is not None:
            self.unreadable, self.held_until = None, 0.0

    def is_stale(self, now: tuple[int, int] | None) -> bool:
        """Whether it is to be opened (anew). `now`: its version in the database, as far as that was asked for.

        One that no key reads is not asked after at each turn, but when it has changed or its pause is over.
        """
        if self.unreadable is not None and self.held_until > time.monotonic():
            return now not in (None, self.unreadable)
        return self.version is None or now not in (None, self.version)

    def wants(self, most: int) -> int:
        """How many more deliveries may be taken up now, of `most` in all: none while half of that is there."""
        may_have = rules.ahead(self.standing.consecutive_failures, self.acknowledged, most)
        if self.is_loading or self.held_until > time.monotonic() or len(self.known) > may_have // 2:
            return 0
        return may_have - len(self.known)

    def take_up(self, due: Collection[Due], generation: int) -> None:
        """`generation`: the lane's when they were loaded."""
        if generation != self.generation:
            return
        self.ready.extend(due)
        self.known.update(one.id for one in due)

    def begin(self, free: int) -> Due | None:
        """The next delivery to be tried; None when there is none, or no place for it."""
        places = rules.places(self.standing.consecutive_failures, self.answer_seconds, free)
        if not self.ready or self.running >= places or time.monotonic() >= self.valid_until:
            return None
        self.running += 1
        return self.ready.popleft()

    def weigh(self, tried: Tried) -> Tried:
        """Whether what was wanting is ours to mend, by what others get."""
        if not tried.is_ours:
            self.wanting_since = math.inf
            return tried
        self.wanting_since = min(self.wanting_since, time.monotonic())
        return tried._replace(is_ours=not rules.wants_alone(self.wanting_since, tried.others_at))

    def put_off(self) -> None:
        """Ever longer."""
        now = time.monotonic()
        self.held_until = now + rules.pause_seconds(now - self.wanting_since)

    def judge(self, due: Due, tried: Tried, waits: Sequence[float]) -> Entry:
        """What an answer leads to; the next one is judged by how the subscription stands after it."""
        verdict = rules.judge(
            tried.status_code,
            failures=due.failures,
            standing=self.standing,
            waits=waits,
            is_ours=tried.is_ours,
        )
        self.standing = verdict.standing
        self.acknowledged += verdict.state == "delivered"
        seconds = tried.duration_ms / 1000
        is_first = math.isinf(self.answer_seconds)
        self.answer_seconds = seconds if is_first else 0.8 * self.answer_seconds + 0.2 * seconds
        self.judged += 1
        return Entry(tried, verdict, self.judged, self.enabled_count)

    def end(self, due: Due) -> None:
        self.running -= 1
        self.known.discard(due.id)
        self.used_at = time.monotonic()

    def is_hungry(self, most: int) -> bool:
        return self.has_more and self.wants(most) > 0

    def drop(self) -> list[Due]:
        """Forgets what has not begun: the subscription has changed, or somebody else has the lane. What that is."""
        self.generation += 1
        dropped = list(self.ready)
        self.known.difference_update(one.id for one in self.ready)
        self.ready.clear()
        return dropped

    def is_idle(self, since_seconds: float) -> bool:
        return not self.known and not self.is_loading and self.used_at + since_seconds < time.monotonic()
