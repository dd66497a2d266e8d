"""All SQL of the idempotency keys."""

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, bindparam, delete, func, select, text, update

from chassis.db.database import Prepared
from contracts.errors import ApiError
from contracts.record import Record
from gateway.http.answers import Answer
from gateway.models import idempotency_keys as keys


class Verdict(Enum):
    #: This request runs.
    CLAIMED = "claimed"
    #: The request is done: its answer was kept.
    STORED = "stored"
    #: The same request is running elsewhere.
    RUNNING = "running"
    #: Refused, see `error`.
    REFUSED = "refused"


class Claim(Record):
    """The result of claiming a request's idempotency key."""

    verdict: Verdict
    token_id: str
    key: str
    fingerprint: bytes = b""
    operation_id: str = ""
    fence: int = 0
    #: An earlier try left the key locked: its operation may have happened.
    taken_over: bool = False
    answer: Answer | None = None
    error: ApiError | None = None


class Offered(NamedTuple):
    """A key that a request wants to claim. `operation_id` is used if the key is new or older than 24 hours; otherwise
    the key keeps the one that it has.
    """

    token_id: str
    key: str
    fingerprint: bytes
    operation_id: str
    lock_seconds: float


class Found(Record):
    """A key that another request has claimed: its fingerprint, and its answer if there is one."""

    fingerprint: bytes
    locked: bool
    status: int | None
    headers: bytes
    body: bytes
    operation_id: str


_encode_headers = msgspec.json.Encoder().encode
#: Commits asynchronously: if a crash loses it, the key stays claimed, and the same request takes it over with the same
#: operation id. The claim itself commits synchronously.
_KEEP = Prepared(
    """
    UPDATE idempotency_keys k SET status = a.status, headers = a.headers, body = a.body
    FROM unnest(%(token_id)s::text[], %(key)s::text[], %(operation_id)s::text[], %(fence)s::bigint[],
        %(status)s::int[], %(headers)s::bytea[], %(body)s::bytea[])
        AS a (token_id, key, operation_id, fence, status, headers, body)
    WHERE k.token_id = a.token_id AND k.key = a.key AND k.operation_id = a.operation_id AND k.fence = a.fence
        AND k.status IS NULL
        AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off'
    """
)


def _mine(statement: Any) -> Any:
    """Restricts `statement` to the key that this request holds, and makes the statement's commit asynchronous.

    The condition compares the operation's id as well, because fencing tokens repeat: after a key was deleted, its next
    claim has fencing token 1 again.
    """
    return statement.where(
        keys.c.token_id == bindparam("of_token_id"),
        keys.c.key == bindparam("of_key"),
        keys.c.operation_id == bindparam("of_operation_id"),
        keys.c.fence == bindparam("of_fence"),
        keys.c.status.is_(None),
        func.set_config("synchronous_commit", "off", True) == "off",
    )


