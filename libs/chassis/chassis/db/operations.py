"""Write operations that take effect once, however many tries of them run (docs/decisions.md, "Idempotency").

A service that stores something for a client keeps a row for each operation id, and every try locks that row before it
stores anything. The row says what the operation has made, and up to which try the operation is voided: a try that
refuses its client voids itself and all tries before it, so that an earlier one that still runs stores nothing later.
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

#: Longer than the 24 hours of an idempotency key (spec "Authentication" 10), with room for a key taken over at its
#: end and for clocks that differ. Our choice.
KEPT_DAYS = 3

_FORGET_AT_ONCE = 1_000

metadata = MetaData()

#: A service that uses it takes it into its own models (`operations.to_metadata(metadata)`).
operations = Table(
    "operations",
    metadata,
    #: In the order of bytes, which is the order of creation: `forget` removes the oldest by a range of ids.
    Column("id", Text(collation="C"), primary_key=True),
    #: Tries up to this one store nothing.
    Column("voided_to_try", Integer, nullable=False, server_default=text("0")),
    #: What the operation has made, in its service's words: an id, or an answer as JSON. Null: nothing.
    Column("result", Text),
)

#: Locks the row. With a result that is known beforehand the row has it at once, unless an earlier try made something or
#: this try is voided.
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
#: In the order of ids: two that void the same operations must not wait for each other.
_VOID = Prepared(
    """
    INSERT INTO operations (id, voided_to_try)
    SELECT id, max(number) FROM unnest(%(ids)s::text[], %(tries)s::int[]) AS tries (id, number) GROUP BY id ORDER BY id
    ON CONFLICT (id) DO UPDATE SET voided_to_try = greatest(operations.voided_to_try, excluded.voided_to_try)
    RETURNING id, result
    """
)
#: Ids that are no ULIDs are an operator's own and stay. The time of an id is its first ten characters.
_FORGET = text(
    """
    DELETE FROM operations WHERE id IN (
        SELECT id FROM operations WHERE id >= 'op_0' AND id < :before ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED)
    """
)

#: These errors say themselves how the operation stands.
_OPEN = frozenset(row.code for row in (PLATFORM_OUTCOME_UNKNOWN, IDEMPOTENCY_IN_PROGRESS))


class Operation(NamedTuple):
    """How an operation stands for one try of it."""

    #: What it has made; None: nothing.
    result: str | None
    #: Whether this try may store nothing any more.
    is_void: bool

    def check(self, own: str | None = None) -> None:
        """Returns if this try is to do the work. Raises Done for a result that is not its own, IDEMPOTENCY_IN_PROGRESS
        for a voided try."""
        if self.result not in (None, own):
            raise Done(self.result)
        if self.is_void:
            raise voided()


class Effect(NamedTuple):
    """What a try is about to make, where its id is known beforehand."""

    caller: Caller
    result: str


class Done(Exception):
    """Another try of the operation has made `result`. `once` answers with that."""

    def __init__(self, result: str) -> None:
        super().__init__(result)
        self.result = result


def voided() -> ApiError:
    """The error of a try that may store nothing any more: its client has an answer already, or sends a later try."""
    return ApiError(IDEMPOTENCY_IN_PROGRESS, retry_after_seconds=1)


def once(database: Database, caller: Caller, work: Callable[[], T], again: Callable[[str], T | None]) -> T:
    """What `work` returns; if another try of the caller's operation was first, what `again` makes of its result.

    A refusal is recorded before it is raised: from then on no earlier try of the operation stores anything. If one has
    stored something by then, its result takes the refusal's place, as it does after a commit whose answer was lost.
    `again` returns None where a result counts for nothing, as a post that its platform refused.
    """
    try:
        return work()
    except Done as done:
        answer = again(done.result)
        if answer is None:  # it failed since this try looked
            raise voided() from done
        return answer
    except ApiError as error:
        result = _result_despite(database, caller, error)
        try:
            answer = None if result is None else again(result)
        except ApiError:
            if error.row is not SERVICE_UNAVAILABLE:
                raise
            answer = None  # after an outage nothing but a success takes its place
        if answer is None:
            raise
        return answer


def _result_despite(database: Database, caller: Caller, error: ApiError) -> str | None:
    """What the operation has made although this try failed; None: nothing, and after a refusal it stays so.

    Raises ApiError SERVICE_UNAVAILABLE.
    """
    if caller.operation_id is None or error.code in _OPEN:
        return None
    with database.reading() as connection:
        operations = Operations(connection)
        # An operator repeats a command as the same try, and may do so after a refusal.
        if error.row is SERVICE_UNAVAILABLE or caller.is_operator:
            return operations.find(caller.operation_id)
        return operations.void([(caller.operation_id, caller.try_number)])[caller.operation_id]


class Operations:
    """Operations over an open connection. A caller without an operation id is asked nothing and remembered nowhere."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def lock(self, caller: Caller, result: str | None = None) -> Operation:
        """Returns how the caller's operation stands, and locks it until the transaction ends: its other tries wait.

        With a `result` that it is about to make, that is what it has made if the transaction is committed.
        """
        if caller.operation_id is None:
            return Operation(result, is_void=False)
        values = {"operation_id": caller.operation_id, "try_number": caller.try_number, "result": result}
        [(made, is_void)] = CLAIM.fetch(self._connection, values)
        return Operation(made, is_void)

    def begin(self, caller: Caller, result: str | None = None) -> None:
        """Locks the operation; this try goes on alone, and `end` is not needed if its `result` is known already.

        Raises Done, IDEMPOTENCY_IN_PROGRESS for a voided try.
        """
        self.lock(caller, result).check(own=result)

    def end(self, caller: Caller, result: str) -> None:
        """Leaves what the operation has made, and commits. Nothing may follow in the transaction."""
        if caller.operation_id is not None:
            values = {"operation_id": caller.operation_id, "result": result}
            end_with(self._connection, _END.on(self._connection), values)

    def void(self, tries: Collection[tuple[str, int]]) -> dict[str, str | None]:
        """Voids operations (id, number of the last try to be voided); their results by id, None: nothing was made.

        Waits for a try that is storing something at this moment.
        """
        if not tries:
            return {}
        ids, numbers = zip(*tries, strict=True)
        rows = _VOID.fetch(self._connection, {"ids": list(ids), "tries": list(numbers)})
        return dict(rows)

    def find(self, operation_id: str) -> str | None:
        """What an operation has made; None: nothing, as far as is committed."""
        rows = _FIND.fetch(self._connection, {"operation_id": operation_id})
        return rows[0][0] if rows else None

    def forget(self, before: str, limit: int) -> int:
        """Removes operations with ids below `before`, at most `limit`; returns how many."""
        return self._connection.execute(_FORGET, {"before": before, "limit": limit}).rowcount


def create_operations(op: Any) -> None:
    """A step of a service's migrations: makes the table. `op` is Alembic's operations object."""
    metadata.create_all(op.get_bind())


def forget_old(database: Database) -> int:
    """One tick: removes operations older than KEPT_DAYS by the database's clock, a small batch; returns how many."""
    with database.transaction() as connection:
        seconds = connection.execute(
            text("SELECT extract(epoch FROM clock_timestamp())::float8")
        ).scalar_one()
        before = first_id("op", seconds - KEPT_DAYS * 86_400)
        return Operations(connection).forget(before, _FORGET_AT_ONCE)
