"""Write operations that take effect once, however many tries run (docs/decisions.md, "Idempotency").

A service keeps a row for each operation id, and every try locks it before it stores anything. The row holds the
operation's result and the number of the last voided try. A try that refuses its client voids itself and all earlier
tries, so that none of them stores anything later.
"""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, text

from chassis.db.database import Database, Prepared, end_with
from chassis.ids import first_id
from contracts.caller import Caller
from contracts.errors import (
    IDEMPOTENCY_IN_PROGRESS,
    PLATFORM_OUTCOME_UNKNOWN,
    SERVICE_UNAVAILABLE,
    ApiError,
)

T = TypeVar("T")

#: Longer than the 24 hours of an idempotency key (spec "Authentication" 10), to cover a key that is taken over at its
#: end, and clock differences. Our choice.
KEPT_DAYS = 3

_FORGET_AT_ONCE = 1_000

metadata = MetaData()

#: A service adds it to its own models (`operations.to_metadata(metadata)`).
operations = Table(
    "operations",
    metadata,
    #: Sorted by bytes, which is the order of creation: `forget` deletes the oldest by a range of ids.
    Column("id", Text(collation="C"), primary_key=True),
    #: Tries up to this one store nothing.
    Column("voided_to_try", Integer, nullable=False, server_default=text("0")),
    #: The operation's result, in the service's format: an id, or an answer as JSON. Null: none.
    Column("result", Text),
)

#: Locks the row. Stores a result that is known beforehand, unless an earlier try has a result or this try is voided.
CLAIM = Prepared(
    """
    INSERT INTO operations (id, result) VALUES (%(operation_id)s, %(result)s::text)
    ON CONFLICT (id) DO UPDATE SET result = CASE WHEN operations.voided_to_try < %(try_number)s::int
        THEN coalesce(operations.result, excluded.result) ELSE operations.result END
    RETURNING result, voided_to_try >= %(try_number)s::int
    """
)
_FIND = Prepared("SELECT result FROM operations WHERE id = %(operation_id)s")
_END = Prepared("UPDATE operations SET result = %(result)s::text WHERE id = %(operation_id)s")
#: Sorted by id, so that two transactions that void the same operations cannot deadlock.
_VOID = Prepared(
    """
    INSERT INTO operations (id, voided_to_try)
    SELECT id, max(number) FROM unnest(%(ids)s::text[], %(tries)s::int[]) AS tries (id, number) GROUP BY id ORDER BY id
    ON CONFLICT (id) DO UPDATE SET voided_to_try = greatest(operations.voided_to_try, excluded.voided_to_try)
    RETURNING id, result
    """
)
#: Ids that are not ULIDs come from an operator and stay. The first ten characters of a ULID are its time.
_FORGET = text(
    """
    DELETE FROM operations WHERE id IN (
        SELECT id FROM operations WHERE id >= 'op_0' AND id < :before ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED)
    """
)

#: Errors that already describe the state of the operation.
_OPEN = frozenset(row.code for row in (PLATFORM_OUTCOME_UNKNOWN, IDEMPOTENCY_IN_PROGRESS))


class Operation(NamedTuple):
    """The state of an operation, as one try sees it."""

    #: Its result; None: none.
    result: str | None
    #: Whether this try must not store anything.
    is_void: bool

    def check(self, own: str | None = None) -> None:
        """Returns normally if this try should do the work.

        Raises Done with the stored result if another try has finished the operation, and IDEMPOTENCY_IN_PROGRESS if
        this try was voided. `own`: the result that this try may have stored itself, which does not count as another's.
        """
        if self.result not in (None, own):
            raise Done(self.result)
        if self.is_void:
            raise voided()


class Effect(NamedTuple):
    """A write that has an effect only once: the caller who makes it, and `result`, the id of the object that it
    creates.
    """

    caller: Caller
    result: str


class Done(Exception):
    """Raised when another try has finished the operation with `result`.

    The function `once` then answers with that result.
    """

    def __init__(self, result: str) -> None:
        super().__init__(result)
        self.result = result


def voided() -> ApiError:
    """Returns the error IDEMPOTENCY_IN_PROGRESS for a voided try: its client has an answer already, or has sent a later
    try."""
    return ApiError(IDEMPOTENCY_IN_PROGRESS, retry_after_seconds=1)


