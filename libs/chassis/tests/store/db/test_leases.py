"""Leases of worker processes on a real PostgreSQL: which are renewed, which workers count as dead, and what a paused
process may still do.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import text

from chassis.db import leases
from chassis.db.database import Database
from chassis.db.leases import WorkerLease
from contracts.errors import ApiError


class Clock:
    """The clock of one process, which the test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def database(open_database: Callable[[str], Database]) -> Database:
    database = open_database("probe")
    with database.transaction() as connection:
        leases.metadata.create_all(connection)
        connection.execute(text("CREATE TABLE jobs (id integer, worker_id text)"))
    return database


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_lease(database: Database, clock: Clock) -> Iterator[Callable[[], WorkerLease]]:
    made: list[WorkerLease] = []

    def make() -> WorkerLease:
        made.append(WorkerLease(database, 20, now=clock))
        return made[-1]

    yield make
    for lease in made:
        lease.end()


def ask(database: Database, statement: str) -> list[Any]:
    with database.reading() as connection:
        return list(connection.execute(text(statement)).all())


def pass_leases(database: Database) -> None:
    """Ends every lease."""
    with database.transaction() as connection:
        connection.execute(text("UPDATE workers SET lease_until = clock_timestamp()"))


def claim(database: Database, lease: WorkerLease, *jobs: int) -> str:
    with database.transaction() as connection:
        worker_id = lease.lock(connection)
        for job in jobs:
            connection.execute(
                text("INSERT INTO jobs VALUES (:job, :worker)"), {"job": job, "worker": worker_id}
            )
    return worker_id


def lapse(connection: Any, worker_id: str) -> tuple[int, bool]:
    """Ends up to two claims of a dead worker. Returns how many, and whether they were the last."""
    count = connection.execute(
        text(
            "DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE worker_id = :worker ORDER BY id LIMIT 2)"
        ),
        {"worker": worker_id},
    ).rowcount
    return count, count < 2


def lapse_free(connection: Any, worker_id: str) -> tuple[int, bool]:
    """Ends the claims of a dead worker that no transaction has locked. Returns how many, and whether they were the
    last.
    """
    worker = {"worker": worker_id}
    free = "SELECT ctid FROM jobs WHERE worker_id = :worker FOR UPDATE SKIP LOCKED"
    count = connection.execute(text(f"DELETE FROM jobs WHERE ctid = ANY(ARRAY({free}))"), worker).rowcount
    left = connection.execute(text("SELECT count(*) FROM jobs WHERE worker_id = :worker"), worker).scalar()
    return count, not left


def steady(lease: WorkerLease, clock: Clock) -> None:
    """Renews the lease for long enough without a gap: only then may the worker declare others dead."""
    lease.renew()
    clock.seconds += leases.GRACE_SECONDS
    lease.renew()


def test_a_renewed_lease_keeps_its_one_row(database: Database, make_lease: Any) -> None:
    lease = make_lease()
    for _ in range(3):
        lease.renew()
    [row] = ask(database, "SELECT lease_until - clock_timestamp() AS left, reaped_at FROM workers")
    assert 15 < row.left.total_seconds() <= 20
    assert row.reaped_at is None


def test_a_dead_workers_claims_lapse_in_batches_and_then_it_is_forgotten(
    database: Database, make_lease: Any, clock: Clock
) -> None:
    dead, other = make_lease(), make_lease()
    claim(database, dead, 1, 2, 3)
    pass_leases(database)
    steady(other, clock)
    assert [other.reap(lapse) for _ in range(2)] == [3, 0]
    assert ask(database, "SELECT id FROM jobs") == []
    assert len(ask(database, "SELECT id FROM workers")) == 1


def test_a_worker_whose_claims_are_locked_keeps_no_other_from_being_reaped(
    database: Database, make_lease: Any, clock: Clock
) -> None:
    first, second, other = make_lease(), make_lease(), make_lease()
    claim(database, first, 1)
    pass_leases(database)
    steady(other, clock)
    with database.transaction() as connection:
        connection.execute(text("SELECT FROM jobs WHERE id = 1 FOR UPDATE"))
        assert other.reap(lapse_free) == 0
        claim(database, second, 2, 3)
        pass_leases(database)
        other.renew()
        assert other.reap(lapse_free) == 2
        assert ask(database, "SELECT id FROM jobs") == [(1,)]
    assert other.reap(lapse_free) == 1
    assert len(ask(database, "SELECT id FROM workers")) == 1


def test_a_lease_that_passed_holds_again_if_nobody_reaped_it(
    database: Database, make_lease: Any, clock: Clock
) -> None:
    silent, other = make_lease(), make_lease()
    worker_id = claim(database, silent, 1)
    pass_leases(database)
    silent.renew()
    steady(other, clock)
    assert other.reap(lapse) == 0
    assert silent.holds(worker_id)