#: In the order of keys, so that two batches with the same keys cannot deadlock. Existing keys stay as they are
#: (`_TAKE_OVER`). Keys are kept for 24 hours (spec "Authentication" 10).
_CLAIM_NEW = Prepared(
    """
    INSERT INTO idempotency_keys (token_id, key, fingerprint, operation_id, fence, locked_until, created_at)
    SELECT token_id, key, fingerprint, operation_id, 1, clock_timestamp() + make_interval(secs => lock_seconds),
        clock_now()
    FROM unnest(%(token_id)s::text[], %(key)s::text[], %(fingerprint)s::bytea[], %(operation_id)s::text[],
        %(lock_seconds)s::float8[]) AS offered (token_id, key, fingerprint, operation_id, lock_seconds)
    ORDER BY token_id, key
    ON CONFLICT DO NOTHING RETURNING operation_id
    """
)
#: A key that is older than 24 hours is claimed as if it was new; an abandoned one keeps its operation.
_TAKE_OVER = Prepared(
    """
    UPDATE idempotency_keys k SET
        fingerprint = offered.fingerprint,
        operation_id = CASE WHEN k.created_at <= offered.expired THEN offered.operation_id ELSE k.operation_id END,
        created_at = CASE WHEN k.created_at <= offered.expired THEN clock_now() ELSE k.created_at END,
        fence = k.fence + 1,
        locked_until = clock_timestamp() + make_interval(secs => offered.lock_seconds),
        status = NULL, headers = NULL, body = NULL
    FROM (SELECT %(fingerprint)s::bytea AS fingerprint, %(operation_id)s::text AS operation_id,
        %(lock_seconds)s::float8 AS lock_seconds, clock_now() - interval '24 hours' AS expired) AS offered
    WHERE k.token_id = %(token_id)s AND k.key = %(key)s AND (
        k.created_at <= offered.expired
        OR (k.fingerprint = offered.fingerprint AND k.status IS NULL AND k.locked_until <= clock_timestamp())
    )
    RETURNING k.operation_id, k.fence
    """
)
_FIND = Prepared(
    select(
        keys.c.fingerprint,
        (keys.c.locked_until > func.clock_timestamp()).label("locked"),
        keys.c.status,
        keys.c.headers,
        keys.c.body,
        keys.c.operation_id,
    ).where(keys.c.token_id == bindparam("of_token_id"), keys.c.key == bindparam("of_key"))
)
_UNLOCK = _mine(update(keys)).values(locked_until=func.clock_timestamp())
_RELEASE = _mine(delete(keys))
_FORGET = delete(keys).where(
    text(
        "ctid IN (SELECT ctid FROM idempotency_keys WHERE created_at <= clock_now() - interval '24 hours'"
        " ORDER BY created_at LIMIT :most FOR UPDATE SKIP LOCKED)"
    )
)


class Store:
    """Reads and writes idempotency keys on an open connection. A request that has lost its key changes nothing."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def claim_new(self, offers: list[Offered]) -> set[str]:
        """Claims the offered keys that no request has used yet. Returns their operation ids."""
        columns = zip(*offers, strict=True)
        rows = _CLAIM_NEW.fetch(self._connection, dict(zip(Offered._fields, map(list, columns), strict=True)))
        return {operation_id for (operation_id,) in rows}

    def take_over(self, offer: Offered) -> tuple[str, int] | None:
        """Claims a key that was used before, and returns its operation id and fencing token. Returns None if the key
        cannot be claimed.

        It can be claimed if it is older than 24 hours. It can also be claimed if it has no answer, its lock has
        expired, and the request that used it was the same.
        """
        rows = _TAKE_OVER.fetch(self._connection, offer._asdict())
        return (rows[0][0], rows[0][1]) if rows else None

    def find(self, token_id: str, key: str) -> Found | None:
        rows = _FIND.fetch(self._connection, {"of_token_id": token_id, "of_key": key})
        if not rows:
            return None
        fingerprint, locked, status, headers, body, operation_id = rows[0]
        return Found(
            fingerprint=bytes(fingerprint),
            locked=locked,
            status=status,
            headers=bytes(headers or b"{}"),
            body=bytes(body or b""),
            operation_id=operation_id,
        )

    def keep(self, answers: Sequence[tuple[Claim, Answer]]) -> None:
        """Stores answers for repeated requests."""
        claims = [claim for claim, _ in answers]
        values = {
            "token_id": [claim.token_id for claim in claims],
            "key": [claim.key for claim in claims],
            "operation_id": [claim.operation_id for claim in claims],
            "fence": [claim.fence for claim in claims],
            "status": [answer.status for _, answer in answers],
            "headers": [_encode_headers(answer.headers) for _, answer in answers],
            "body": [answer.whole for _, answer in answers],
        }
        _KEEP.fetch(self._connection, values)

    def unlock(self, claim: Claim) -> None:
        """Unlocks a key. The same request can then take the key over at once, with the same operation id."""
        self._connection.execute(_UNLOCK, _of(claim))

    def release(self, claim: Claim) -> None:
        """Deletes the key, because its request had no effect."""
        self._connection.execute(_RELEASE, _of(claim))

    def forget_old(self, most: int) -> int:
        """Deletes at most `most` keys older than 24 hours; returns how many it deleted."""
        return self._connection.execute(_FORGET, {"most": most}).rowcount


def _of(claim: Claim) -> dict[str, Any]:
    return {
        "of_token_id": claim.token_id,
        "of_key": claim.key,
        "of_operation_id": claim.operation_id,
        "of_fence": claim.fence,
    }