def once(database: Database, caller: Caller, work: Callable[[], T], again: Callable[[str], T | None]) -> T:
    """Runs `work` and returns its result. If another try of the operation has stored a result, returns `again(result)`
    instead.

    `work` raises Done when it finds such a result. If `work` raises an ApiError, `once` looks for a result too, because
    an earlier try may have committed although its answer was lost. If there is none, raises the error of `work`.

    If that error is a refusal, `once` first voids this try and all earlier ones, so that none of them can store
    anything later. It voids nothing for SERVICE_UNAVAILABLE, for errors that leave the outcome open, and for an
    operator, who may repeat a refused command.

    `again` returns None for a result that does not count, such as a post that its platform refused. `once` then raises
    the ApiError of `work`, or IDEMPOTENCY_IN_PROGRESS if `work` raised Done.
    """
    try:
        return work()
    except Done as done:
        answer = again(done.result)
        if answer is None:  # the other try has failed meanwhile
            raise voided() from done
        return answer
    except ApiError as error:
        result = _result_despite(database, caller, error)
        try:
            answer = None if result is None else again(result)
        except ApiError:
            if error.row is not SERVICE_UNAVAILABLE:
                raise
            answer = None  # after an outage only a success replaces the error
        if answer is None:
            raise
        return answer


def _result_despite(database: Database, caller: Caller, error: ApiError) -> str | None:
    """Returns the result that another try has stored, after this try raised `error`; None if there is none.

    If `error` is a refusal, first voids this try and all earlier ones, so that none of them can store a result later.
    Returns None for errors that leave the outcome open. Raises ApiError SERVICE_UNAVAILABLE when the database is away.
    """
    if caller.operation_id is None or error.code in _OPEN:
        return None
    with database.reading() as connection:
        operations = Operations(connection)
        # An operator may repeat a refused command, as the same try.
        if error.row is SERVICE_UNAVAILABLE or caller.is_operator:
            return operations.find(caller.operation_id)
        return operations.void([(caller.operation_id, caller.try_number)])[caller.operation_id]


class Operations:
    """Reads and writes the table of operations on an open connection. For a caller without an operation id, `lock`,
    `begin` and `end` store nothing."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def lock(self, caller: Caller, result: str | None = None) -> Operation:
        """Locks the caller's operation until the transaction ends, and returns its state. Other tries wait.

        `result`, if given, is stored as the operation's result, unless the operation has one already or this try was
        voided.
        """
        if caller.operation_id is None:
            return Operation(result, is_void=False)
        values = {"operation_id": caller.operation_id, "try_number": caller.try_number, "result": result}
        [(made, is_void)] = CLAIM.fetch(self._connection, values)
        return Operation(made, is_void)

    def begin(self, caller: Caller, result: str | None = None) -> None:
        """Locks the operation for this try. With a `result`, stores that too, so `end` need not be called.

        Raises Done if another try has finished the operation, and IDEMPOTENCY_IN_PROGRESS if this try was voided.
        """
        self.lock(caller, result).check(own=result)

    def end(self, caller: Caller, result: str) -> None:
        """Stores the operation's result, and commits. Nothing may follow in the transaction."""
        if caller.operation_id is not None:
            values = {"operation_id": caller.operation_id, "result": result}
            end_with(self._connection, _END.on(self._connection), values)

    def void(self, tries: Collection[tuple[str, int]]) -> dict[str, str | None]:
        """Voids tries, so that they can store nothing any more. `tries`: (operation id, number of the last try to
        void). Returns operation id → the operation's stored result, or None.

        Waits for a try that is storing something now.
        """
        if not tries:
            return {}
        ids, numbers = zip(*tries, strict=True)
        rows = _VOID.fetch(self._connection, {"ids": list(ids), "tries": list(numbers)})
        return dict(rows)

    def find(self, operation_id: str) -> str | None:
        """Returns an operation's committed result, or None."""
        rows = _FIND.fetch(self._connection, {"operation_id": operation_id})
        return rows[0][0] if rows else None

    def forget(self, before: str, limit: int) -> int:
        """Deletes at most `limit` operations whose ids sort before `before`. Returns how many it deleted. Keeps
        operations whose ids an operator has chosen."""
        return self._connection.execute(_FORGET, {"before": before, "limit": limit}).rowcount


def create_operations(op: Any) -> None:
    """Creates the table of operations, in a migration. `op` is Alembic's operations object."""
    metadata.create_all(op.get_bind())


def forget_old(database: Database) -> int:
    """Deletes a small batch of operations older than KEPT_DAYS, by the database's clock. Returns how
    many it deleted.
    """
    with database.transaction() as connection:
        seconds = connection.execute(
            text("SELECT extract(epoch FROM clock_timestamp())::float8")
        ).scalar_one()
        before = first_id("op", seconds - KEPT_DAYS * 86_400)
        return Operations(connection).forget(before, _FORGET_AT_ONCE)