def test_a_reaped_worker_cannot_renew_and_registers_under_another_id(
    database: Database, make_lease: Any, clock: Clock
) -> None:
    frozen, other = make_lease(), make_lease()
    worker_id = claim(database, frozen, 1)
    pass_leases(database)
    steady(other, clock)
    other.reap(lapse)
    frozen.renew()
    assert not frozen.holds(worker_id)
    assert claim(database, frozen, 2) != worker_id


def test_claims_made_by_a_reaped_worker_name_a_new_one(
    database: Database, make_lease: Any, clock: Clock
) -> None:
    frozen, other = make_lease(), make_lease()
    worker_id = claim(database, frozen)
    pass_leases(database)
    steady(other, clock)
    other.reap(lapse)
    assert claim(database, frozen, 1) != worker_id


def test_nobody_reaps_a_worker_that_is_claiming_at_this_moment(
    database: Database, make_lease: Any, clock: Clock
) -> None:
    claiming, other = make_lease(), make_lease()
    claiming.renew()
    steady(other, clock)
    with database.transaction() as connection:
        worker_id = claiming.lock(connection)
        with database.transaction() as second:
            second.execute(
                text("UPDATE workers SET lease_until = clock_timestamp() WHERE id = :id"), {"id": worker_id}
            )
        assert other.reap(lapse) == 0
        assert ask(database, "SELECT id FROM workers WHERE reaped_at IS NOT NULL") == []
        connection.execute(text("INSERT INTO jobs VALUES (1, :worker)"), {"worker": worker_id})
    assert other.reap(lapse) == 1


def test_after_an_outage_a_process_gives_the_others_time_to_renew_before_it_reaps(
    database: Database, make_lease: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, other = make_lease(), make_lease()
    silent.renew()
    steady(other, clock)
    with monkeypatch.context() as outage:
        outage.setattr(other._own, "reading", _away)
        with pytest.raises(ApiError):
            other.renew()
    pass_leases(database)
    other.renew()
    assert other.reap(lapse) == 0
    assert ask(database, "SELECT id FROM workers WHERE reaped_at IS NOT NULL") == []
    clock.seconds += leases.GRACE_SECONDS
    other.renew()
    other.reap(lapse)
    assert len(ask(database, "SELECT id FROM workers")) == 1


def test_a_process_that_was_frozen_for_longer_than_its_lease_knows_it_at_once(
    database: Database, make_lease: Any, clock: Clock
) -> None:
    lease = make_lease()
    worker_id = claim(database, lease)
    clock.seconds = 17.9
    assert lease.holds(worker_id)
    clock.seconds = 18.1
    assert not lease.holds(worker_id)


def test_a_renewal_whose_answer_took_long_counts_from_when_it_was_asked_for(
    make_lease: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = make_lease()
    lease.renew()
    answer = lease._renew

    def late(connection: Any) -> None:
        answer(connection)
        clock.seconds += 10

    monkeypatch.setattr(lease, "_renew", late)
    lease.renew()
    clock.seconds += 8.1
    assert not lease.holds(lease._id)


def test_renewals_go_on_while_every_connection_of_the_pool_is_taken(
    database_for: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RENEW_SECONDS", 0.01)
    database = Database(database_for("probe"), pool_size=1, pool_timeout_seconds=0.01)
    with database.transaction() as connection:
        leases.metadata.create_all(connection)
    lease = WorkerLease(database, 20)
    with database.reading():
        renewed: list[float] = []
        renew = lease.renew
        monkeypatch.setattr(lease, "renew", lambda: (renew(), renewed.append(time.monotonic())))
        lease.keep()
        end = time.monotonic() + 10
        while len(renewed) < 5:
            assert time.monotonic() < end
            time.sleep(0.001)
        lease.end()
    database.close()


def test_a_process_that_ends_leaves_its_claims_to_others_at_once(
    database: Database, make_lease: Any, clock: Clock
) -> None:
    ending, other = WorkerLease(database, 20, now=clock), make_lease()
    claim(database, ending, 1)
    steady(other, clock)
    assert other.reap(lapse) == 0
    ending.end()
    assert other.reap(lapse) == 1


def test_a_process_that_ended_claims_nothing_more(database: Database, clock: Clock) -> None:
    ending = WorkerLease(database, 20, now=clock)
    claim(database, ending, 1)
    ending.end()
    with pytest.raises(ApiError):
        claim(database, ending, 2)
    assert ask(database, "SELECT id FROM workers WHERE lease_until > clock_timestamp()") == []


def _away() -> Any:
    raise ApiError(leases.SERVICE_UNAVAILABLE)
