"""Outbox, inbox and clock on a real PostgreSQL."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import func, select, text

from chassis.bus import inbox, outbox
from chassis.bus.link import NotConfirmed
from chassis.config import ConfigError
from chassis.db import clock
from chassis.db.database import Database
from chassis.db.schema import outbox as outbox_table
from contracts.errors import ApiError
from contracts.events import AccountChanged, BrandRenamed
from testkit.fixtures import signed_by

CHANGE = AccountChanged(account_id="usr_1", tier="elite")


class Broker:
    """Stands in for the link to the broker. Keeps the published messages, or confirms none."""

    def __init__(self, confirms=True):
        self.confirms = confirms
        self.published = []

    def publish_confirmed(self, messages, timeout_seconds=5.0):
        if not self.confirms:
            raise NotConfirmed("away")
        self.published += messages


@pytest.fixture
def database(open_database: Callable[[str], Database]) -> Database:
    return open_database("probe")


SIGNATURES = signed_by("accounts")


def stage(database, count=1):
    staged = []
    for _ in range(count):
        with database.transaction() as connection:
            staged.append(outbox.stage(connection, "account.changed", CHANGE, account_id="usr_1").id)
    return staged


def left(database):
    with database.reading() as connection:
        return connection.execute(select(func.count()).select_from(outbox_table)).scalar_one()


def test_an_event_of_a_transaction_that_failed_is_never_sent(database):
    with pytest.raises(ZeroDivisionError), database.transaction() as connection:
        outbox.stage(connection, "account.changed", CHANGE, account_id="usr_1")
        raise ZeroDivisionError
    assert outbox.relay_once(database, Broker(), SIGNATURES) == 0


def test_events_are_sent_in_order_and_leave_the_outbox_once_confirmed(database):
    staged = stage(database, 5)
    broker = Broker()
    assert outbox.relay_once(database, broker, SIGNATURES, limit=3) == 3
    assert outbox.relay_once(database, broker, SIGNATURES, limit=3) == 2
    assert [message.message_id for message in broker.published] == staged
    assert left(database) == 0


def test_an_event_that_the_previous_release_does_not_know_needs_no_binding(database):
    with database.transaction() as connection:
        renamed = BrandRenamed(brand_id="brd_1", name="Bakery")
        outbox.stage(connection, "brand.renamed", renamed, account_id="usr_1")
    stage(database)
    broker = Broker()
    assert outbox.relay_once(database, broker, SIGNATURES) == 2
    addresses = [(message.exchange, message.routing_key) for message in broker.published]
    assert addresses == [("", "events.publishing"), ("events", "account.changed")]


def test_events_the_broker_did_not_confirm_stay(database):
    stage(database, 2)
    with pytest.raises(NotConfirmed):
        outbox.relay_once(database, Broker(confirms=False), SIGNATURES)
    assert left(database) == 2


def test_two_relays_never_send_the_same_event(database):
    stage(database, 4)
    first, second = Broker(), Broker()

    class Meanwhile(Broker):
        def publish_confirmed(self, messages, timeout_seconds=5.0):
            outbox.relay_once(database, second, SIGNATURES)
            first.publish_confirmed(messages)

    outbox.relay_once(database, Meanwhile(), SIGNATURES, limit=2)
    ids = [message.message_id for message in first.published + second.published]
    assert len(ids) == len(set(ids)) == 4


def test_a_commit_that_staged_an_event_wakes_the_relay_and_others_do_not(database):
    woken = []
    database.on_commit(outbox.STAGED, lambda: woken.append(1))
    with database.transaction() as connection:
        connection.execute(text("SELECT 1"))
    assert woken == []
    stage(database)
    assert woken == [1]


def test_an_event_is_new_once(database):
    with database.transaction() as connection:
        assert inbox.record(connection, "evt_1")
        assert not inbox.record(connection, "evt_1")


def test_the_clock_moves_when_it_is_shifted_and_leases_do_not(database):
    with database.transaction() as connection:
        before = clock.now(connection)
        clock.set_shift(connection, 86_400)
        assert timedelta(days=1) <= clock.now(connection) - before < timedelta(days=1, minutes=1)
        real = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
        assert real - before < timedelta(minutes=1)


def test_a_shifted_clock_is_refused_where_it_is_not_allowed(database):
    with database.transaction() as connection:
        clock.refuse_shifted(connection, allowed=False)
        clock.set_shift(connection, 1)
        clock.refuse_shifted(connection, allowed=True)
        with pytest.raises(ConfigError, match="CLOCK_SHIFT_ALLOWED"):
            clock.refuse_shifted(connection, allowed=False)


def test_the_clock_gives_whole_milliseconds(database):
    with database.reading() as connection:
        assert clock.now(connection).microsecond % 1000 == 0


def test_a_connection_lost_in_a_transaction_is_told_as_unavailable_and_the_next_one_works(
    database, open_database
):
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"), database.transaction() as connection:
        backend = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with open_database("probe").reading() as other:
            other.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": backend})
        connection.execute(text("SELECT 1"))
    with database.transaction() as connection:
        assert connection.execute(text("SELECT 1")).scalar_one() == 1


def test_events_are_forgotten_after_thirty_days_however_many_they_are(database):
    add = text(
        "INSERT INTO inbox (event_id, received_at) "
        "SELECT 'evt_' || number, clock_timestamp() - make_interval(days => :days) "
        "FROM generate_series(CAST(:first AS int), CAST(:last AS int)) AS number"
    )
    with database.transaction() as connection:
        connection.execute(add, {"days": 31, "first": 1, "last": 2500})
        connection.execute(add, {"days": 29, "first": 2501, "last": 2503})
    assert inbox.sweep(database) == 2500
    with database.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM inbox")).scalar_one() == 3


def test_events_to_be_forgotten_are_found_by_their_index(database):
    with database.transaction() as connection:
        connection.execute(text("SET LOCAL enable_seqscan = off"))
        forget = inbox._FORGET.compile(dialect=connection.dialect)
        plan = connection.exec_driver_sql(f"EXPLAIN {forget}", forget.params).scalars().all()
    assert any("Index Cond: (received_at <" in line for line in plan), plan
