"""The services' clock in the gateway: local time plus its difference from database time.

Every request checks when its token expires; asking the database each time would add a query to every read.
"""

from datetime import UTC, datetime, timedelta

from chassis.db import clock
from chassis.db.database import Database


class GatewayClock:
    """Tells the time of the database, from the local clock and the measured difference.

    While the database is away, the last known difference stays in use.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def measure(self) -> None:
        """Measures how far the database's clock is ahead. Raises SERVICE_UNAVAILABLE when it is away."""
        with self._database.reading() as connection:
            self._ahead = clock.now(connection) - datetime.now(UTC)
