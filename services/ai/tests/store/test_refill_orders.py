"""Orders of auto-refill whose answers are lost, late, repeated or pending: each is paid and credited at most once."""

from datetime import timedelta
from typing import Any

import pytest
from ai_kit.payment_provider import FakePaymentProvider
from ai_kit.refills import NOON, Set, bonus, order, run, shown, spend, tell, wish
from sqlalchemy import text

from chassis.db.database import Database


@pytest.mark.usefixtures("wished")
def test_an_order_with_a_lost_answer_is_sent_again_unchanged(
    database: Database, till: FakePaymentProvider
) -> None:
    till.mood = "silent"  # it takes the money and does not answer
    spend(database, 10, "op_1")
    run(database, till)
    assert (bonus(database), shown(database).status) == (0, "pending")
    till.mood = "paid"
    run(database, till)
    assert (bonus(database), len(till.orders)) == (1_000, 1)


@pytest.mark.usefixtures("wished")
def test_a_day_old_order_is_searched_for_and_never_sent_again(
    database: Database, at: Set, till: FakePaymentProvider
) -> None:
    order(database, till, "silent")
    at(NOON + timedelta(hours=23, minutes=1))
    till.mood = "paid"
    till.pay = None  # a call fails the test
    run(database, till)
    assert bonus(database) == 1_000


@pytest.mark.usefixtures("wished")
@pytest.mark.parametrize("taken", [True, False])
def test_an_order_with_a_replayed_failure_is_searched_for(
    database: Database, at: Set, till: FakePaymentProvider, taken: bool
) -> None:
    order(database, till, "silent" if taken else "unheard")
    till.mood = "stuck"
    run(database, till)
    assert (bonus(database), shown(database).status) == ((1_000, "active") if taken else (0, "pending"))
    at(NOON + timedelta(minutes=59))
    run(database, till)
    assert shown(database).status == ("active" if taken else "pending")
    at(NOON + timedelta(minutes=61))
    run(database, till)
    assert shown(database).status == ("active" if taken else "payment_failed")
    till.mood = "paid"
    spend(database, 1, "op_2")
    run(database, till)
    assert bonus(database) == 1_000


@pytest.mark.usefixtures("wished")
def test_an_order_that_never_arrived_fails_after_a_day(
    database: Database, at: Set, till: FakePaymentProvider
) -> None:
    order(database, till, "unheard")
    at(NOON + timedelta(hours=23, minutes=1))
    run(database, till)
    assert (bonus(database), shown(database).status) == (0, "payment_failed")


@pytest.mark.usefixtures("wished")
@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize(
    "change", [{"enabled": False}, {"payment_method": "pm_2"}, {"payment_customer": "cus_2"}, {"amount": 500}]
)
def test_an_order_no_longer_wanted_is_searched_for_and_not_sent_again(
    database: Database, at: Set, till: FakePaymentProvider, change: dict[str, Any], taken: bool
) -> None:
    order(database, till, "silent" if taken else "unheard")
    wish(database, **change)
    till.mood, till.pay = "paid", None  # a call fails the test
    for minutes in (1, 59, 61):
        at(NOON + timedelta(minutes=minutes))
        run(database, till)
        assert bonus(database) == (1_000 if taken else 0)
    with database.reading() as connection:
        states = connection.execute(text("SELECT state FROM refills")).scalars().all()
    assert states == ["paid" if taken else "failed"]


@pytest.mark.usefixtures("wished")
@pytest.mark.parametrize("last", [timedelta(minutes=70), timedelta(hours=22, minutes=50)])
def test_an_order_that_arrived_late_does_not_fail_before_it_can_be_found(
    database: Database, at: Set, till: FakePaymentProvider, last: timedelta
) -> None:
    order(database, till, "unheard")
    at(NOON + last)
    till.mood = "silent"
    run(database, till)
    wish(database, payment_method="pm_2")
    at(NOON + last + timedelta(minutes=15))
    till.mood, find, till.find = "paid", till.find, lambda order_id: None  # the search is behind
    run(database, till)
    till.find = find
    run(database, till)
    assert (bonus(database), len(till.orders)) == (1_000, 1)


@pytest.mark.usefixtures("wished")
def test_credits_are_given_once_whatever_arrives_twice(database: Database, till: FakePaymentProvider) -> None:
    order(database, till, "silent")
    (order_id,) = till.orders
    tell(database, order_id, till)
    assert bonus(database) == 1_000
    tell(database, order_id, till)
    till.mood = "paid"
    run(database, till)
    assert bonus(database) == 1_000


@pytest.mark.usefixtures("wished")
def test_a_pending_payment_is_looked_up_until_it_is_decided(
    database: Database, at: Set, till: FakePaymentProvider
) -> None:
    order(database, till, "pending")
    at(NOON + timedelta(days=3))
    run(database, till)
    assert (bonus(database), shown(database).status) == (0, "pending")
    (order_id,) = till.states
    till.states[order_id] = type(till.states[order_id]).PAID
    run(database, till)
    assert bonus(database) == 1_000


@pytest.mark.usefixtures("wished")
def test_a_payment_that_succeeds_after_its_failure_is_credited(
    database: Database, till: FakePaymentProvider
) -> None:
    order(database, till, "failed")
    (order_id,) = till.states
    till.states[order_id] = type(till.states[order_id]).PAID
    tell(database, order_id, till)
    assert (bonus(database), shown(database).status) == (1_000, "active")


@pytest.mark.usefixtures("wished")
def test_a_payment_of_another_amount_gives_nothing(database: Database, till: FakePaymentProvider) -> None:
    order(database, till, "silent")
    (order_id,) = till.orders
    till.orders[order_id] = type(till.orders[order_id])(order_id, "usr_1", 5, "cus_1", "pm_1")
    tell(database, order_id, till)
    assert (bonus(database), shown(database).status) == (0, "payment_failed")
