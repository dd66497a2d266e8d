"""A counter row that another transaction has locked delays only its own account."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, text

from chassis.db import database as chassis_database
from chassis.db.database import Database, LockTimeout, fetch
from contracts.caller import Caller
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.events import UnconfirmedUnit, UnitsUndecided
from contracts.quota import Admitted, Arrival, ChargeUnit
from quota import store as quota_store
from quota import usage
from quota.admission import PATIENCE_SECONDS, Admissions
from quota.store import Store

#: Who waits for a row as long as its own account does takes longer than this.
SOON_SECONDS = PATIENCE_SECONDS * 0.9


@contextmanager
def holding(database: Database, *accounts: str) -> Iterator[None]:
    """Locks these rows in another transaction, as a stopped process would."""
    with database.transaction() as connection:
        Store(connection).add(accounts)
    with database.transaction() as connection:
        Store(connection).lock(accounts)
        yield


def arrival(account_id: str, meter: str = "reads", try_number: int = 1) -> Arrival:
    caller = Caller(
        account_id=account_id, user_id=account_id, tier="pro", operation_id=f"op_{account_id}",
        try_number=try_number,
    )  # fmt: skip
    return Arrival(caller=caller, meter=meter)


def verdicts(admissions: Admissions, *arrivals: Arrival) -> list[str]:
    found = admissions.admit_all(arrivals, may_defer=True)
    return ["deferred" if one is None else one.refused_code or "admitted" for one in found]


def used(database: Database, account_id: str) -> tuple[int, int]:
    with database.reading() as connection:
        counters, _ = Store(connection).usage(account_id)
    return counters.reads, counters.publishes


def test_everybody_else_is_decided_at_once(admissions: Admissions, database: Database) -> None:
    batch = [arrival(f"usr_{number}", "publishes" if number % 2 else "reads") for number in range(6)]
    with holding(database, "usr_2", "usr_3"):
        began = time.monotonic()
        found = verdicts(admissions, *batch)
        assert time.monotonic() - began < SOON_SECONDS
    assert found == ["admitted", "admitted", "deferred", "deferred", "admitted", "admitted"]
    assert [used(database, f"usr_{number}") for number in range(4)] == [(1, 0), (0, 1), (0, 0), (0, 0)]


def test_the_account_itself_is_decided_once_its_row_is_free(
    admissions: Admissions, database: Database
) -> None:
    with holding(database, "usr_1"):
        assert verdicts(admissions, arrival("usr_1")) == ["deferred"]
    assert verdicts(admissions, arrival("usr_1")) == ["admitted"]
    assert used(database, "usr_1") == (1, 0)


def test_an_account_without_a_row_gets_one_beside_a_held_one(
    admissions: Admissions, database: Database
) -> None:
    with holding(database, "usr_1"):
        assert verdicts(admissions, arrival("usr_1"), arrival("usr_new")) == ["deferred", "admitted"]


def test_a_row_that_another_transaction_is_adding_delays_nobody_else(
    admissions: Admissions, database: Database
) -> None:
    batch = [arrival("usr_1"), arrival("usr_new"), arrival("usr_2")]
    with database.transaction() as connection:  # as a refund of an account without a row does
        Store(connection).add(["usr_1"])
        began = time.monotonic()
        found = verdicts(admissions, *batch)
        assert time.monotonic() - began < SOON_SECONDS
    assert found == ["deferred", "admitted", "admitted"]
    assert verdicts(admissions, arrival("usr_1")) == ["admitted"]


def test_a_sender_that_does_not_ask_again_waits_a_second_at_most(
    admissions: Admissions, database: Database
) -> None:
    with holding(database, "usr_1"):
        began = time.monotonic()
        with pytest.raises(ApiError) as refused:
            admissions.admit_all([arrival("usr_1")])
        assert PATIENCE_SECONDS <= time.monotonic() - began < 4 * PATIENCE_SECONDS
    assert refused.value.row is SERVICE_UNAVAILABLE


def test_units_of_other_accounts_are_charged_at_once(admissions: Admissions, database: Database) -> None:
    units = [
        ChargeUnit(account_id=account, tier="pro", bucket="webhooks", operation_id=f"dlv_{account}")
        for account in ("usr_1", "usr_2")
    ]
    with holding(database, "usr_1"):
        assert admissions.charge_units(units, may_defer=True) == (None, True)


def test_a_refund_waits_a_second_at_most(admissions: Admissions, database: Database) -> None:
    with holding(database, "usr_1"):
        began = time.monotonic()
        with pytest.raises(ApiError) as refused, database.transaction() as connection:
            usage.refund(Store(connection), "usr_1", "op_1", 1)
        assert time.monotonic() - began < 4 * PATIENCE_SECONDS
    assert refused.value.row is SERVICE_UNAVAILABLE


def again(*operation_ids: str) -> UnitsUndecided:
    charges = [UnconfirmedUnit(account_id="usr_1", operation_id=one, try_number=1) for one in operation_ids]
    return UnitsUndecided(charges=tuple(charges))


def test_charges_that_are_to_be_asked_about_again_are_not_held(
    admissions: Admissions, database: Database
) -> None:
    first, repeated = arrival("usr_1", "publishes"), arrival("usr_1", "publishes", try_number=2)
    assert verdicts(admissions, first) == ["admitted"]
    with database.transaction() as connection:
        usage.ask_again(Store(connection), again("op_usr_1"))
        began = time.monotonic()
        assert verdicts(admissions, repeated, arrival("usr_2")) == ["admitted"] * 2
        assert time.monotonic() - began < SOON_SECONDS


def test_asking_again_does_not_wait_for_a_charge_that_is_held(
    admissions: Admissions, database: Database
) -> None:
    verdicts(admissions, arrival("usr_1", "publishes"))
    held = text("SELECT FROM unit_charges WHERE operation_id = 'op_usr_1' FOR UPDATE")
    with database.transaction() as holder:
        holder.execute(held)
        began = time.monotonic()
        with pytest.raises(LockTimeout), database.transaction() as connection:
            usage.ask_again(Store(connection), again("op_usr_1"))
        assert time.monotonic() - began < SOON_SECONDS


def test_a_connection_that_waited_in_vain_is_used_again(admissions: Admissions, database: Database) -> None:
    def backend() -> set[object]:
        with database.reading() as connection:
            return {connection.connection.dbapi_connection}

    with holding(database, "usr_1"):
        before = backend()
        assert verdicts(admissions, arrival("usr_1")) == ["deferred"]
        assert backend() == before


def test_in_the_ordinary_case_a_decision_takes_two_round_trips(
    admissions: Admissions, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts(
        admissions, arrival("usr_1"), arrival("usr_2", "publishes")
    )  # prepares the statements, adds the rows
    sent: list[str] = []

    def counting(connection: Connection, statement: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        sent.append(statement)
        return fetch(connection, statement, parameters)

    monkeypatch.setattr(chassis_database, "fetch", counting)
    monkeypatch.setattr(quota_store, "fetch", counting)
    assert verdicts(admissions, arrival("usr_1"), arrival("usr_2", "publishes")) == ["admitted"] * 2
    assert len(sent) == 2


def test_verdicts_come_in_the_order_of_the_requests(admissions: Admissions, database: Database) -> None:
    batch = [arrival(account) for account in ("usr_3", "usr_1", "usr_2", "usr_1")]
    with holding(database, "usr_1"):
        found = admissions.admit_all(batch, may_defer=True)
    assert [isinstance(one, Admitted) for one in found] == [True, False, True, False]
