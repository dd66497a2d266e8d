"""Refunds, the counters of the month, the use of a sandbox token, and the deletion of old charges."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select, update

from chassis.db import clock
from chassis.db.database import Database
from contracts.caller import Caller, operator
from contracts.errors import MISSING_SCOPE, VALIDATION_ERROR, ApiError, ErrorRow
from contracts.quota import Admitted, Arrival, SetSandboxUse
from quota import usage
from quota.admission import Admissions
from quota.models import counters, unit_charges
from quota.store import Store

CALLER = Caller(account_id="usr_1", user_id="usr_1", tier="pro", operation_id="op_1")


def admit(admissions: Admissions, caller: Caller, meter: str = "publishes") -> Admitted:
    """Admits a single request."""
    (verdict,) = admissions.admit_all([Arrival(caller=caller, meter=meter)])
    assert verdict is not None
    return verdict


def publishes_used(database: Database) -> int:
    with database.reading() as connection:
        return usage.get_usage(Store(connection), CALLER).publishes.used


def refund(
    database: Database, try_number: int = 1, account_id: str = "usr_1", operation_id: str | None = "op_1"
) -> None:
    with database.transaction() as connection:
        usage.refund(Store(connection), account_id, operation_id, try_number)


def return_unit(database: Database, to_try: int = 1) -> None:
    with database.transaction() as connection:
        usage.return_unit(Store(connection), "usr_1", "op_1", to_try)


def tried(number: int) -> Caller:
    return msgspec.structs.replace(CALLER, try_number=number)


def set_clock(database: Database, moment: datetime) -> None:
    with database.transaction() as connection:
        unshifted = clock.now(connection) - timedelta(seconds=clock.shift_seconds(connection))
        clock.set_shift(connection, (moment - unshifted).total_seconds())


def test_a_failed_call_gives_its_unit_back_once(admissions: Admissions, database: Database) -> None:
    admit(admissions, CALLER)
    admit(admissions, msgspec.structs.replace(CALLER, operation_id="op_2"))
    for _ in range(3):
        refund(database)
    assert publishes_used(database) == 1


def test_writes_and_total_are_not_given_back(admissions: Admissions, database: Database) -> None:
    admit(admissions, CALLER)
    refund(database)
    with database.reading() as connection:
        after = usage.get_usage(Store(connection), CALLER)
    assert (after.writes.used, after.total_requests) == (1, 1)


def test_a_call_tried_again_after_its_refund_takes_a_unit_again(
    admissions: Admissions, database: Database
) -> None:
    for number in (1, 2):
        admit(admissions, tried(number))
        refund(database, number)
    admit(admissions, tried(3))
    assert publishes_used(database) == 1


def test_a_unit_taken_again_in_the_next_month_is_that_month_s(
    admissions: Admissions, database: Database
) -> None:
    set_clock(database, datetime(2026, 11, 30, 23, 59, 30, tzinfo=UTC))
    admit(admissions, CALLER)
    refund(database)
    set_clock(database, datetime(2026, 12, 1, 0, 0, 5, tzinfo=UTC))
    admit(admissions, tried(2))
    assert publishes_used(database) == 1
    refund(database, 2)
    assert publishes_used(database) == 0


def test_a_unit_returned_by_event_and_by_refund_is_given_back_once(
    admissions: Admissions, database: Database
) -> None:
    admit(admissions, CALLER)
    admit(admissions, msgspec.structs.replace(CALLER, operation_id="op_2"))
    return_unit(database)
    refund(database)
    assert publishes_used(database) == 1


def test_a_refund_that_overtakes_its_charge_leaves_it_nothing_to_take(
    admissions: Admissions, database: Database
) -> None:
    refund(database)
    assert admit(admissions, CALLER).refused_code is None
    assert publishes_used(database) == 0


def test_a_unit_that_a_later_try_uses_is_not_given_back_by_an_event_about_an_earlier_one(
    admissions: Admissions, database: Database
) -> None:
    admit(admissions, CALLER)
    admit(admissions, tried(2))
    return_unit(database, to_try=1)
    assert publishes_used(database) == 1
    return_unit(database, to_try=2)
    assert publishes_used(database) == 0


step = st.tuples(st.sampled_from(["charge", "return"]), st.integers(1, 4))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(step, max_size=12))
def test_in_any_order_a_unit_is_held_if_and_only_if_the_last_try_charged_was_not_returned(
    admissions: Admissions, database: Database, steps: list[tuple[str, int]]
) -> None:
    with database.transaction() as connection:
        connection.execute(delete(unit_charges))
        connection.execute(delete(counters))
    for what, number in steps:
        if what == "charge":
            admit(admissions, tried(number))
        else:
            return_unit(database, number)
    charged = max((number for what, number in steps if what == "charge"), default=0)
    returned = max((number for what, number in steps if what == "return"), default=0)
    assert publishes_used(database) == (charged > returned)


@pytest.mark.parametrize("wrong", [{"operation_id": "op_x"}, {"operation_id": None}, {"account_id": "usr_2"}])
def test_what_was_never_taken_is_not_given_back(
    wrong: dict[str, str], admissions: Admissions, database: Database
) -> None:
    admit(admissions, CALLER)
    admit(admissions, msgspec.structs.replace(CALLER, account_id="usr_2", operation_id="op_2"))
    refund(database, **wrong)  # type: ignore[arg-type]
    assert publishes_used(database) == 1


def test_a_unit_of_last_month_does_not_lower_this_months_count(
    admissions: Admissions, database: Database
) -> None:
    set_clock(database, datetime(2026, 11, 30, 23, 59, 30, tzinfo=UTC))
    admit(admissions, CALLER)
    set_clock(database, datetime(2026, 12, 1, 0, 0, 5, tzinfo=UTC))
    assert publishes_used(database) == 0
    admit(admissions, msgspec.structs.replace(CALLER, operation_id="op_2"))
    refund(database)
    assert publishes_used(database) == 1


def test_charges_are_forgotten_after_three_days_and_not_before(
    admissions: Admissions, database: Database
) -> None:
    admit(admissions, CALLER)
    age(database, timedelta(days=2, hours=23))
    with database.transaction() as connection:
        assert usage.forget_charges(Store(connection)) == 0
    age(database, timedelta(hours=2))
    with database.transaction() as connection:
        assert usage.forget_charges(Store(connection)) == 1
    refund(database)
    assert publishes_used(database) == 1


def test_counters_are_forgotten_after_a_whole_month_without_use(
    admissions: Admissions, database: Database
) -> None:
    set_clock(database, datetime(2026, 10, 31, 12, tzinfo=UTC))
    admit(admissions, msgspec.structs.replace(CALLER, account_id="usr_idle"), "reads")
    admit(admissions, msgspec.structs.replace(CALLER, sandbox=True, token_id="tok_1"), "reads")
    set_clock(database, datetime(2026, 11, 30, 12, tzinfo=UTC))
    admit(admissions, CALLER, "reads")
    assert forget_counters(database) == 0
    set_clock(database, datetime(2026, 12, 1, 12, tzinfo=UTC))
    assert forget_counters(database) == 1
    with database.reading() as connection:
        left = connection.execute(select(counters.c.subject).order_by(counters.c.subject)).scalars().all()
    assert left == ["tok_1", "usr_1"]


def forget_counters(database: Database) -> int:
    with database.transaction() as connection:
        return usage.forget_counters(Store(connection), clock.now(connection))


def age(database: Database, by: timedelta) -> None:
    """Makes all charges older by shifting their real time."""
    with database.transaction() as connection:
        connection.execute(update(unit_charges).values(created_at=unit_charges.c.created_at - by))


def test_the_operator_sets_how_much_a_sandbox_token_has_used(
    admissions: Admissions, database: Database
) -> None:
    sandbox = Caller(account_id="usr_1", user_id="usr_1", token_id="tok_1", sandbox=True)
    codes = []
    for count in (99, 100, 98):
        with database.transaction() as connection:
            usage.set_sandbox_use(Store(connection), operator(), SetSandboxUse(token_id="tok_1", count=count))
        codes.append(admit(admissions, sandbox, "reads").refused_code)
    assert codes == [None, "SANDBOX_EXHAUSTED", None]


def test_a_repeated_command_does_not_give_a_sandbox_token_its_requests_again(
    admissions: Admissions, database: Database
) -> None:
    sandbox = Caller(account_id="usr_1", user_id="usr_1", token_id="tok_1", sandbox=True)
    caller = msgspec.structs.replace(operator(), operation_id="op_1")
    codes = []
    for _ in range(2):
        with database.transaction() as connection:
            usage.set_sandbox_use(Store(connection), caller, SetSandboxUse(token_id="tok_1", count=99))
        codes.append(admit(admissions, sandbox, "reads").refused_code)
    assert codes == [None, "SANDBOX_EXHAUSTED"]


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
