"""The services' clock as the gateway sees it: local time plus the difference to database time.

Token expiry is looked at on every request; asking the database each time would make it a part of every read.
"""

from datetime import UTC, datetime, timedelta

from chassis.db import clock
from chassis.db.database import Database


class GatewayClock:
    """With the database away the last known difference stays in use."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def measure(self) -> None:
        """Raises ApiError SERVICE_UNAVAILABLE when the database is away."""
        with self._database.reading() as connection:
            self._ahead = clock.now(connection) - datetime.now(UTC)
