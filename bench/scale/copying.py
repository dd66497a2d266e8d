"""Fills tables by COPY: truncates them, copies rows and builds the indexes again, all in one transaction."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg2

_BLOCK = 1 << 20
_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
#: Ten bits → two characters.
_PAIRS = [f"{first}{second}" for first in _CROCKFORD for second in _CROCKFORD]


class Copier:
    """Fills tables of one database in one transaction."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def fill(self, table: str, columns: Sequence[str], rows: Iterable[str]) -> None:
        """Copies rows into a table. `rows` are lines in COPY's text format without line feeds."""
        names = ", ".join(columns)
        self._cursor.copy_expert(f"COPY {table} ({names}) FROM STDIN WITH (FREEZE)", Lines(rows))

    def execute(self, statement: str) -> None:
        self._cursor.execute(statement)


@contextmanager
def copying(url: str, tables: Sequence[str]) -> Iterator[Copier]:
    """Empties the tables, and lets the block fill them with the Copier that is yielded. Then builds their indexes
    again and runs VACUUM and ANALYZE.

    During the block the tables have only the indexes of constraints; triggers and foreign keys are not checked, so the
    rows must be consistent.
    """
    connection = psycopg2.connect(url.replace("+psycopg2", ""))
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            cursor.execute(f"TRUNCATE {', '.join(tables)} CASCADE")
            indexes = _drop_indexes(cursor, tables)
            yield Copier(cursor)
            for definition in indexes:
                cursor.execute(definition)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("VACUUM (ANALYZE)")
    finally:
        connection.close()


def _drop_indexes(cursor: Any, tables: Sequence[str]) -> list[str]:
    """Drops the indexes that no constraint needs, and returns the statements that create them again."""
    cursor.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = ANY(%s)"
        " AND indexname NOT IN (SELECT conname FROM pg_constraint)",
        (list(tables),),
    )
    found = cursor.fetchall()
    for name, _ in found:
        cursor.execute(f'DROP INDEX "{name}"')
    return [definition for _, definition in found]


class Lines:
    """A readable file with these lines, for psycopg2's COPY."""

    def __init__(self, rows: Iterable[str]) -> None:
        self._rows = iter(rows)
        self._rest = b""

    def read(self, size: int = _BLOCK) -> bytes:
        parts, length = [self._rest], len(self._rest)
        while length < size:
            row = next(self._rows, None)
            if row is None:
                break
            parts.append(f"{row}\n".encode())
            length += len(parts[-1])
        whole = b"".join(parts)
        self._rest = whole[size:]
        return whole[:size]


def line(*values: object) -> str:
    """Returns a line in COPY's text format. The values must not contain tabs, line feeds or backslashes."""
    return "\t".join("\\N" if value is None else str(value) for value in values)


def stamp(at: datetime) -> str:
    return at.isoformat()


def id_of(prefix: str, number: int, at: datetime | None = None) -> str:
    """Returns an id in the format of `chassis.ids`, with `number` in place of the random part. Such ids are sorted by
    time, then by number.
    """
    ms = int((at or _LONG_AGO).timestamp() * 1000)
    pairs = (_PAIRS[ms >> 40], _PAIRS[ms >> 30 & 1023], _PAIRS[ms >> 20 & 1023], _PAIRS[ms >> 10 & 1023])
    return f"{prefix}_{''.join(pairs)}{_PAIRS[ms & 1023]}{number:016d}"


_LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def spread(count: int, first: datetime, last: datetime) -> Iterator[datetime]:
    """Yields `count` evenly spaced times from `first` on, all before `last`."""
    step = (last - first) / max(count, 1)
    return (first + n * step for n in range(count))


def ago(now: datetime, **span: float) -> datetime:
    return now - timedelta(**span)
