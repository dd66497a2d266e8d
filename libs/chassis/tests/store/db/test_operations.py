"""Operations: one effect, however many tries run. After a refusal, no earlier try can have an effect."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import text

from chassis.db.database import Database
from chassis.db.operations import Operations, forget_old, metadata, once
from chassis.ids import first_id, new_id
from contracts.caller import Caller, operator
from contracts.errors import NOT_FOUND, SERVICE_UNAVAILABLE, ApiError


@pytest.fixture
def database(database_for: Callable[[str], str]) -> Iterator[Database]:
    found = Database(database_for("probe"))
    metadata.create_all(found.engine)
    yield found
    found.close()


def a_try(number: int = 1, operation_id: str | None = "op_1") -> Caller:
    return Caller(account_id="usr_a", user_id="usr_a", operation_id=operation_id, try_number=number)


def store(database: Database, caller: Caller, result: str = "made") -> str:
    with database.transaction() as connection:
        Operations(connection).begin(caller)
        Operations(connection).end(caller, result)
    return result


def write(database: Database, caller: Caller, result: str = "made") -> str:
    return once(database, caller, lambda: store(database, caller, result), lambda found: f"{found} before")


def refuse(database: Database, caller: Caller, again: Callable[[str], Any] = str.upper) -> Any:
    def work() -> str:
        raise ApiError(NOT_FOUND)

    return once(database, caller, work, again)


def void(database: Database, *tries: tuple[str, int]) -> dict[str, str | None]:
    with database.transaction() as connection:
        return Operations(connection).void(tries)


def test_a_repetition_gets_what_the_first_try_made(database: Database) -> None:
    assert write(database, a_try(1), "one") == "one"
    assert write(database, a_try(2), "two") == "one before"


def test_a_caller_without_an_operation_is_not_remembered(database: Database) -> None:
    for _ in range(2):
        assert write(database, a_try(operation_id=None)) == "made"
    with pytest.raises(ApiError, match="NOT_FOUND"):
        refuse(database, a_try(operation_id=None))


def test_after_a_refusal_an_earlier_try_stores_nothing(database: Database) -> None:
    with pytest.raises(ApiError, match="NOT_FOUND"):
        refuse(database, a_try(2))
    for number in (1, 2):
        with pytest.raises(ApiError, match="IDEMPOTENCY_IN_PROGRESS"):
            write(database, a_try(number))
    assert write(database, a_try(3)) == "made"


def test_a_refusal_that_comes_after_another_try_s_effect_gives_way_to_its_result(database: Database) -> None:
    write(database, a_try(1), "one")
    assert refuse(database, a_try(2)) == "ONE"


def test_a_refusal_stands_where_the_result_counts_for_nothing(database: Database) -> None:
    write(database, a_try(1))
    with pytest.raises(ApiError, match="NOT_FOUND"):
        refuse(database, a_try(2), again=lambda result: None)


def test_an_error_that_leaves_the_outcome_open_voids_nothing(database: Database) -> None:
    def work() -> str:
        raise ApiError(SERVICE_UNAVAILABLE)

    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        once(database, a_try(2), work, str.upper)
    assert write(database, a_try(1)) == "made"


def test_a_commit_whose_answer_was_lost_is_answered_with_its_result(database: Database) -> None:
    def work() -> str:
        store(database, a_try(1), "one")
        raise ApiError(SERVICE_UNAVAILABLE)

    assert once(database, a_try(1), work, str.upper) == "ONE"


def test_an_outage_stays_one_when_the_result_of_its_commit_is_no_success(database: Database) -> None:
    def work() -> str:
        store(database, a_try(1), "one")
        raise ApiError(SERVICE_UNAVAILABLE)

    def refused(result: str) -> str:
        raise ApiError(NOT_FOUND)

    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        once(database, a_try(1), work, refused)


def test_an_operator_s_refused_command_may_be_given_again(database: Database) -> None:
    caller = replace(operator(), operation_id="op_1")
    with pytest.raises(ApiError, match="NOT_FOUND"):
        refuse(database, caller)
    assert write(database, caller) == "made"


def test_a_try_that_is_rolled_back_has_left_nothing(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.transaction() as connection:
        Operations(connection).begin(a_try(1))
        raise ZeroDivisionError
    assert write(database, a_try(1)) == "made"


def test_a_second_try_waits_for_the_first_and_gets_its_result(database: Database) -> None:
    got: list[str] = []
    with database.transaction() as connection:
        Operations(connection).begin(a_try(1))
        second = threading.Thread(target=lambda: got.append(write(database, a_try(2), "two")))
        second.start()
        await_blocked(database)
        Operations(connection).end(a_try(1), "one")
    second.join(30)
    assert got == ["one before"]


def test_a_refusal_waits_for_the_try_that_is_storing(database: Database) -> None:
    got: list[str] = []
    with database.transaction() as connection:
        Operations(connection).begin(a_try(1))
        second = threading.Thread(target=lambda: got.append(refuse(database, a_try(2))))
        second.start()
        await_blocked(database)
        Operations(connection).end(a_try(1), "one")
    second.join(30)
    assert got == ["ONE"]


def await_blocked(database: Database) -> None:
    """Waits until a session waits for a lock."""
    waiting = threading.Event()
    asked = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    while True:
        with database.reading() as connection:
            if connection.execute(asked).scalar_one():
                return
        assert not waiting.wait(0.01)


def test_many_operations_are_voided_at_once(database: Database) -> None:
    write(database, a_try(operation_id="op_done"))
    assert void(database, ("op_new", 2), ("op_done", 1), ("op_new", 1)) == {"op_new": None, "op_done": "made"}
    with pytest.raises(ApiError, match="IDEMPOTENCY_IN_PROGRESS"):
        write(database, a_try(2, "op_new"))
    assert void(database, ("op_new", 1)) == {"op_new": None}
    with pytest.raises(ApiError, match="IDEMPOTENCY_IN_PROGRESS"):
        write(database, a_try(2, "op_new"))
    assert void(database) == {}


def test_old_operations_are_forgotten_but_not_those_that_an_operator_named(database: Database) -> None:
    with database.reading() as connection:
        now = connection.execute(text("SELECT extract(epoch FROM clock_timestamp())::float8")).scalar_one()
    days = 86_400
    old, kept = first_id("op", now - 3 * days - 1), first_id("op", now - 3 * days + 60)
    named = ("import-1", "op", "op_1", "zzz", new_id("op"))
    for operation_id in (old, f"{old}_pag_1", kept, *named):
        write(database, a_try(operation_id=operation_id))
    assert forget_old(database) == 2
    assert forget_old(database) == 0
    with database.reading() as connection:
        left = connection.execute(text("SELECT id FROM operations")).scalars()
        assert set(left) == {kept, *named}
