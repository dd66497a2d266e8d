"""Admission on a real PostgreSQL counts exactly, with concurrent calls on several processes and while the clock
moves.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from sqlalchemy import select, text

from chassis.db import clock
from chassis.db.database import Database
from chassis.db.schema import outbox
from contracts.caller import Caller
from contracts.events import Event, QuotaWarning
from contracts.quota import Admitted, Arrival, BucketUse, ChargeUnit, Usage
from quota import usage
from quota.admission import Admissions
from quota.decision import roll
from quota.store import Store

AT_ONCE = 200
MID_MINUTE = datetime(2026, 11, 20, 12, 0, 5, tzinfo=UTC)
ELITE = Caller(account_id="usr_elite", user_id="usr_elite", tier="elite")
SANDBOX = Caller(account_id="usr_elite", user_id="usr_elite", token_id="tok_s", tier="elite", sandbox=True)


def admit(admissions: Admissions, caller: Caller, meter: str = "reads") -> Admitted:
    """Admits a single request."""
    (verdict,) = admissions.admit_all([Arrival(caller=caller, meter=meter)])
    assert verdict is not None
    return verdict


def move_clock(database: Database, to: datetime) -> None:
    with database.transaction() as connection:
        now = clock.now(connection) - timedelta(seconds=clock.shift_seconds(connection))
        clock.set_shift(connection, (to - now).total_seconds())


def prepare(database: Database, subject: str, **counts: int) -> None:
    """Sets how many units the subject has used in its current windows."""
    with database.transaction() as connection:
        store = Store(connection)
        store.add([subject])
        locked = store.lock([subject])
        assert locked is not None
        current = roll(locked.counters[subject], locked.now)
        store.write(locked.counters, [msgspec.structs.replace(current, **counts)])


def all_at_once(calls: Iterable[Callable[[], Admitted]]) -> Counter[str | None]:
    """Starts all calls at the same moment, each in its own thread. Counts the refusals by code, and the admitted calls
    under None.
    """
    calls = list(calls)
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], Admitted]) -> str | None:
        barrier.wait()
        return call().refused_code

    with ThreadPoolExecutor(len(calls)) as pool:
        return Counter(pool.map(run, calls))


def used(database: Database, caller: Caller = ELITE) -> Usage:
    with database.reading() as connection:
        return usage.get_usage(Store(connection), caller)


def warnings(database: Database) -> list[QuotaWarning]:
    with database.reading() as connection:
        bodies = connection.execute(select(outbox.c.body).order_by(outbox.c.position)).scalars().all()
    return [msgspec.convert(msgspec.json.decode(body, type=Event).data, QuotaWarning) for body in bodies]


@pytest.mark.parametrize("left", [0, 1, 77, 200])
def test_200_at_once_on_two_replicas_let_through_exactly_what_is_left_of_the_minute(
    left: int, database: Database, replicas: tuple[Admissions, Admissions]
) -> None:
    move_clock(database, MID_MINUTE)
    prepare(database, "usr_elite", minute_count=300 - left)
    answers = all_at_once(
        lambda admissions=replicas[index % 2]: admit(admissions, ELITE) for index in range(AT_ONCE)
    )
    assert answers == +Counter({None: left, "RATE_LIMITED": AT_ONCE - left})
    assert used(database).reads.used == left


def test_the_month_bucket_is_exact_when_both_replicas_hit_its_end_at_once(
    database: Database, replicas: tuple[Admissions, Admissions]
) -> None:
    move_clock(database, MID_MINUTE)
    prepare(database, "usr_elite", publishes=2_950)
    callers = [msgspec.structs.replace(ELITE, operation_id=f"op_{index}") for index in range(AT_ONCE)]
    answers = all_at_once(
        lambda admissions=replicas[index % 2], caller=caller: admit(admissions, caller, "publishes")
        for index, caller in enumerate(callers)
    )
    assert answers == {None: 50, "MONTHLY_QUOTA_EXCEEDED": 150}
    assert used(database).publishes.used == 3_000
    assert used(database).total_requests == 50


def test_the_same_operation_200_times_at_once_takes_one_unit(
    database: Database, replicas: tuple[Admissions, Admissions]
) -> None:
    move_clock(database, MID_MINUTE)
    caller = msgspec.structs.replace(ELITE, operation_id="op_same")
    answers = all_at_once(
        lambda admissions=replicas[index % 2]: admit(admissions, caller, "publishes")
        for index in range(AT_ONCE)
    )
    assert answers == {None: AT_ONCE}
    assert (used(database).publishes.used, used(database).writes.used) == (1, AT_ONCE)


def test_accounts_that_come_together_are_counted_apart_and_do_not_deadlock(
    database: Database, replicas: tuple[Admissions, Admissions]
) -> None:
    move_clock(database, MID_MINUTE)
    callers = [
        Caller(account_id=f"usr_{index % 20}", user_id="usr_x", tier="free") for index in range(AT_ONCE)
    ]
    for _ in range(3):
        all_at_once(
            lambda admissions=replicas[index // 3 % 2], caller=caller: admit(admissions, caller)
            for index, caller in enumerate(callers)
        )
    assert {used(database, caller).reads.used for caller in callers} == {10}


def test_the_hundredth_sandbox_use_is_found_by_exactly_one_of_many(
    database: Database, replicas: tuple[Admissions, Admissions]
) -> None:
    move_clock(database, MID_MINUTE)
    prepare(database, "tok_s", lifetime=99)
    answers = all_at_once(
        lambda admissions=replicas[index % 2]: admit(admissions, SANDBOX) for index in range(AT_ONCE)
    )
    assert answers == {None: 1, "SANDBOX_EXHAUSTED": 199}
    assert used(database).total_requests == 0


def test_an_exhausted_sandbox_token_is_told_where_to_upgrade(
    admissions: Admissions, database: Database
) -> None:
    prepare(database, "tok_s", lifetime=100)
    refusal = admit(admissions, SANDBOX)
    assert refusal.refused_extras == {"upgrade_url": "https://example.test/upgrade"}
    assert refusal.window.limit == 5


def test_minute_day_and_month_begin_anew_when_the_clock_passes_their_end(
    admissions: Admissions, database: Database
) -> None:
    free = Caller(account_id="usr_free", user_id="usr_free", tier="free")
    move_clock(database, datetime(2026, 11, 29, 23, 58, 30, tzinfo=UTC))
    prepare(database, "usr_free", minute_count=10, day_count=1_000, reads=10_000)
    assert admit(admissions, free).refused_code == "RATE_LIMITED"
    move_clock(database, datetime(2026, 11, 29, 23, 59, 30, tzinfo=UTC))
    refusal = admit(admissions, free)
    assert refusal.refused_code == "DAILY_LIMIT_EXCEEDED"
    assert refusal.window.resets_at == datetime(2026, 11, 30, tzinfo=UTC)
    move_clock(database, datetime(2026, 11, 30, 12, tzinfo=UTC))
    refusal = admit(admissions, free)
    assert refusal.refused_code == "MONTHLY_QUOTA_EXCEEDED"
    assert refusal.refused_extras["resets_at"] == datetime(2026, 12, 1, tzinfo=UTC)
    assert admit(admissions, free, "").refused_code is None
    move_clock(database, datetime(2026, 12, 1, tzinfo=UTC))
    admitted = admit(admissions, free)
    assert (admitted.refused_code, admitted.year_month, admitted.window.remaining) == (None, "2026-12", 9)


def test_a_higher_tier_helps_at_once(admissions: Admissions, database: Database) -> None:
    move_clock(database, MID_MINUTE)
    prepare(database, "usr_elite", minute_count=60)
    pro = msgspec.structs.replace(ELITE, tier="pro")
    assert admit(admissions, pro).refused_code == "RATE_LIMITED"
    assert admit(admissions, ELITE).window.remaining == 239


def test_one_warning_is_staged_however_many_cross_the_line_together(
    database: Database, replicas: tuple[Admissions, Admissions]
) -> None:
    move_clock(database, MID_MINUTE)
    prepare(database, "usr_elite", replies=15_950)
    callers = [msgspec.structs.replace(ELITE, operation_id=f"op_{index}") for index in range(AT_ONCE)]
    all_at_once(
        lambda admissions=replicas[index % 2], caller=caller: admit(admissions, caller, "replies")
        for index, caller in enumerate(callers)
    )
    (warning,) = warnings(database)
    assert warning == QuotaWarning(
        user_id="usr_elite",
        bucket="replies",
        used=16_000,
        limit=20_000,
        percent=80,
        resets_at=datetime(2026, 12, 1, tzinfo=UTC),
    )


def test_a_commit_waits_for_the_disk_only_when_it_holds_a_warning(
    admissions: Admissions, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    write = Store.write
    wait_for_disk = Store.wait_for_disk

    def setting(store: Store) -> str:
        return str(store._connection.execute(text("SHOW synchronous_commit")).scalar_one())

    def noting_write(store: Store, *args: Any, **kwargs: Any) -> None:
        seen.append(setting(store))
        write(store, *args, **kwargs)

    def noting_wait(store: Store) -> None:
        wait_for_disk(store)
        seen.append(setting(store))

    move_clock(database, MID_MINUTE)
    prepare(database, "usr_elite", reads=799_998)
    monkeypatch.setattr(Store, "write", noting_write)
    monkeypatch.setattr(Store, "wait_for_disk", noting_wait)
    admit(admissions, ELITE)
    assert seen == ["off"]
    admit(admissions, ELITE)
    assert seen == ["off", "on", "on"]
    assert len(warnings(database)) == 1


def test_a_webhook_delivery_takes_one_unit_once_and_none_when_the_month_is_used_up(
    admissions: Admissions, database: Database
) -> None:
    prepare(database, "usr_elite", webhooks=499_999)

    def charge(delivery: str) -> bool:
        request = ChargeUnit(account_id="usr_elite", tier="elite", bucket="webhooks", operation_id=delivery)
        return admissions.charge_units([request]) == (True,)

    assert [charge("dlv_1"), charge("dlv_1"), charge("dlv_2")] == [True, True, False]
    assert used(database).webhooks.used == 500_000
    assert used(database).total_requests == 0


def test_units_charged_together_are_judged_one_by_one_and_once_each(
    admissions: Admissions, database: Database
) -> None:
    prepare(database, "usr_elite", webhooks=499_998)
    units = [
        ChargeUnit(account_id=account, tier="elite", bucket="webhooks", operation_id=delivery)
        for account, delivery in (
            *(("usr_elite", "dlv_1"), ("usr_elite", "dlv_1"), ("usr_b", "dlv_2")),
            *(("usr_elite", "dlv_3"), ("usr_elite", "dlv_4")),
        )
    ]
    assert admissions.charge_units(units) == (True, True, True, True, False)
    assert used(database).webhooks.used == 500_000
    assert admissions.charge_units([]) == ()


def test_usage_of_an_account_that_never_came_is_all_zeroes(database: Database) -> None:
    move_clock(database, MID_MINUTE)
    nobody = used(database, Caller(account_id="usr_new", user_id="usr_new", tier="free"))
    assert (nobody.year_month, nobody.resets_at) == ("2026-11", datetime(2026, 12, 1, tzinfo=UTC))
    assert nobody.publishes == BucketUse(used=0, limit=60, remaining=60)
    assert nobody.writes == BucketUse(used=0, limit=None, remaining=None)


def test_requests_that_come_together_are_judged_one_after_the_other(
    database: Database, replicas: tuple[Admissions, Admissions]
) -> None:
    free = Caller(account_id="usr_free", user_id="usr_free", tier="free")
    move_clock(database, MID_MINUTE)
    prepare(database, "usr_free", minute_count=4)
    groups = [[Arrival(caller=free, meter="reads")] * 3, [Arrival(caller=ELITE, meter="reads")] * 3] * 4
    barrier = threading.Barrier(len(groups))

    def together(index: int) -> tuple[Admitted | None, ...]:
        barrier.wait()
        return replicas[index % 2].admit_all(groups[index])

    with ThreadPoolExecutor(len(groups)) as pool:
        verdicts = [verdict for found in pool.map(together, range(len(groups))) for verdict in found]
    refused = Counter(verdict.refused_code for verdict in verdicts)
    assert refused == {None: 6 + 12, "RATE_LIMITED": 6}


def test_who_takes_a_unit_and_who_takes_none_are_counted_in_one_transaction(
    admissions: Admissions, database: Database
) -> None:
    move_clock(database, MID_MINUTE)
    readers = [Caller(account_id=f"usr_{number}", user_id="usr_x", tier="free") for number in range(3)]
    writer = msgspec.structs.replace(ELITE, operation_id="op_1")
    group = [
        *(Arrival(caller=reader, meter="reads") for reader in readers),
        Arrival(caller=writer, meter="publishes"),
    ]
    assert [verdict.refused_code for verdict in admissions.admit_all(group)] == [None] * 4
    assert [used(database, reader).reads.used for reader in readers] == [1, 1, 1]
    assert used(database, writer).publishes.used == 1
    assert admissions.admit_all(group)[-1].refused_code is None
    assert (used(database, writer).publishes.used, used(database, readers[0]).reads.used) == (1, 2)
