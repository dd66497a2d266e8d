"""SQL of the ledger of credits: locks and reads an account's ledger and adds entries.

From time to time the sums of an account's entries are stored in a row, the closing, so that reading a ledger stays
quick. A ledger is locked before entries are added, so that one account's entries are in one order. Entries never
change; the database refuses changes.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import Connection, insert, select

from ai.models import entries
from ai.rules.ledger import Book, Entry
from contracts.record import Record

#: A reader adds up about this many entries at most, which takes about 0.1 ms.
CLOSE_AFTER = 500

# Sent together with _BOOK in one round trip, because every charge needs both. The last statement's result is returned,
# and each statement sees what was committed when it began: the book is read after the lock is held.
_LOCK = """
INSERT INTO ledgers (account_id) VALUES (%(account_id)s) ON CONFLICT DO NOTHING;
SELECT FROM ledgers WHERE account_id = %(account_id)s FOR UPDATE;
"""
_BOOK = """
SELECT clock_now() AS now, behind.unclosed_count,
    coalesce(closing.plan, 0) + behind.plan AS plan,
    coalesce(closing.referral, 0) + behind.referral AS referral,
    coalesce(closing.bought, 0) + behind.bought AS bought,
    month.month, coalesce(month.granted, 0) AS granted, coalesce(month.carried, 0) AS carried,
    coalesce(debt.owed, 0) AS owed, wish.threshold AS refill_below
FROM (VALUES (1)) AS always
LEFT JOIN LATERAL (
    SELECT through_id, plan, referral, bought FROM closings WHERE account_id = %(account_id)s
    ORDER BY through_id DESC LIMIT 1) closing ON true
CROSS JOIN LATERAL (
    SELECT count(*) AS unclosed_count, coalesce(sum(plan), 0) AS plan,
        coalesce(sum(referral), 0) AS referral, coalesce(sum(bought), 0) AS bought
    FROM entries WHERE account_id = %(account_id)s AND id > coalesce(closing.through_id, 0)) behind
LEFT JOIN LATERAL (
    SELECT month, sum(plan) FILTER (WHERE kind = 'grant') AS granted,
        sum(plan) FILTER (WHERE kind = 'carry') AS carried
    FROM entries WHERE account_id = %(account_id)s AND kind IN ('grant', 'carry')
    GROUP BY month ORDER BY month DESC LIMIT 1) month ON true
LEFT JOIN LATERAL (
    SELECT -sum(owed) AS owed FROM entries WHERE account_id = %(account_id)s AND owed <> 0) debt ON true
LEFT JOIN auto_refills wish ON wish.account_id = %(account_id)s AND wish.enabled AND wish.due_at IS NULL
"""
_CLOSE = """
INSERT INTO closings (account_id, through_id, plan, referral, bought)
SELECT account_id, max(id), 0, 0, 0 FROM entries WHERE account_id = %(account_id)s GROUP BY account_id
"""
_SOUND = """
SELECT count(*) FROM (
    SELECT 1 FROM entries GROUP BY account_id
        HAVING least(sum(plan), sum(referral), sum(bought), -sum(owed)) < 0
            OR sum(plan + referral + bought + owed + issued + lapsed + spent) <> 0
    UNION ALL
    SELECT 1 FROM closings c, LATERAL (
        SELECT sum(plan) AS plan, sum(referral) AS referral, sum(bought) AS bought
        FROM entries e WHERE e.account_id = c.account_id AND e.id <= c.through_id) said
    WHERE (c.plan, c.referral, c.bought) IS DISTINCT FROM (said.plan, said.referral, said.bought)) wrong
"""


class LedgerState(Record):
    """The state of an account's ledger at the time `now`."""

    book: Book
    now: datetime
    #: Auto-refill is marked when the balance falls below this. None: it is off, or marked already.
    refill_below: int | None
    #: Entries after the last closing.
    unclosed_count: int


class Ledgers:
    """Ledgers of accounts. `lock` and `add` need an open transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def lock(self, account_id: str) -> LedgerState:
        """Locks an account's ledger until the transaction ends, creating it if there is none. Returns its state."""
        return self._standing(_LOCK + _BOOK, account_id)

    def read(self, account_id: str) -> LedgerState:
        """Returns the committed state of an account's ledger, without waiting for a lock."""
        return self._standing(_BOOK, account_id)

    def _standing(self, statements: str, account_id: str) -> LedgerState:
        row = self._connection.exec_driver_sql(statements, {"account_id": account_id}).one()
        book = Book(
            account_id=account_id,
            **{
                name: int(getattr(row, name))
                for name in ("plan", "referral", "bought", "owed", "granted", "carried")
            },
            month=row.month,
        )
        return LedgerState(
            book=book,
            now=row.now.astimezone(UTC),
            refill_below=row.refill_below,
            unclosed_count=row.unclosed_count,
        )

    def find(self, kind: str, operation_id: str) -> tuple[str, Entry] | None:
        """Returns the account and the ledger entry of this kind and operation, or None. Needs no lock: entries never
        change."""
        found = select(entries).where(entries.c.kind == kind, entries.c.operation_id == operation_id)
        row = self._connection.execute(found).mappings().one_or_none()
        return (row["account_id"], _entry(row)) if row else None

    def add(self, state: LedgerState, new: Iterable[Entry]) -> None:
        """Adds entries to the ledger, which must be locked. When many were added since the last closing, stores a new
        closing (the sums of all entries).
        """
        account_id = state.book.account_id
        rows = [msgspec.structs.asdict(entry) | {"account_id": account_id} for entry in new]
        if not rows:
            return
        self._connection.execute(insert(entries), rows)
        if state.unclosed_count + len(rows) > CLOSE_AFTER:
            self._connection.exec_driver_sql(_CLOSE, {"account_id": account_id})

    def wrong_count(self) -> int:
        """Returns how many ledgers are wrong (their entries do not add up to zero, or a sum is below zero), plus how
        many closings are wrong. Reads every entry.
        """
        return int(self._connection.exec_driver_sql(_SOUND).scalar_one())


def _entry(row: Any) -> Entry:
    return Entry(**{name: row[name] for name in Entry.__struct_fields__})
