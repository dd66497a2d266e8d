"""All SQL of the media service. Each class runs statements over an open connection."""

from typing import Any, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, Executable, Select, TableClause, func, or_, select

from contracts.record import Record

__all__ = ["REAL_NOW", "Connection", "Store", "is_unleased", "next_rows"]

R = TypeVar("R", bound=Record)

#: Leases run in real time, however far the service's clock is shifted.
REAL_NOW = func.clock_timestamp()


class Store:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def _count(self, statement: Executable) -> int:
        return self._connection.execute(statement).rowcount

    def _all(self, statement: Executable, row: type[R]) -> list[R]:
        return [msgspec.convert(it, row) for it in self._connection.execute(statement).mappings()]

    def _first(self, statement: Executable, row: type[R]) -> R | None:
        found = self._connection.execute(statement).mappings().first()
        return msgspec.convert(found, row) if found else None


def next_rows(column: ColumnElement[Any], *conditions: Any, first: Any, limit: int) -> Select[Any]:
    """Returns a statement that locks and returns `limit` rows, ordered by `first`, that nobody else has locked."""
    found = select(column).where(*conditions).order_by(first).limit(limit)
    return found.with_for_update(skip_locked=True)


def is_unleased(table: TableClause) -> ColumnElement[bool]:
    return or_(table.c.lease_until.is_(None), table.c.lease_until < REAL_NOW)
