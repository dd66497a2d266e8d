"""Transactions: BEGIN is sent together with the first statement, and COMMIT may be sent together with the last."""

import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

import psycopg2
import pytest
from sqlalchemy import Column, Integer, MetaData, Table, bindparam, event, literal, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import IntegrityError

from chassis.db.database import Database, Prepared, end_with, fetch
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from testkit.faulty_link import FaultyLink

COUNT = text("SELECT count(*) FROM things")
PID = text("SELECT pg_backend_pid()")


@pytest.fixture
def database(database_for: Callable[[str], str]) -> Iterator[Database]:
    found = Database(database_for("probe"), pool_size=1)
    with found.transaction() as connection:
        connection.execute(text("CREATE TABLE things (id integer PRIMARY KEY)"))
    yield found
    found.close()


def add(database: Database, number: int) -> None:
    with database.transaction() as connection:
        connection.execute(text("INSERT INTO things VALUES (:number)"), {"number": number})


def count(database: Database) -> int:
    with database.reading() as connection:
        return int(connection.execute(COUNT).scalar_one())


def is_in_transaction(database: Database) -> bool:
    """Tells whether the connection is in a transaction. Outside of one, the server gives each statement a new
    `now()`.
    """
    with database.reading() as connection:
        row = connection.execute(text("SELECT now() = statement_timestamp()")).scalar_one()
    return not row


def test_a_block_that_ends_is_committed_and_one_that_raises_leaves_nothing(database: Database) -> None:
    add(database, 1)
    with pytest.raises(RuntimeError), database.transaction() as connection:
        connection.execute(text("INSERT INTO things VALUES (2)"))
        raise RuntimeError
    assert count(database) == 1
    assert not is_in_transaction(database)


def test_statements_of_one_block_see_one_transaction(database: Database) -> None:
    with database.transaction() as connection:
        first = connection.execute(text("SELECT txid_current()")).scalar_one()
        assert connection.execute(text("SELECT txid_current()")).scalar_one() == first
        assert connection.execute(text("SELECT now() < statement_timestamp()")).scalar_one()


def test_a_statement_that_fails_ends_the_transaction_and_the_connection_goes_on(database: Database) -> None:
    add(database, 1)
    with pytest.raises(IntegrityError), database.transaction() as connection:
        connection.execute(text("INSERT INTO things VALUES (2)"))
        connection.execute(text("INSERT INTO things VALUES (1)"))
    assert count(database) == 1
    assert not is_in_transaction(database)
    add(database, 3)
    assert count(database) == 2


def test_a_block_without_a_statement_and_one_of_many_rows_work_too(database: Database) -> None:
    with database.transaction():
        pass
    with database.transaction() as connection:
        connection.exec_driver_sql("INSERT INTO things VALUES (%s)", [(1,), (2,), (3,)])
    assert count(database) == 3
    assert not is_in_transaction(database)


def test_the_last_statement_can_take_the_commit_along(database: Database) -> None:
    with database.transaction() as connection:
        connection.execute(text("INSERT INTO things VALUES (1)"))
        end_with(connection, "INSERT INTO things VALUES (%s)", (2,))
        assert count_elsewhere(database) == 2
    with pytest.raises(psycopg2.IntegrityError), database.transaction() as connection:
        connection.execute(text("INSERT INTO things VALUES (3)"))
        end_with(connection, "INSERT INTO things VALUES (%s)", (2,))
    assert count(database) == 2
    assert not is_in_transaction(database)


def count_elsewhere(database: Database) -> int:
    other = Database(str(database.engine.url.render_as_string(hide_password=False)), pool_size=1)
    try:
        return count(other)
    finally:
        other.close()


def test_what_is_called_back_after_a_commit_is_not_after_a_rollback(database: Database) -> None:
    called: list[str] = []
    database.on_commit("mark", lambda: called.append("back"))
    with pytest.raises(RuntimeError), database.transaction() as connection:
        connection.info["mark"] = True
        raise RuntimeError
    add(database, 1)
    assert called == []
    with database.transaction() as connection:
        connection.info["mark"] = True
        end_with(connection, "INSERT INTO things VALUES (%s)", (2,))
    assert called == ["back"]


def test_a_connection_that_breaks_inside_a_block_is_unavailable_once_and_then_replaced(
    database: Database,
) -> None:
    with pytest.raises(ApiError) as caught, database.transaction() as connection:
        connection.execute(text("INSERT INTO things VALUES (1)"))
        pid = connection.execute(PID).scalar_one()
        kill(database, pid)
        connection.execute(COUNT)
    assert caught.value.row is SERVICE_UNAVAILABLE
    assert count(database) == 0


