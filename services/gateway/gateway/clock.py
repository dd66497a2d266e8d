"""The services' clock in the gateway: local time plus its difference from database time.

Every request checks when its token expires; asking the database each time would add a query to every read.
"""

from datetime import UTC, datetime, timedelta

from chassis.db import clock
from chassis.db.database import Database


class GatewayClock:
    """Database time. While the database is away, the last known difference stays in use."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def measure(self) -> None:
        """Measures the difference. Raises ApiError SERVICE_UNAVAILABLE when the database is away."""
        with self._database.reading() as connection:
            self._ahead = clock.now(connection) - datetime.now(UTC)
