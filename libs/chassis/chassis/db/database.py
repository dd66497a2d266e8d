"""The service's PostgreSQL database: a connection pool, short transactions, and outages as SERVICE_UNAVAILABLE.

Statements are SQLAlchemy Core; a service's store is a concrete class over the `Connection` given here.
"""

import hashlib
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg2
from psycopg2.errors import LockNotAvailable, UniqueViolation
from sqlalchemy import Connection, CursorResult, create_engine, event, text
from sqlalchemy.dialects.postgresql.psycopg2 import PGDialect_psycopg2
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from chassis.http.addresses import is_address
from chassis.telemetry import tracing
from contracts.errors import SERVICE_UNAVAILABLE, ApiError

__all__ = ["Compiled", "Database", "LockTimeout", "Prepared", "UniqueViolation", "end_with", "fetch"]

#: No statement and no wait for a lock lasts longer than a caller's deadline (10 s by default). Times are in UTC,
#: independently of the server's time zone.
_SESSION_OPTIONS = " ".join(
    f"-c {setting}"
    for setting in (
        "timezone=UTC",
        "statement_timeout=10000",
        "lock_timeout=5000",
        "idle_in_transaction_session_timeout=15000",
    )
)


#: Key in `connection.info` during a transaction: not begun, open, or ended by its last statement.
_STATE = "transaction"
_ASKED, _OPEN, _ENDED = "asked", "open", "ended"
#: Key in `connection.info`: the connection was opened for this checkout.
_MADE_NOW = "made_now"
#: Key in `connection.info`: the statements that the session has prepared.
_PREPARED = "prepared"
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")


class LockTimeout(ApiError):
    """Raised as SERVICE_UNAVAILABLE when another transaction locked a row for longer than `lock_timeout`.

    The transaction has failed; the connection is kept.
    """


class Database:
    """A pool of connections to one PostgreSQL database.

    All connections are in autocommit. A single statement costs one round trip. A transaction sends BEGIN together with
    its first statement, and with `end_with` COMMIT together with its last one. psycopg2 itself would use a separate
    round trip for BEGIN and for COMMIT.
    """

    def __init__(self, url: str, *, pool_size: int = 16, pool_timeout_seconds: float = 5.0) -> None:
        self.engine = create_engine(
            url,
            isolation_level="AUTOCOMMIT",
            hide_parameters=True,  # in error messages, which are logged
            pool_reset_on_return=None,
            use_native_hstore=False,  # unused, and costs each process a query
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=pool_timeout_seconds,
            pool_use_lifo=True,
            connect_args={
                "options": _SESSION_OPTIONS,
                "connect_timeout": 5,
                "keepalives_idle": 5,
                "keepalives_interval": 2,
                "keepalives_count": 3,
            },
        )
        event.listen(self.engine, "do_connect", _look_up_host)
        event.listen(self.engine, "connect", _note_made)
        event.listen(self.engine, "checkout", _replace_if_ended)
        event.listen(self.engine, "before_cursor_execute", _begin_with_the_first, retval=True)
        self.name = self.engine.url.database or ""
        self._after_commit: dict[str, Callable[[], None]] = {}

    def on_commit(self, mark: str, callback: Callable[[], None]) -> None:
        """Calls `callback` after each commit of a transaction that set `connection.info[mark]`. Used to wake a worker
        loop for rows that the transaction wrote.
        """
        self._after_commit[mark] = callback

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Runs a transaction, which commits at the end of the block and rolls back on any exception.

        Raises ApiError SERVICE_UNAVAILABLE when the database is away. A failed commit may have taken effect, so every
        write can be repeated with its operation id.
        """
        traced = tracing.in_database(self.name, "transaction")
        with _outage_as_unavailable(), traced, self.engine.connect() as connection:
            info = connection.info
            for mark in self._after_commit:
                info.pop(mark, None)
            info[_STATE] = _ASKED
            try:
                yield connection
                if info[_STATE] == _OPEN:
                    fetch(connection, "COMMIT")
            except BaseException:
                _roll_back(connection)
                raise
            finally:
                info.pop(_STATE, None)
            marks = [mark for mark in self._after_commit if info.pop(mark, None)]
        for mark in marks:
            self._after_commit[mark]()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yields a connection for single statements without a transaction, in one round trip each."""
        traced = tracing.in_database(self.name, "statement")
        with _outage_as_unavailable(), traced, self.engine.connect() as connection:
            yield connection

    def ping(self) -> None:
        """Raises ApiError SERVICE_UNAVAILABLE when the database does not answer."""
        with self.reading() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        self.engine.dispose()


def fetch(connection: Connection, statement: str, parameters: Any = None) -> list[tuple[Any, ...]]:
    """Runs a statement directly on the driver, and returns all rows.

    Used for frequent statements, because SQLAlchemy's overhead is as large as a small query. Values are passed to the
    driver unchanged. Raises LockTimeout, ApiError SERVICE_UNAVAILABLE when the database is away, and psycopg2.Error
    for other failures.
    """
    if connection.info.get(_STATE) == _ASKED:
        connection.info[_STATE] = _OPEN
        statement = f"BEGIN; {statement}"
    cursor = connection.connection.cursor()
    try:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall()) if cursor.description else []
    except LockNotAvailable as error:
        raise LockTimeout(SERVICE_UNAVAILABLE, retry_after_seconds=1) from error
    except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
        connection.invalidate(error)
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=1) from error
    finally:
        cursor.close()