def test_connections_that_ended_while_they_lay_idle_are_replaced_unnoticed(
    database_for: Callable[[str], str],
) -> None:
    database = Database(database_for("probe"), pool_size=3)
    with database.reading() as one, database.reading() as two, database.reading() as three:
        pids = [connection.execute(PID).scalar_one() for connection in (one, two, three)]
    for pid in pids:
        kill(database, pid)
    with database.transaction() as one, database.reading() as two, database.reading() as three:
        now = [connection.execute(PID).scalar_one() for connection in (one, two, three)]
    assert not {*now} & {*pids}
    database.close()


def test_a_server_that_ends_new_connections_at_once_is_away(database: Database) -> None:
    """A server that shuts down does so."""

    def end(connection: Any, _record: Any) -> None:
        kill(database, connection.info.backend_pid)

    database.close()
    event.listen(database.engine, "connect", end)
    with pytest.raises(ApiError) as caught:
        database.ping()
    assert caught.value.row is SERVICE_UNAVAILABLE
    event.remove(database.engine, "connect", end)
    assert count(database) == 0


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Database]]:
    """Opens a database by a host name that only the replaced `socket.getaddrinfo` knows. Its first address has no
    server; its second one is the test's.
    """
    parts = make_url(os.environ["TEST_DATABASE_URL"])
    link = FaultyLink(f"{parts.query['host']}/.s.PGSQL.{parts.port or 5432}")
    made: list[Database] = []

    def look_up(host: str, *_: Any, **__: Any) -> list[Any]:
        if host != "database.internal":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, 1, 6, "", (address, 0)) for address in ("127.0.0.2", "127.0.0.1")]

    def database(host: str) -> Database:
        url = parts.set(query={}, host=host, port=link.port).render_as_string(hide_password=False)
        made.append(Database(url, pool_size=1))
        return made[-1]

    monkeypatch.setattr("chassis.db.database.socket.getaddrinfo", look_up)
    yield database
    for one in made:
        one.close()
    link.close()


@pytest.mark.skipif(
    "TEST_DATABASE_URL" not in os.environ, reason="TEST_DATABASE_URL is not set: run ./dev test"
)
def test_a_host_s_name_is_looked_up_where_it_holds_up_nobody_and_each_of_its_addresses_tried(
    named: Callable[[str], Database],
) -> None:
    named("database.internal").ping()
    with pytest.raises(ApiError) as caught:
        named("nobody.internal").ping()
    assert caught.value.row is SERVICE_UNAVAILABLE


def kill(database: Database, pid: int) -> None:
    other = Database(str(database.engine.url.render_as_string(hide_password=False)), pool_size=1)
    with other.reading() as connection:
        connection.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": pid})
    other.close()


ADD = Prepared("INSERT INTO things VALUES (%(number)s) RETURNING id")
KNOWN = text("SELECT count(*) FROM pg_prepared_statements")


def known(database: Database) -> int:
    with database.reading() as connection:
        return int(connection.execute(KNOWN).scalar_one())


def test_a_prepared_statement_is_planned_once_for_each_connection(database: Database) -> None:
    with database.reading() as connection:
        assert ADD.fetch(connection, {"number": 1}) == [(1,)]
        assert ADD.fetch(connection, {"number": 2}) == [(2,)]
    assert known(database) == 1
    with database.reading() as connection:
        connection.invalidate()  # what comes after it knows nothing yet
        assert ADD.fetch(connection, {"number": 3}) == [(3,)]
    assert (known(database), count(database)) == (1, 3)


def test_a_statement_prepared_in_a_block_that_fails_is_known_and_what_it_did_is_undone(
    database: Database,
) -> None:
    with pytest.raises(RuntimeError), database.transaction() as connection:
        ADD.fetch(connection, {"number": 1})
        raise RuntimeError
    with pytest.raises(psycopg2.IntegrityError), database.transaction() as connection:
        ADD.fetch(connection, {"number": 2})
        ADD.fetch(connection, {"number": 2})
    assert (known(database), count(database)) == (1, 0)
    with database.transaction() as connection:
        assert ADD.fetch(connection, {"number": 1}) == [(1,)]
    assert count(database) == 1


def test_prepared_statements_can_travel_together_and_take_the_commit_along(database: Database) -> None:
    look = Prepared("SELECT count(*), %(word)s || '%' FROM things")
    with database.transaction() as connection:
        both = f"{ADD.on(connection)}; {look.on(connection)}"
        assert fetch(connection, both, {"number": 1, "word": "so"}) == [(1, "so%")]
        end_with(connection, ADD.on(connection), {"number": 2})
    assert count(database) == 2


def test_a_statement_of_sqlalchemy_s_brings_its_own_values_along(database: Database) -> None:
    things = Table("things", MetaData(), Column("id", Integer))
    add(database, 1)
    found = Prepared(
        select(things.c.id, literal("100%")).where(things.c.id > 0, things.c.id < bindparam("end"))
    )
    with database.reading() as connection:
        assert found.fetch(connection, {"end": 5}) == [(1, "100%")]
