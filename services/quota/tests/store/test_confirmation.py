"""quota asks publishing about every unit that is still held after its call has ended, once for each charge."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from sqlalchemy import select, update

from chassis.db.database import Database
from chassis.db.schema import outbox
from contracts.caller import Caller
from contracts.events import Event, UnconfirmedUnit, UnitsUnconfirmed, UnitsUndecided
from contracts.quota import Arrival, ChargeUnit
from quota import usage
from quota.admission import Admissions
from quota.models import unit_charges
from quota.store import Store

AGE = timedelta(minutes=5)


def admit(admissions: Admissions, operation_id: str, meter: str = "publishes", try_number: int = 1) -> None:
    caller = Caller(
        account_id="usr_1", user_id="usr_1", tier="elite", operation_id=operation_id, try_number=try_number
    )
    assert admissions.admit_all([Arrival(caller=caller, meter=meter)])


def pass_time(database: Database, by: timedelta = AGE) -> None:
    """Moves all charges, and the point up to which publishing was asked, back by this time."""
    with database.transaction() as connection:
        connection.execute(update(unit_charges).values(created_at=unit_charges.c.created_at - by))
        connection.exec_driver_sql("UPDATE confirmation SET created_at = created_at - %(by)s", {"by": by})


def ask(database: Database) -> int:
    with database.transaction() as connection:
        return usage.ask_about_charges(Store(connection), AGE)


def asked(database: Database) -> list[tuple[UnconfirmedUnit, ...]]:
    with database.reading() as connection:
        bodies = connection.execute(select(outbox.c.body).order_by(outbox.c.position)).scalars().all()
    events: list[Any] = [msgspec.json.decode(body, type=Event) for body in bodies]
    return [msgspec.convert(event.data, UnitsUnconfirmed).charges for event in events]


def names(database: Database) -> list[list[tuple[str, int]]]:
    return [[(one.operation_id, one.try_number) for one in charges] for charges in asked(database)]


def test_charges_are_asked_about_together_once_they_are_old_enough(
    admissions: Admissions, database: Database
) -> None:
    admit(admissions, "op_1")
    admit(admissions, "op_2", "replies", try_number=3)
    assert ask(database) == 0
    pass_time(database)
    admit(admissions, "op_3")
    assert ask(database) == 2
    assert asked(database) == [
        (
            UnconfirmedUnit(account_id="usr_1", operation_id="op_1", try_number=1),
            UnconfirmedUnit(account_id="usr_1", operation_id="op_2", try_number=3),
        )
    ]


def test_each_is_asked_about_once(admissions: Admissions, database: Database) -> None:
    for number in range(3):
        admit(admissions, f"op_{number}")
        pass_time(database)
        ask(database)
        assert ask(database) == 0
    assert names(database) == [[("op_0", 1)], [("op_1", 1)], [("op_2", 1)]]


def test_a_later_try_of_an_operation_is_asked_about_anew(admissions: Admissions, database: Database) -> None:
    admit(admissions, "op_1")
    pass_time(database)
    ask(database)
    admit(admissions, "op_1", try_number=2)
    assert ask(database) == 0
    pass_time(database)
    ask(database)
    assert names(database) == [[("op_1", 1)], [("op_1", 2)]]


def test_one_whose_outcome_is_undecided_is_asked_about_again(
    admissions: Admissions, database: Database
) -> None:
    for name in ("op_1", "op_2"):
        admit(admissions, name)
    pass_time(database)
    ask(database)
    again = UnitsUndecided(
        charges=tuple(
            UnconfirmedUnit(account_id="usr_1", operation_id=name, try_number=number)
            for name, number in (("op_1", 1), ("op_2", 9), ("op_unknown", 1))
        )
    )
    with database.transaction() as connection:
        usage.ask_again(Store(connection), again)
    assert ask(database) == 0
    pass_time(database)
    ask(database)
    assert names(database) == [[("op_1", 1), ("op_2", 1)], [("op_1", 1)]]


def test_units_given_back_and_those_of_deliveries_are_not_asked_about(
    admissions: Admissions, database: Database
) -> None:
    admit(admissions, "op_1")
    with database.transaction() as connection:
        usage.refund(Store(connection), "usr_1", "op_1", 1)
        usage.refund(Store(connection), "usr_1", "op_never_charged", 1)
    admissions.charge_units(
        [ChargeUnit(account_id="usr_1", tier="elite", bucket="webhooks", operation_id="dlv_1")]
    )
    pass_time(database)
    assert ask(database) == 3
    assert asked(database) == []


def test_many_go_in_several_events_and_none_is_left_out(
    admissions: Admissions, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "ASK_BATCH", 3)
    units = [
        ChargeUnit(account_id="usr_1", tier="elite", bucket="publishes", operation_id=f"op_{number}")
        for number in range(7)
    ]
    admissions.charge_units(units)
    with database.transaction() as connection:  # they came at the same moment
        connection.exec_driver_sql("UPDATE unit_charges SET created_at = now() - interval '4 minutes'")
        connection.exec_driver_sql("UPDATE confirmation SET created_at = now() - interval '9 minutes'")
    pass_time(database)
    assert [ask(database) for _ in range(4)] == [3, 3, 1, 0]
    assert sorted(one.operation_id for charges in asked(database) for one in charges) == [
        unit.operation_id for unit in units
    ]


def test_one_replica_asks_at_a_time(admissions: Admissions, database: Database) -> None:
    admit(admissions, "op_1")
    pass_time(database)
    with database.transaction() as connection:
        assert usage.ask_about_charges(Store(connection), AGE) == 1
        assert ask(database) == 0
    assert names(database) == [[("op_1", 1)]]


def test_a_crash_before_the_event_is_stored_leaves_the_charge_to_be_asked_about(
    admissions: Admissions, database: Database
) -> None:
    admit(admissions, "op_1")
    pass_time(database)
    with pytest.raises(ZeroDivisionError), database.transaction() as connection:
        usage.ask_about_charges(Store(connection), AGE)
        raise ZeroDivisionError
    ask(database)
    assert names(database) == [[("op_1", 1)]]
