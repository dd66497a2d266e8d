"""Writes the outcomes of attempts, and begins the next attempts, for many page queues in one transaction.

A queue that ends one post and begins the next does both in one call. Calls that arrive while a transaction runs are
combined in the next transaction. So a queue that is alone never waits, and fifty queues share one commit. The writer
also knows which claims this process works on.
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
from publishing.pages.expiry import expire
from publishing.records import Post
from publishing.sending import metrics
from publishing.store import Connection
from publishing.store.sending import AttemptOutcome, Claim, RemoteIdTaken, Sending

log = structlog.get_logger()

#: Wait between tries to write an outcome while the database is down: its return is noticed within half a second.
_PAUSE_SECONDS = 0.5


@dataclass(slots=True)
class Write:
    """A request of one page queue to the writer: an outcome to store, a claim whose attempt begins, or both. If it is
    not certain that a `Write` was committed, the same one is submitted again."""

    outcome: AttemptOutcome | None = None
    begin: Claim | None = None
    #: Whether it was submitted before, and perhaps committed.
    is_repeat: bool = False


class Written(NamedTuple):
    """The result of `OutcomeWriter.write`."""

    #: The post with its stored outcome; None if there was no outcome, or if the claim was lost and nothing was stored.
    post: Post | None
    #: Whether the claim still held and its attempt is stored: the platform may be called.
    has_begun: bool


class OutcomeWriter:
    """Stores outcomes and begins attempts for all page queues of a process, together. One object per process."""

    def __init__(self, database: Database, patience_seconds: float) -> None:
        self._database = database
        self._patience_seconds = patience_seconds
        self._writes: Batches[Write, Written] = Batches(self._commit)
        self._held: set[Claim] = set()

    @contextmanager
    def claiming(self) -> Iterator[tuple[Connection, Callable[..., None]]]:
        """Opens a transaction that claims posts for this process. Yields the connection and `note(*claims)`.

        Call `note` for every claim before the transaction ends: a committed claim that is not noted counts as lost,
        and its post returns to the queue. The worker that has a noted claim must `let_go` of it in the end.
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
        """Notes that this process no longer works on the claims. Unknown claims are ignored.

        If a claim was neither released nor given an outcome before this call, the next recovery of lost claims ends it.
        """
        self._held.difference_update(claims)

    def holds(self, claim: Claim) -> bool:
        return claim in self._held

    def release(self, *claims: Claim) -> None:
        """Returns the posts of these claims to the queue, except posts whose attempt has begun."""
        if claims:
            with self._database.transaction() as connection:
                Sending(connection).release(claims)

    def write(
        self,
        outcome: AttemptOutcome | None = None,
        begin: Claim | None = None,
        *,
        more_seconds: float = 0.0,
    ) -> Written:
        """Stores the outcome of an attempt, or begins an attempt, or does both. All is committed when the call returns.

        `outcome`: the outcome to store; its page is marked as expired if the outcome says so. If another post has the
        outcome's remote id, the outcome is stored as unknown. `begin`: the claim of the post whose attempt begins.

        While the database is down, tries again for the writer's `patience_seconds` plus `more_seconds`, then raises
        SERVICE_UNAVAILABLE. If a commit's answer was lost but the commit worked, the call returns as usual.
        """
        write = Write(outcome, begin)
        give_up_at = time.monotonic() + self._patience_seconds + more_seconds
        while True:
            try:
                return self._writes.submit(write)
            except ApiError as error:
                if error.row is not SERVICE_UNAVAILABLE or time.monotonic() > give_up_at:
                    raise
                write.is_repeat = True
                time.sleep(_PAUSE_SECONDS)
            except RemoteIdTaken:
                # As unknown it is not sent again, and is concluded once the other post gives up the remote id.
                assert write.outcome is not None
                log.error("remote_id_taken", post_id=write.outcome.id, remote_id=write.outcome.remote_id)
                write.outcome = replace(write.outcome, state="unknown", outcome=None)

    def _commit(self, writes: list[Write]) -> list[Written]:
        outcomes = [write.outcome for write in writes if write.outcome]
        repeated = [write for write in writes if write.is_repeat]
        with self._database.transaction() as connection:
            sending = Sending(connection)
            sending.await_earlier([post_id for write in repeated for post_id in _post_ids(write)])
            recorded = {post.id: post for post in sending.record(outcomes)}
            standing = {
                post.id: post
                for post in sending.standing([write.outcome for write in repeated if write.outcome])
                if post.id not in recorded
            }
            expired = [outcome.expired for outcome in outcomes if outcome.expired]
            for found in sorted(expired, key=lambda found: found.page.id):
                expire(connection, found)
            post_events.stage_ended(connection, recorded.values())
            post_events.stage_late(connection, sending.take_late(standing))
            begun = sending.begin([write.begin for write in writes if write.begin])
        written = recorded | standing
        self.let_go(*(Claim(outcome.id, outcome.fence) for outcome in outcomes))
        metrics.note_ended(written.values())
        for outcome in outcomes:
            if outcome.id not in written:
                log.warning("outcome_void", post_id=outcome.id, state=outcome.state)
        return [
            Written(
                written.get(write.outcome.id) if write.outcome else None,
                write.begin is not None and write.begin.id in begun,
            )
            for write in writes
        ]


def _post_ids(write: Write) -> list[str]:
    return [one.id for one in (write.outcome, write.begin) if one is not None]