class Compiled:
    """A SQLAlchemy statement whose SQL text for psycopg2 is made only once."""

    def __init__(self, statement: Any) -> None:
        self._text, self._constants = _compiled(statement)

    def fetch(self, connection: Connection, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        """Runs the statement with these bind parameters and returns all rows.

        Raises the errors of the function `fetch`.
        """
        return fetch(connection, self._text, self._constants | parameters)

    def run(self, connection: Connection, parameters: dict[str, Any]) -> CursorResult[Any]:
        """Runs the statement through SQLAlchemy, for callers that need column names or the number of rows."""
        return connection.exec_driver_sql(self._text, self._constants | parameters)


class Prepared:
    """A prepared statement. The server parses and plans it only once per connection. Parsing and planning are most of
    the cost of a small query.

    It is made from a SQLAlchemy statement or from SQL text. The text has a placeholder such as %(name)s for each value,
    with a cast where the type is ambiguous.
    """

    def __init__(self, statement: Any) -> None:
        text, self._constants = (statement, {}) if isinstance(statement, str) else _compiled(statement)
        names = list(dict.fromkeys(_PLACEHOLDER.findall(text)))
        numbered = _PLACEHOLDER.sub(lambda found: f"${names.index(found[1]) + 1}", text).replace("%%", "%")
        name = f"p_{hashlib.sha256(numbered.encode()).hexdigest()[:16]}"
        self._prepare = f"PREPARE {name} AS {numbered}"
        values = ", ".join(f"%({name})s" for name in names)
        self._execute = f"EXECUTE {name}({values})" if names else f"EXECUTE {name}"

    def fetch(self, connection: Connection, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        """Runs the statement with these values and returns all rows. Raises the errors of the function `fetch`."""
        return fetch(connection, self.on(connection), self._constants | values)

    def on(self, connection: Connection) -> str:
        """Prepares the statement on this connection if necessary, and returns the SQL that executes it."""
        known = connection.info.setdefault(_PREPARED, set())
        if self not in known:
            fetch(connection, self._prepare)
            known.add(self)
        return self._execute


def end_with(connection: Connection, statement: str, parameters: Any) -> None:
    """Runs the last statement of a transaction together with COMMIT, in one round trip. Nothing may follow in the
    block.
    """
    fetch(connection, f"{statement}; COMMIT", parameters)
    connection.info[_STATE] = _ENDED


def _compiled(statement: Any) -> tuple[str, dict[str, Any]]:
    """Returns a SQLAlchemy statement's SQL text for psycopg2, and the values of its constants by parameter name."""
    compiled = statement.compile(dialect=PGDialect_psycopg2())  # type: ignore[no-untyped-call]
    return str(compiled), dict(compiled.params)


def _look_up_host(_dialect: Any, _record: Any, _arguments: Any, options: dict[str, Any]) -> None:
    """Resolves the host name before a connection is opened, because libpq would block every green thread."""
    host = str(options.get("host", ""))
    if not host or "hostaddr" in options or "," in host or host.startswith("/") or is_address(host):
        return
    try:
        rows = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise psycopg2.OperationalError(f"{host}: {error}") from error
    addresses = list(dict.fromkeys(str(row[4][0]) for row in rows))
    # The name once per address, because the certificate is checked against the name.
    options |= {"host": ",".join([host] * len(addresses)), "hostaddr": ",".join(addresses)}


def _note_made(_connection: Any, record: Any) -> None:
    record.info[_MADE_NOW] = True


def _replace_if_ended(connection: Any, record: Any, _fairy: Any) -> None:
    """Replaces an idle connection that the server has closed, for example in a restart. So the next user of the
    connection gets no error.

    To notice that, reads twice what has already arrived: a server sends a last message before it closes a connection.
    This takes 0.4 µs and no round trip.

    A connection that was opened just now is not checked, because the pool would try again and raise its own error. If
    such a connection has ended, its first statement reports an outage.
    """
    if record.info.pop(_MADE_NOW, False):
        return
    try:
        connection.poll()
        connection.poll()
    except psycopg2.Error as error:
        raise DisconnectionError from error  # the pool makes a new one


def _begin_with_the_first(
    connection: Connection, cursor: Any, statement: str, parameters: Any, _context: Any, is_many: bool
) -> tuple[str, Any]:
    if connection.info.get(_STATE) == _ASKED:
        connection.info[_STATE] = _OPEN
        if is_many:  # the driver repeats the text for each row
            cursor.execute("BEGIN")
        else:
            statement = f"BEGIN; {statement}"
    return statement, parameters


def _roll_back(connection: Connection) -> None:
    """Rolls back the connection's open transaction, if there is one. Closes the connection if that fails."""
    if connection.invalidated or connection.info.get(_STATE) != _OPEN:
        return
    try:
        fetch(connection, "ROLLBACK")
    except ApiError:
        return  # it is gone


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
