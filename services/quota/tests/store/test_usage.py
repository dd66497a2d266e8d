"""Units given back, the month's counters, a sandbox token's use, and old charges forgotten."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from sqlalchemy import func, select

from chassis import clock
from chassis.database import Database
from contracts.caller import Caller, operator
from contracts.errors import MISSING_SCOPE, VALIDATION_ERROR, ApiError, ErrorRow
from contracts.quota import Admitted, Arrival, SetSandboxUse
from quota import usage
from quota.admission import Admissions
from quota.models import unit_charges
from quota.store import Store

CALLER = Caller(account_id="usr_1", user_id="usr_1", tier="pro", operation_id="op_1")


def admit(door: Admissions, caller: Caller, meter: str = "publishes", units: int = 1) -> Admitted:
    """A request that comes alone."""
    (verdict,) = door.admit_all([Arrival(caller=caller, meter=meter, units=units)])
    return verdict


def publishes_used(database: Database) -> int:
    with database.reading() as connection:
        return usage.get_usage(Store(connection), CALLER).publishes.used


def refund(
    database: Database, units: int = 1, account_id: str = "usr_1", operation_id: str | None = "op_1"
) -> None:
    with database.transaction() as connection:
        usage.refund(Store(connection), account_id, operation_id, units)


def return_unit(database: Database) -> None:
    with database.transaction() as connection:
        usage.return_unit(Store(connection), "usr_1", "op_1")


def set_clock(database: Database, moment: datetime) -> None:
    with database.transaction() as connection:
        unshifted = clock.now(connection) - timedelta(seconds=clock.shift_seconds(connection))
        clock.set_shift(connection, (moment - unshifted).total_seconds())


def test_a_failed_call_gives_its_unit_back_once(door: Admissions, database: Database) -> None:
    admit(door, CALLER)
    admit(door, msgspec.structs.replace(CALLER, operation_id="op_2"))
    for _ in range(3):
        refund(database)
    assert publishes_used(database) == 1


def test_writes_and_total_are_not_given_back(door: Admissions, database: Database) -> None:
    admit(door, CALLER)
    refund(database)
    with database.reading() as connection:
        after = usage.get_usage(Store(connection), CALLER)
    assert (after.writes.used, after.total_requests) == (1, 1)


def test_a_call_tried_again_after_its_refund_takes_a_unit_again(door: Admissions, database: Database) -> None:
    for _ in range(2):
        admit(door, CALLER)
        refund(database)
    admit(door, CALLER)
    assert publishes_used(database) == 1


def test_a_call_that_failed_in_part_gives_back_that_part_once(door: Admissions, database: Database) -> None:
    admit(door, CALLER, units=5)
    refund(database, units=2)
    refund(database, units=2)
    assert publishes_used(database) == 3
    return_unit(database)  # one whose outcome became known later
    assert publishes_used(database) == 2


def test_a_unit_returned_by_event_and_by_refund_is_given_back_once(
    door: Admissions, database: Database
) -> None:
    admit(door, CALLER)
    return_unit(database)
    refund(database)
    assert publishes_used(database) == 0
    with database.reading() as connection:
        assert connection.execute(select(func.count()).select_from(unit_charges)).scalar_one() == 0


def test_more_than_was_taken_is_never_given_back(door: Admissions, database: Database) -> None:
    admit(door, CALLER)
    admit(door, msgspec.structs.replace(CALLER, operation_id="op_2"))
    refund(database, units=20)
    assert publishes_used(database) == 1


@pytest.mark.parametrize("wrong", [{"operation_id": "op_x"}, {"operation_id": None}, {"account_id": "usr_2"}])
def test_what_was_never_taken_is_not_given_back(
    wrong: dict[str, str], door: Admissions, database: Database
) -> None:
    admit(door, CALLER)
    admit(door, msgspec.structs.replace(CALLER, account_id="usr_2", operation_id="op_2"))
    refund(database, **wrong)  # type: ignore[arg-type]
    assert publishes_used(database) == 1


def test_a_unit_of_last_month_does_not_lower_this_months_count(door: Admissions, database: Database) -> None:
    set_clock(database, datetime(2026, 11, 30, 23, 59, 30, tzinfo=UTC))
    admit(door, CALLER)
    set_clock(database, datetime(2026, 12, 1, 0, 0, 5, tzinfo=UTC))
    assert publishes_used(database) == 0
    admit(door, msgspec.structs.replace(CALLER, operation_id="op_2"))
    refund(database)
    assert publishes_used(database) == 1


def test_charges_are_forgotten_after_three_days_and_not_before(door: Admissions, database: Database) -> None:
    start = datetime(2026, 11, 20, 12, 0, 5, tzinfo=UTC)
    set_clock(database, start)
    admit(door, CALLER)
    set_clock(database, start + timedelta(days=2, hours=23))
    with database.transaction() as connection:
        assert usage.forget_charges(Store(connection)) == 0
    set_clock(database, start + timedelta(days=3, hours=1))
    with database.transaction() as connection:
        assert usage.forget_charges(Store(connection)) == 1
    refund(database)
    assert publishes_used(database) == 1


def test_the_operator_sets_how_much_a_sandbox_token_has_used(door: Admissions, database: Database) -> None:
    sandbox = Caller(account_id="usr_1", user_id="usr_1", token_id="tok_1", sandbox=True)
    codes = []
    for count in (99, 100, 98):
        with database.transaction() as connection:
            usage.set_sandbox_use(Store(connection), operator(), SetSandboxUse(token_id="tok_1", count=count))
        codes.append(admit(door, sandbox, "reads").refused_code)
    assert codes == [None, "SANDBOX_EXHAUSTED", None]


@pytest.mark.parametrize(
    ("caller", "count", "error"),
    [
        (CALLER, 5, MISSING_SCOPE),
        (msgspec.structs.replace(CALLER, scopes=("*",)), 5, MISSING_SCOPE),
        (operator(), -1, VALIDATION_ERROR),
        (operator(), 2**31, VALIDATION_ERROR),
    ],
)
def test_nobody_else_sets_it_and_never_to_an_impossible_count(
    caller: Caller, count: int, error: ErrorRow, database: Database
) -> None:
    with pytest.raises(ApiError) as refused, database.transaction() as connection:
        usage.set_sandbox_use(Store(connection), caller, SetSandboxUse(token_id="tok_1", count=count))
    assert refused.value.row is error
