"""Writes what many lanes have to write at the same moment in one transaction, and keeps their claims alive.

A lane that ends one post and begins the next says both in one go. While a transaction runs, what comes next
gathers: with one lane nothing waits, with fifty a commit is shared by all.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from chassis.database import Database
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from publishing import telling
from publishing.records import Post
from publishing.store.pages import Pages
from publishing.store.sending import Claim, Recorded, Sending

log = structlog.get_logger()

#: While the database is away an outcome is written again after this long. Our choice.
_PAUSE_SECONDS = 0.5


@dataclass(slots=True)
class _Entry:
    """What one lane has to say, and what came of it."""

    record: Recorded | None
    begin: Claim | None
    expired_page: str | None
    is_done: bool = False
    post: Post | None = None
    has_begun: bool = False
    error: Exception | None = field(default=None)


class Scribe:
    """One per process."""

    def __init__(
        self, database: Database, lease_seconds: float, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._database = database
        self._lease_seconds = lease_seconds
        self._pause = pause
        self._writing = threading.Lock()
        self._waiting: list[_Entry] = []
        self._held: set[Claim] = set()

    def hold(self, *claims: Claim) -> None:
        """From now on these claims are renewed."""
        self._held.update(claims)

    def let_go(self, *claims: Claim) -> None:
        self._held.difference_update(claims)

    def renew(self) -> None:
        """Renews all held claims."""
        held = list(self._held)
        if held:
            with self._database.transaction() as connection:
                Sending(connection).renew(held, self._lease_seconds)

    def release(self, *claims: Claim) -> None:
        """Gives back claims that were not called."""
        self.let_go(*claims)
        if claims:
            with self._database.transaction() as connection:
                Sending(connection).release(claims)

    def write(
        self, record: Recorded | None = None, begin: Claim | None = None, *, expired_page: str | None = None
    ) -> tuple[Post | None, bool]:
        """Records an outcome and begins a post, both committed: (the recorded post, whether the claim still held).

        The post is None when its fence had passed. `expired_page` marks that page as expired with it. While the
        database is away this waits, as long as the claims last; then raises ApiError SERVICE_UNAVAILABLE.
        """
        give_up_at = time.monotonic() + self._lease_seconds
        while True:
            entry = _Entry(record, begin, expired_page)
            self._waiting.append(entry)
            with self._writing:
                if not entry.is_done:
                    batch, self._waiting = self._waiting, []
                    self._commit_each(batch)
            if entry.error is None:
                if record is not None:
                    self.let_go(Claim(record.id, record.fence))
                return entry.post, entry.has_begun
            if not _is_outage(entry.error) or time.monotonic() > give_up_at:
                raise entry.error
            self._pause(_PAUSE_SECONDS)

    def _commit_each(self, batch: list[_Entry]) -> None:
        """All in one transaction; if that fails for one entry's fault, each in its own."""
        try:
            self._commit(batch)
        except Exception as error:  # noqa: BLE001 - each lane gets it raised in its own place
            if len(batch) > 1 and not _is_outage(error):
                for entry in batch:
                    self._commit_each([entry])
                return
            for entry in batch:
                entry.error = error
        for entry in batch:
            entry.is_done = True

    def _commit(self, batch: list[_Entry]) -> None:
        with self._database.transaction() as connection:
            sending = Sending(connection)
            recorded = {post.id: post for post in sending.record([e.record for e in batch if e.record])}
            for page_id in {e.expired_page for e in batch if e.expired_page}:
                Pages(connection).expire(page_id)
            telling.tell(connection, recorded.values())
            begun = sending.begin([e.begin for e in batch if e.begin], self._lease_seconds)
        for entry in batch:
            entry.post = recorded.get(entry.record.id) if entry.record else None
            entry.has_begun = entry.begin is not None and entry.begin.id in begun
            if entry.record and entry.post is None:
                log.warning(
                    "outcome_void",
                    post_id=entry.record.id,
                    fence=entry.record.fence,
                    state=entry.record.state,
                )


def _is_outage(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.row is SERVICE_UNAVAILABLE
