"""Writes what many lanes have to write at the same moment in one transaction, and knows which claims they work on.

A lane that ends one post and begins the next says both in one go. While a transaction runs, what comes next
gathers: with one lane nothing waits, with fifty a commit is shared by all.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

import structlog

from chassis.db.batches import Batches
from chassis.db.database import Database
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from publishing import post_events
from publishing.pages.expiry import Expired, expire
from publishing.records import Post
from publishing.sending import metrics
from publishing.store import Connection
from publishing.store.sending import Claim, Recorded, RemoteIdTaken, Sending

log = structlog.get_logger()

#: While the database is away an outcome is written again after this long. Our choice.
_PAUSE_SECONDS = 0.5


@dataclass(slots=True)
class Entry:
    """What one lane has to say; said again as it is while nobody knows whether it is written."""

    record: Recorded | None = None
    begin: Claim | None = None
    #: A page that the recorded outcome shows to be expired.
    expired: Expired | None = None
    #: Whether it has been said before, and perhaps been written.
    is_repeat: bool = False


class Written(NamedTuple):
    """What came of it."""

    #: The recorded post; None when its fence had passed and nothing is changed.
    post: Post | None
    #: Whether the claim still held and its attempt is written: the platform may be called.
    has_begun: bool


class Scribe:
    """One per process."""

    def __init__(self, database: Database, patience_seconds: float) -> None:
        self._database = database
        self._patience_seconds = patience_seconds
        self._entries: Batches[Entry, Written] = Batches(self._commit)
        self._held: set[Claim] = set()

    @contextmanager
    def claiming(self) -> Iterator[tuple[Connection, Callable[..., None]]]:
        """A transaction that claims posts for this process, and what to call with each claim before it ends.

        A claim that is committed and not noted counts as lost sight of, and lapses: so does one whose commit's answer
        was lost. Whoever works on a noted claim has to `let_go` of it in the end.
        """
        noted: list[Claim] = []

        def note(*claims: Claim) -> None:
            noted.extend(claims)
            self._held.update(claims)

        try:
            with self._database.transaction() as connection:
                yield connection, note
        except BaseException:
            self.let_go(*noted)
            raise

    def let_go(self, *claims: Claim) -> None:
        """Notes that nobody works on these claims any more; unknown ones are ignored. What is neither recorded nor
        released by then lapses with the next look for lost claims."""
        self._held.difference_update(claims)

    def holds(self, claim: Claim) -> bool:
        return claim in self._held

    def release(self, *claims: Claim) -> None:
        """Gives back claims that were not called."""
        if claims:
            with self._database.transaction() as connection:
                Sending(connection).release(claims)

    def write(
        self,
        record: Recorded | None = None,
        begin: Claim | None = None,
        *,
        expired: Expired | None = None,
        more_seconds: float = 0.0,
    ) -> Written:
        """Records an outcome and begins a post; both are committed when this returns.

        While the database is away it waits for `patience_seconds` and `more_seconds`, then raises ApiError
        SERVICE_UNAVAILABLE.
        Where it went away in the middle of a commit, what is found written counts as written now.
        """
        entry = Entry(record, begin, expired)
        give_up_at = time.monotonic() + self._patience_seconds + more_seconds
        while True:
            try:
                return self._entries.submit(entry)
            except ApiError as error:
                if error.row is not SERVICE_UNAVAILABLE or time.monotonic() > give_up_at:
                    raise
                entry.is_repeat = True
                time.sleep(_PAUSE_SECONDS)
            except RemoteIdTaken:
                # Recorded as unknown, it is not sent again, and concluded once the other post gives up the remote id.
                assert entry.record is not None
                log.error("remote_id_taken", post_id=entry.record.id, remote_id=entry.record.remote_id)
                entry.record = replace(entry.record, state="unknown", outcome=None)

    def _commit(self, entries: list[Entry]) -> list[Written]:
        with self._database.transaction() as connection:
            sending = Sending(connection)
            sending.await_earlier([post_id for e in entries if e.is_repeat for post_id in _posts_of(e)])
            recorded = {post.id: post for post in sending.record([e.record for e in entries if e.record])}
            standing = {
                post.id: post
                for post in sending.standing([e.record for e in entries if e.is_repeat and e.record])
                if post.id not in recorded
            }
            for found in sorted((e.expired for e in entries if e.expired), key=lambda found: found.page.id):
                expire(connection, found)
            post_events.tell(connection, recorded.values())
            post_events.tell(connection, sending.take_late(standing))
            begun = sending.begin([e.begin for e in entries if e.begin])
        written = recorded | standing
        self.let_go(*(Claim(e.record.id, e.record.fence) for e in entries if e.record))
        metrics.note_ended(written.values())
        for entry in entries:
            if entry.record and entry.record.id not in written:
                log.warning("outcome_void", post_id=entry.record.id, state=entry.record.state)
        return [
            Written(
                written.get(entry.record.id) if entry.record else None,
                entry.begin is not None and entry.begin.id in begun,
            )
            for entry in entries
        ]


def _posts_of(entry: Entry) -> list[str]:
    return [said.id for said in (entry.record, entry.begin) if said is not None]
