"""Idempotency keys: which requests run, get a stored answer, or have to wait (docs/decisions.md, "Idempotency").

A key is claimed before the call and stands for one operation id for 24 hours. After the call its answer is stored, or
the key is deleted or unlocked. Only a killed process leaves a key locked. After the lock has expired, the same request
can be repeated and takes the key over.
"""

import hashlib
import re
import time
from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from chassis.db.batches import Batches, LaterBatches
from chassis.db.database import Database
from chassis.ids import new_id
from contracts.errors import (
    IDEMPOTENCY_IN_PROGRESS,
    IDEMPOTENCY_KEY_MISMATCH,
    INVALID_IDEMPOTENCY_KEY,
    PLATFORM_OUTCOME_UNKNOWN,
    POST_IN_PROGRESS,
    SERVER_ERROR,
    SERVICE_UNAVAILABLE,
    ApiError,
)
from gateway.http.answers import Answer
from gateway.idempotency.store import Claim, Found, Offered, Store, Verdict

#: Spec "Request field limits".
MAX_KEY_LENGTH = 120
#: No header can carry most of them, only the argument of a tool (/mcp). PostgreSQL refuses NUL, and with it the keys of
#: others in the same statement.
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")
#: decisions "Idempotency": only answers to calls that had an effect are kept.
STORED_STATUSES = frozenset({200, 201, 202, 207})
#: decisions "Idempotency": how long a second request waits for the first.
WAIT_SECONDS = 10.0
#: How long a lock lasts beyond its request's deadline: the answer of a request that ends in time is stored within it.
LOCK_MARGIN_SECONDS = 2.0
#: Errors after which the operation may have happened: the key keeps its operation id, so that nothing is done twice.
#: IDEMPOTENCY_IN_PROGRESS comes from a service where the operation still runs although its first call lost its answer.
_OUTCOME_OPEN = frozenset(
    row.code for row in (PLATFORM_OUTCOME_UNKNOWN, SERVICE_UNAVAILABLE, SERVER_ERROR, IDEMPOTENCY_IN_PROGRESS)
)
_FORGET_AT_ONCE = 500
#: Keys to give up and answers to store once the database is back. Beyond this number the oldest are dropped: their
#: clients repeated them long ago, or their locks have expired, so that a repetition runs the operation again, which
#: answers as the first time. A dropped new one would make its client wait for the lock.
_MOST_WAITING = 10_000
#: Answers stored by one statement, which keeps its row locks short.
_ANSWERS_AT_ONCE = 200
#: Seconds between checks of a running request's key: short at first, then longer.
_POLLS = (0.02, 0.03, 0.05, 0.1, 0.2)

_decode_headers = msgspec.json.Decoder(dict[str, str]).decode


def fingerprint_of(method: str, path: str, body: bytes) -> bytes:
    """Returns a hash of method, path with query, and raw body (docs/decisions.md, "Idempotency")."""
    return hashlib.sha256(b"\0".join((method.encode(), path.encode(errors="surrogateescape"), body))).digest()


def leaves_outcome_open(error: ApiError, *, sends: bool) -> bool:
    """Whether an operation whose call ended with this error may have had an effect, or may still have one.

    If so, its idempotency key is not deleted, and a repeated request continues the same operation. `sends`: the call
    publishes or replies.
    """
    return error.code in _OUTCOME_OPEN or is_being_looked_up(error, sends=sends)


def is_being_looked_up(error: ApiError, *, sends: bool) -> bool:
    """Whether the service `publishing` has stored the operation and is finding out its outcome. The operation's unit is
    then not refunded.

    `sends`: the call publishes or replies. Then the error POST_IN_PROGRESS means that the operation is still being
    carried out; for an edit or a cancellation it only means that the post cannot be changed now.
    """
    return error.code == PLATFORM_OUTCOME_UNKNOWN.code or (sends and error.code == POST_IN_PROGRESS.code)


