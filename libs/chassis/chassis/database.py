"""The service's PostgreSQL: one pool, short transactions, outages told as SERVICE_UNAVAILABLE.

Statements are SQLAlchemy Core; a service's store is a concrete class over the `Connection` given here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from contracts.errors import SERVICE_UNAVAILABLE, ApiError

#: A statement or a wait for a lock never outlasts a caller's patience (10 s by default). Our choice.
#: Times come in UTC, whatever the server's own zone.
_SESSION_OPTIONS = " ".join(
    f"-c {setting}"
    for setting in (
        "timezone=UTC",
        "statement_timeout=10000",
        "lock_timeout=5000",
        "idle_in_transaction_session_timeout=15000",
    )
)


class Database:
    """A pool of connections to one PostgreSQL database."""

    def __init__(self, url: str, *, pool_size: int = 16, pool_timeout_seconds: float = 5.0) -> None:
        self._url, self._pool_timeout_seconds = url, pool_timeout_seconds
        self.engine = self._engine(pool_size)
        # A pool of its own: switching a connection to autocommit and back costs more than a small query.
        self._autocommit = self._engine(
            max(pool_size // 2, 1), isolation_level="AUTOCOMMIT", pool_reset_on_return=None
        )
        self._after_commit: dict[str, Callable[[], None]] = {}

    def _engine(self, pool_size: int, **options: Any) -> Engine:
        return create_engine(
            self._url,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=self._pool_timeout_seconds,
            pool_use_lifo=True,
            connect_args={
                "options": _SESSION_OPTIONS,
                "connect_timeout": 5,
                "keepalives_idle": 5,
                "keepalives_interval": 2,
                "keepalives_count": 3,
            },
            **options,
        )

    def on_commit(self, mark: str, callback: Callable[[], None]) -> None:
        """Call back after every commit of a transaction that set `connection.info[mark]` (so the outbox wakes)."""
        self._after_commit[mark] = callback

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction: committed at the end of the block, rolled back on any exception.

        Raises ApiError SERVICE_UNAVAILABLE when the database is away; a failed commit may have happened,
        which is why every write is repeatable by its operation id.
        """
        with _outage_as_unavailable(), self.engine.connect() as connection:
            for mark in self._after_commit:
                connection.info.pop(mark, None)
            with connection.begin():
                yield connection
            marks = [mark for mark in self._after_commit if connection.info.pop(mark, None)]
        for mark in marks:
            self._after_commit[mark]()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Single statements without a transaction around them: one round trip each."""
        with _outage_as_unavailable(), self._autocommit.connect() as connection:
            yield connection

    def ping(self) -> None:
        """Raises ApiError SERVICE_UNAVAILABLE when the database does not answer."""
        with self.reading() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        self.engine.dispose()
        self._autocommit.dispose()


@contextmanager
def _outage_as_unavailable() -> Iterator[None]:
    try:
        yield
    except (OperationalError, InterfaceError, PoolTimeoutError) as error:
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=1) from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=1) from error
        raise
