"""All SQL of the quota service.

A transaction that changes the units of one account locks the account's counters row before any other row. Because every
transaction locks in this order, none can deadlock. There is one exception: statements about the charges of many
accounts lock no counters row. Such a statement is sent together with its COMMIT, so that no charge stays locked if the
process dies in between.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection as Connection
from sqlalchemy import Dialect, delete, func, select, text, tuple_, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import insert

from chassis.bus import outbox
from chassis.db import clock
from chassis.db.database import Prepared, end_with, fetch
from chassis.db.operations import Operations
from contracts.caller import Caller
from contracts.events import QuotaWarning, UnconfirmedUnit, UnitsUnconfirmed
from contracts.record import Record
from quota.charges import UnitCharge
from quota.decision import Counters
from quota.models import confirmation, counters, unit_charges


class Asked(NamedTuple):
    """A position in the order in which the publishing service is asked about charges: time and operation id of a
    charge. The database stores the position of the last charge that was asked about.
    """

    created_at: datetime
    operation_id: str


class Locked(Record):
    """Counter rows locked until the transaction ends, and the time at which they were locked."""

    counters: dict[str, Counters]
    now: datetime
    #: The charges of the operations, by operation id.
    charges: dict[str, UnitCharge] = {}


_NAMES = Counters.__struct_fields__
_COLUMNS = ", ".join(_NAMES)
#: Commits do not wait for the disk: a crash of the database loses less than a second of counts. See
#: `Store.wait_for_disk`.
_WITHOUT_DISK = "set_config('synchronous_commit', 'off', true)"
#: The time is read after the rows are locked, so that a row's windows never move backwards between replicas.
#: The setting is evaluated before the first row is locked: 2 µs, while a separate SET LOCAL slows admissions by some
#: per cent (measured).
_WAIT_AT_MOST = "(SELECT set_config('lock_timeout', %(patience)s, true)) <> ''"
_LOCK = Prepared(
    f"""
    WITH locked AS MATERIALIZED (
        SELECT {_COLUMNS} FROM counters WHERE subject = ANY(%(subjects)s) AND {_WAIT_AT_MOST}
        ORDER BY subject FOR UPDATE
    ) SELECT {_COLUMNS}, clock_now(), {_WITHOUT_DISK} FROM locked
    """
)
#: Reads the charges of the operations in a separate statement after the locks. Returns nothing if a row was missing
#: and could not be locked: a row added in between is not locked by us.
_LOCK_FIRST = Prepared(
    f"""
    SELECT set_config('quota.locked', count(*)::text, true), {_WITHOUT_DISK}
    FROM (
        SELECT FROM counters WHERE subject = ANY(%(subjects)s) AND {_WAIT_AT_MOST} ORDER BY subject FOR UPDATE
    ) AS locked
    """
)
_READ_WITH_CHARGES = Prepared(
    f"""
    SELECT {_COLUMNS}, clock_now(),
        (SELECT json_agg(unit_charges) FROM unit_charges WHERE operation_id = ANY(%(operation_ids)s))
    FROM counters WHERE subject = ANY(%(subjects)s) AND current_setting('quota.locked')::integer = %(count)s
    """
)
_ADD = Prepared(
    f"""
    INSERT INTO counters (subject) SELECT subject FROM unnest(%(subjects)s::text[]) AS new (subject)
    WHERE {_WAIT_AT_MOST} ORDER BY subject ON CONFLICT DO NOTHING
    """
)
#: The rows that no other transaction has locked.
_LOCK_FREE = Prepared(
    "SELECT subject FROM counters WHERE subject = ANY(%(subjects)s) ORDER BY subject FOR UPDATE SKIP LOCKED"
)
_CHARGE_NAMES = UnitCharge.__struct_fields__
_CHARGE_COLUMNS = ", ".join(_CHARGE_NAMES)
_HOLD = Prepared(
    f"""
    INSERT INTO unit_charges ({_CHARGE_COLUMNS}, created_at)
    SELECT *, clock_timestamp()
    FROM unnest(%(charge_operation_id)s::text[], %(charge_account_id)s::text[], %(charge_year_month)s::text[],
        %(charge_bucket)s::text[], %(charge_try_number)s::integer[], %(charge_returned_to_try)s::integer[])
        AS new ({_CHARGE_COLUMNS})
    ORDER BY operation_id
    ON CONFLICT (operation_id) DO UPDATE SET year_month = excluded.year_month, bucket = excluded.bucket,
        try_number = excluded.try_number, returned_to_try = excluded.returned_to_try,
        created_at = CASE WHEN unit_charges.try_number < excluded.try_number THEN excluded.created_at
            ELSE unit_charges.created_at END
    """
)


#: In the order of ids, like the writes of charges.
_ASK_AGAIN = """
    WITH again AS (
        SELECT operation_id FROM unnest(%(ids)s::text[], %(numbers)s::integer[]) AS asked (id, number)
        JOIN unit_charges ON operation_id = asked.id AND try_number = asked.number
        ORDER BY operation_id FOR UPDATE OF unit_charges NOWAIT
    )
    UPDATE unit_charges SET created_at = clock_timestamp() FROM again
    WHERE unit_charges.operation_id = again.operation_id
    """


def _type(name: str) -> str:
    dialect: Dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    return str(counters.c[name].type.compile(dialect=dialect))


_WRITE = Prepared(
    f"""
    UPDATE counters SET {", ".join(f"{name} = new.{name}" for name in _NAMES[1:])}
    FROM unnest({", ".join(f"%({name})s::{_type(name)}[]" for name in _NAMES)})
        AS new ({_COLUMNS}) WHERE counters.subject = new.subject
    """
)


class Store:
    """Reads and writes counters and charges in one open transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def lock(
        self, subjects: Collection[str], operation_ids: Collection[str] = (), *, wait_seconds: float = 1.0
    ) -> Locked | None:
        """Locks the counter rows of all subjects (accounts or sandbox tokens) and returns them with the charges of the
        operations. Returns None when a subject has no row yet (see `add`).

        Rows are always locked in the same order. The commit of this transaction does not wait for the disk (see
        `wait_for_disk`), so a crash of the database may lose the counts of its last second. Raises LockTimeout when
        another transaction holds a row for longer than `wait_seconds`.
        """
        values = {
            "subjects": list(subjects),
            "operation_ids": list(operation_ids),
            "count": len(subjects),
            "patience": _patience(wait_seconds),
        }
        if operation_ids:  # one round trip, because every request runs this
            both = f"{_LOCK_FIRST.on(self._connection)}; {_READ_WITH_CHARGES.on(self._connection)}"
            rows = fetch(self._connection, both, values)
        else:
            rows = _LOCK.fetch(self._connection, values)
        if len(rows) < len(subjects):
            return None
        charges = msgspec.convert((operation_ids and rows[0][-1]) or [], list[UnitCharge])
        return Locked(
            counters={row[0]: _counters(row) for row in rows},
            now=rows[-1][len(_NAMES)].astimezone(UTC),
            charges={charge.operation_id: charge for charge in charges},
        )

    def lock_free(self, subjects: Collection[str]) -> set[str]:
        """Locks those of the subjects' counter rows that no other transaction has locked, without waiting. Returns the
        subjects of the locked rows.
        """
        return {row[0] for row in _LOCK_FREE.fetch(self._connection, {"subjects": list(subjects)})}

    def wait_for_disk(self) -> None:
        """Makes this transaction's commit wait for the disk. Events need it: unlike counts, they must not be lost."""
        self._connection.execute(text("SET LOCAL synchronous_commit TO on"))

    def stage_warning(self, warning: QuotaWarning) -> None:
        """Stages the warning's event in this transaction, whose commit then waits for the disk."""
        self.wait_for_disk()
        outbox.stage(self._connection, "account.quota.warning", warning, account_id=warning.user_id)

    def add(self, subjects: Collection[str], *, wait_seconds: float = 1.0) -> None:
        """Adds a counter row of zeros for each subject that has none. The transaction must hold no other lock.

        Raises LockTimeout if another transaction is adding one of the rows and does not end within `wait_seconds`.
        """
        _ADD.fetch(self._connection, {"subjects": list(subjects), "patience": _patience(wait_seconds)})

    def write(
        self,
        before: Mapping[str, Counters],
        after: Iterable[Counters],
        charges: Collection[UnitCharge] = (),
        *,
        commit: bool = False,
    ) -> None:
        """Writes charges and the counters that differ from `before`, in one round trip. With `commit`, also commits."""
        changed = [new for new in after if new != before[new.subject]]
        statements: list[str] = []
        values: dict[str, Any] = {}
        if changed:
            statements.append(_WRITE.on(self._connection))
            values |= _columns(changed, _NAMES)
        if charges:
            statements.append(_HOLD.on(self._connection))
            values |= _columns(charges, _CHARGE_NAMES, "charge_")
        if statements:
            (end_with if commit else fetch)(self._connection, "; ".join(statements), values)

    def usage(self, subject: str) -> tuple[Counters, datetime]:
        """Returns a subject's counters, without locking them, and the time of the business clock."""
        time = select(clock.clock_now().label("now")).subquery()
        joined = time.outerjoin(counters, counters.c.subject == subject)
        row = self._connection.execute(select(counters, time.c.now).select_from(joined)).one()
        return (_counters(row) if row.subject else Counters(subject=subject)), row.now.astimezone(UTC)

    def lock_confirmation(self) -> Asked | None:
        """Locks and returns the position of the last charge that the publishing service was asked about. Returns None
        while another replica is asking.
        """
        row = self._connection.execute(select(confirmation).with_for_update(skip_locked=True)).one_or_none()
        return Asked(row.created_at, row.operation_id) if row else None

    def unconfirmed(self, after: Asked, older_than: timedelta, limit: int) -> list[tuple[UnitCharge, Asked]]:
        """Returns at most `limit` charges that come after the position `after` and are older than `older_than`, oldest
        first, each with its own position.
        """
        columns = [unit_charges.c[name] for name in _CHARGE_NAMES]
        place = tuple_(unit_charges.c.created_at, unit_charges.c.operation_id)
        statement = (
            select(*columns, unit_charges.c.created_at)
            .where(place > tuple(after), unit_charges.c.created_at < func.now() - older_than)
            .order_by(unit_charges.c.created_at, unit_charges.c.operation_id)
            .limit(limit)
        )
        return [
            (
                UnitCharge(**dict(zip(_CHARGE_NAMES, row, strict=False))),
                Asked(row.created_at, row.operation_id),
            )
            for row in self._connection.execute(statement)
        ]

    def ask(self, charges: Sequence[UnitCharge], to: Asked) -> None:
        """Stages the event that asks the publishing service whether these charges had an effect, and stores the
        position `to` as reached.
        """
        if charges:
            question = UnitsUnconfirmed(
                charges=tuple(
                    UnconfirmedUnit(
                        account_id=one.account_id, operation_id=one.operation_id, try_number=one.try_number
                    )
                    for one in charges
                )
            )
            outbox.stage(self._connection, "units.unconfirmed", question, account_id="")
        self._connection.execute(update(confirmation).values(**to._asdict()))

    def ask_again(self, charges: Sequence[tuple[str, int]]) -> None:
        """Moves charges (operation id, try number) to the end of the order, so that the publishing service is asked
        about them again. Commits.

        Raises LockTimeout at once when another transaction holds one of them.
        """
        ids, numbers = zip(*charges, strict=True)
        end_with(self._connection, _ASK_AGAIN, {"ids": list(ids), "numbers": list(numbers)})

    def forget_counters(self, before_month: str, limit: int) -> int:
        """Deletes at most `limit` counter rows last used before `before_month` (YYYY-MM). Returns how many it deleted.

        Keeps the row of a sandbox token that has ever been used, because the row holds its total.
        """
        idle = (
            select(counters.c.subject)
            .where(counters.c.year_month < before_month, counters.c.lifetime == 0)
            .order_by(counters.c.year_month)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        return self._connection.execute(delete(counters).where(counters.c.subject.in_(idle))).rowcount

    def forget_charges(self, older_than: timedelta, limit: int) -> int:
        """Deletes at most `limit` charges older than `older_than`. Returns how many it deleted."""
        old = (
            select(unit_charges.c.operation_id)
            .where(unit_charges.c.created_at < func.now() - older_than)
            .order_by(unit_charges.c.created_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        return self._connection.execute(
            delete(unit_charges).where(unit_charges.c.operation_id.in_(old))
        ).rowcount

    def set_lifetime(self, caller: Caller, subject: str, count: int) -> None:
        """Sets how many requests a sandbox token has used in total, and commits.

        Does nothing if the caller's operation has done this before.
        """
        operations = Operations(self._connection)
        if operations.lock(caller).result is not None:
            return
        self._connection.execute(
            insert(counters)
            .values(subject=subject, lifetime=count)
            .on_conflict_do_update(index_elements=["subject"], set_={"lifetime": count})
        )
        operations.end(caller, subject)


def _patience(seconds: float) -> str:
    """Formats seconds for PostgreSQL's `lock_timeout`."""
    return f"{round(seconds * 1000)}ms"


def _columns(records: Iterable[Record], names: Sequence[str], prefix: str = "") -> dict[str, list[Any]]:
    """Returns the parameters of a statement: for each field name, a list with the values of that field in all records.

    `prefix` is put before the names, so that two statements in one message do not share a parameter.
    """
    return {f"{prefix}{name}": [getattr(record, name) for record in records] for name in names}


def _counters(row: Sequence[Any]) -> Counters:
    return Counters(**dict(zip(_NAMES, row, strict=False)))