class IdempotencyKeys:
    """Claims idempotency keys and stores answers. Thread-safe.

    All state is in the database, except answers and released keys that are not written yet.
    """

    def __init__(
        self,
        database: Database,
        *,
        required: bool = False,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._required = required
        self._sleep = sleep
        self._monotonic = monotonic
        #: New keys that are claimed at the same moment share a statement and its commit.
        self._new_keys: Batches[Offered, bool] = Batches(self._claim_new)
        self._waiting: deque[tuple[Claim, bool]] = deque(maxlen=_MOST_WAITING)
        #: Answers that are not stored yet.
        self.answers = LaterBatches(self._store_answers, at_once=_ANSWERS_AT_ONCE, most=_MOST_WAITING)

    def claim(
        self,
        token_id: str,
        key: str | None,
        fingerprint: bytes,
        lock_seconds: float,
        *,
        is_used: bool = False,
    ) -> Claim | None:
        """Claims the key of a request. Returns None if no key was sent and none is required. If the request is
        refused, the claim holds the refusal; it is not raised.

        `is_used`: another request has claimed the key before.
        """
        if key is None and not self._required:
            return None
        if not key or len(key) > MAX_KEY_LENGTH:
            return _refused(token_id, key or "", ApiError(INVALID_IDEMPOTENCY_KEY))
        if _CONTROL_CHARACTER.search(key):
            error = ApiError(
                INVALID_IDEMPOTENCY_KEY, "The Idempotency-Key must not contain control characters."
            )
            return _refused(token_id, key, error)
        try:
            return self._claim(
                token_id, key, fingerprint, lock_seconds + LOCK_MARGIN_SECONDS, is_used=is_used
            )
        except ApiError as error:
            return _refused(token_id, key, error)

    def await_turn(self, claim: Claim, lock_seconds: float) -> Claim:
        """Waits, at most 10 s, until the request that holds the key has ended.

        Then returns that request's answer. If it has left no answer, claims the key. If it has not ended in time,
        returns a refusal with IDEMPOTENCY_IN_PROGRESS.
        """
        end = self._monotonic() + WAIT_SECONDS
        for pause in _polls():
            if self._monotonic() + pause > end:
                break
            self._sleep(pause)
            now = self.claim(claim.token_id, claim.key, claim.fingerprint, lock_seconds, is_used=True)
            assert now is not None
            if now.verdict is not Verdict.RUNNING:
                return now
        return _refused(claim.token_id, claim.key, ApiError(IDEMPOTENCY_IN_PROGRESS, retry_after_seconds=2))

    def _claim(
        self, token_id: str, key: str, fingerprint: bytes, lock_seconds: float, *, is_used: bool
    ) -> Claim:
        offer = Offered(token_id, key, fingerprint, new_id("op"), lock_seconds)
        is_new = not is_used
        while True:
            if is_new and self._new_keys.submit(offer):
                return _claimed(offer, offer.operation_id, 1)
            with self._database.reading() as connection:
                store = Store(connection)
                held = store.take_over(offer)
                if held is not None:
                    return _claimed(offer, *held)
                found = store.find(token_id, key)
            is_new = found is None
            claim = None if found is None else _judge(token_id, key, fingerprint, found)
            if claim is not None:
                return claim

    def _claim_new(self, offers: list[Offered]) -> list[bool]:
        with self._database.reading() as connection:
            claimed = Store(connection).claim_new(offers)
        return [offer.operation_id in claimed for offer in offers]

    def keep(self, claim: Claim, answer: Answer) -> None:
        """Keeps the answer in memory for repeated requests; it is written to the database a moment later.

        Until then a repeated request finds the key locked, and waits. If the process is killed before the write, the
        key stays locked until its lock expires.
        """
        self.answers.add((claim, answer))

    def _store_answers(self, answers: list[tuple[Claim, Answer]]) -> None:
        with self._database.reading() as connection:
            Store(connection).keep(answers)

    def give_up(self, claim: Claim, *, outcome_open: bool, at_once: bool = True) -> None:
        """Deletes the key of a failed request. If the outcome is unknown, keeps the key and unlocks it for the same
        request.

        Leaves the key to `give_up_waiting` if the request has no time left (`at_once` is False), if the database is
        unreachable, or if other keys are left already.
        """
        if self._waiting or not at_once or not self._has_given_up(claim, outcome_open):
            self._waiting.append((claim, outcome_open))

    def give_up_waiting(self) -> None:
        """Deletes or unlocks the keys that `give_up` has left for later, oldest first. Stops if the database does not
        answer."""
        for _ in range(len(self._waiting)):
            claim, outcome_open = self._waiting.popleft()
            if not self._has_given_up(claim, outcome_open):
                self._waiting.appendleft((claim, outcome_open))
                return

    def _has_given_up(self, claim: Claim, outcome_open: bool) -> bool:
        try:
            with self._database.reading() as connection:
                store = Store(connection)
                (store.unlock if outcome_open else store.release)(claim)
        except ApiError:
            return False
        return True

    def forget_old(self) -> int:
        """Deletes all keys older than 24 hours, 500 in each statement. Returns how many it deleted."""
        removed = 0
        while True:
            with self._database.reading() as connection:
                count = Store(connection).forget_old(_FORGET_AT_ONCE)
            removed += count
            if count < _FORGET_AT_ONCE:
                return removed


def _claimed(offer: Offered, operation_id: str, fence: int) -> Claim:
    return Claim(
        verdict=Verdict.CLAIMED,
        token_id=offer.token_id,
        key=offer.key,
        fingerprint=offer.fingerprint,
        operation_id=operation_id,
        fence=fence,
        taken_over=operation_id != offer.operation_id,
    )


def _judge(token_id: str, key: str, fingerprint: bytes, found: Found) -> Claim | None:
    """Returns what a request gets whose key was claimed before, by `found`.

    This is a refusal if `found` was a different request (another fingerprint), the answer to `found` if it is stored,
    and RUNNING while `found` is running. Returns None if the key is free by now.
    """
    if found.fingerprint != fingerprint:
        return _refused(token_id, key, ApiError(IDEMPOTENCY_KEY_MISMATCH))
    if found.status is not None:
        answer = Answer(found.status, found.body, _decode_headers(found.headers))
        return Claim(
            verdict=Verdict.STORED,
            token_id=token_id,
            key=key,
            operation_id=found.operation_id,
            answer=answer,
        )
    if found.locked:
        return Claim(verdict=Verdict.RUNNING, token_id=token_id, key=key, fingerprint=fingerprint)
    return None


def _refused(token_id: str, key: str, error: ApiError) -> Claim:
    return Claim(verdict=Verdict.REFUSED, token_id=token_id, key=key, error=error)


def _polls() -> Iterator[float]:
    yield from _POLLS
    while True:
        yield _POLLS[-1]
