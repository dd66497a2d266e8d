"""Adds a line to the request log for each request, in batches, so that no request waits for the log.

A line has the operation and its result; never a body, a header, a query or an id from the path.
"""

from datetime import datetime

import structlog

from chassis.db.batches import LaterBatches
from chassis.db.database import Database
from gateway.request_log.metrics import UNLOGGED
from gateway.request_log.store import Criteria, Day, Found, Line, RequestLogStore

log = structlog.get_logger()

#: How long lines gather before they are written: as long as a request is missing from the log.
WRITE_SECONDS = 0.5
#: Lines that wait while the database is away: 7 MB, a few seconds of a process under full load. Beyond that the
#: oldest are dropped.
_MOST_WAITING = 10_000
#: Lines written by one statement.
_LINES_AT_ONCE = 500
#: Lines deleted by one statement.
_FORGET_AT_ONCE = 2_000


class RequestLog:
    """Writes the requests of this process to the request log, and reads the log, which all gateways share.

    Thread-safe. Lines that are not written yet are lost if the process dies.
    """

    def __init__(self, database: Database, *, keep_days: int) -> None:
        self._database = database
        self._keep_days = keep_days
        self._waiting = LaterBatches(self._add, at_once=_LINES_AT_ONCE, most=_MOST_WAITING)
        self._dropped = 0
        #: Tokens over a limit that have a line since the last batch.
        self._over_limit: set[str] = set()

    @property
    def is_on(self) -> bool:
        return self._keep_days > 0

    def note(self, line: Line, *, is_over_limit: bool = False) -> None:
        """Takes a line to write later; drops the oldest if too many wait. Never blocks, never raises.

        `is_over_limit`: the service `quota` refused the request. Each batch takes at most one such line per token, so
        that a client that goes on calling over its limit cannot fill the table.
        """
        if is_over_limit:
            if line.token_id in self._over_limit:
                return
            self._over_limit.add(line.token_id)
        if not self._waiting.add(line):
            self._dropped += 1

    def write(self) -> int:
        """Writes the waiting lines to the database. Returns how many it wrote. If it raises SERVICE_UNAVAILABLE, the
        lines stay waiting.
        """
        self._tell_dropped()
        self._over_limit.clear()
        return self._waiting.write()

    def _add(self, lines: list[Line]) -> None:
        with self._database.reading() as connection:
            RequestLogStore(connection).add(lines)

    def forget_old(self) -> int:
        """Deletes lines older than `keep_days`, in batches, and daily counts older than 400 days. Returns how many
        lines it deleted."""
        removed = 0
        while True:
            with self._database.reading() as connection:
                store = RequestLogStore(connection)
                count = store.forget_lines(self._keep_days, _FORGET_AT_ONCE)
                if count < _FORGET_AT_ONCE:
                    store.forget_days()
            removed += count
            if count < _FORGET_AT_ONCE:
                return removed

    def page(
        self, account_id: str, criteria: Criteria, *, before: tuple[datetime, str] | None, limit: int
    ) -> list[Found]:
        """Returns the lines of the account that match the criteria, newest first.

        Raises SERVICE_UNAVAILABLE if the database cannot be reached.
        """
        with self._database.reading() as connection:
            return RequestLogStore(connection).page(account_id, criteria, before=before, limit=limit)

    def of_request(self, account_id: str, request_id: str, *, limit: int) -> list[Found]:
        """Returns the account's lines with this request id, newest first: the writes or, if there are none, the reads.
        Raises SERVICE_UNAVAILABLE if the database cannot be reached."""
        with self._database.reading() as connection:
            return RequestLogStore(connection).of_request(account_id, request_id, limit)

    def days(self, account_id: str, count: int) -> list[Day]:
        """Returns an account's counts of the last `count` days, today first. Raises SERVICE_UNAVAILABLE if the database
        cannot be reached."""
        with self._database.reading() as connection:
            return RequestLogStore(connection).days(account_id, count)

    def _tell_dropped(self) -> None:
        dropped, self._dropped = self._dropped, 0
        if dropped:
            UNLOGGED.add(dropped)
            log.warning("requests_unlogged", count=dropped)
