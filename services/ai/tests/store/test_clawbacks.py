"""Refunds and disputes on a real database: credits are taken back and returned once, whatever the order of events."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import msgspec
import pytest
from ai_kit.fuse import Fuse
from ai_kit.payment_provider import FakePaymentProvider
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text
from structlog.testing import capture_logs

from ai import metrics
from ai.credits import auto_refill, clawbacks, payment_notifications
from ai.credits.balances import balance, charge, grant
from ai.payments.base import Notification, PackSale, PaymentDispute, PaymentRefund
from ai.rules.prices import CreditSettings
from ai.store.ledger import Ledgers
from chassis.db.database import Database
from contracts.ai import Credits, GrantCredits, PaymentHook, SetAutoRefill
from contracts.caller import Caller, operator
from contracts.events import Event

SETTINGS = CreditSettings(payment_provider="stripe", pack_links={1_500: "https://buy.example"})
ANN = Caller(account_id="usr_1", user_id="usr_1", tier="free")
PLAN = 30
SALE = PackSale("cs_1", "usr_1", 1_500, "pi_1", 2_500, "usd")
REFUNDED = PaymentRefund("pi_1", event_at=100, amount=2_500, refunded=2_500, currency="usd")
DISPUTED = PaymentDispute("dp_1", "pi_1", event_at=100, amount=2_500, currency="usd", status="needs_response")
Tell = Callable[..., None]
Has = Callable[[], Credits]


@pytest.fixture
def tell(database: Database) -> Tell:
    """Delivers these notifications, each in its own call."""

    def call(*said: Notification) -> None:
        for one in said:
            till = FakePaymentProvider()
            till.read_hook = lambda *_, one=one: one
            payment_notifications.receive(
                database, SETTINGS, till, PaymentHook(provider="stripe", body="", signature="")
            )

    return call


@pytest.fixture
def has(database: Database) -> Has:
    """Returns the account's credits."""

    def look() -> Credits:
        with database.reading() as connection:
            return balance(connection, SETTINGS, ANN).credits

    return look


def spend(database: Database, amount: int, operation_id: str = "op_1") -> None:
    with database.transaction() as connection:
        charge(
            connection, SETTINGS, ANN, operation_id=operation_id, job_id=None, credits=amount, action="image"
        )


def entries(database: Database) -> list[tuple[str, int, int, str | None]]:
    """Returns kind, bought, owed and cause of the entries about bought credits, oldest first."""
    with database.reading() as connection:
        assert Ledgers(connection).wrong_count() == 0
        rows = connection.execute(
            text(
                "SELECT kind, bought, owed, action FROM entries WHERE kind NOT IN ('grant', 'charge') ORDER BY id"
            )
        )
        return [tuple(row) for row in rows]


def test_a_refund_takes_back_what_its_payment_bought(database: Database, tell: Tell, has: Has) -> None:
    tell(SALE, REFUNDED)
    assert (has().bonus, has().owed, has().available) == (0, 0, PLAN)
    assert entries(database) == [("purchase", 1_500, 0, None), ("clawback", -1_500, 0, "refund")]


@pytest.mark.usefixtures("recording")
def test_what_is_taken_back_and_what_is_owed_since_are_counted_for_the_alerts(
    database: Database, tell: Tell
) -> None:
    tell(SALE)
    spend(database, PLAN + 1_000)
    tell(REFUNDED)
    key = (("reason", "refund"),)
    assert (metrics.CLAWED_BACK.sums, metrics.OWED.sums) == ({key: 1_500}, {key: 1_000})


@pytest.mark.parametrize(
    ("refunded", "left"),
    [(0, 1_500), (1, 1_500), (2, 1_499), (1_250, 750), (833, 1_001), (2_499, 1), (2_500, 0), (9_999, 0)],
)
def test_a_refund_in_part_takes_back_in_proportion_and_rounds_down(
    tell: Tell, has: Has, refunded: int, left: int
) -> None:
    tell(SALE, replace(REFUNDED, refunded=refunded))
    assert has().bonus == left


def test_refunds_in_parts_take_back_as_much_as_one_refund_of_all(tell: Tell, has: Has) -> None:
    tell(SALE, *(replace(REFUNDED, event_at=at, refunded=833 * at) for at in (1, 2)), REFUNDED)
    assert has().bonus == 0


def test_a_repeated_refund_takes_nothing_more(database: Database, tell: Tell, has: Has) -> None:
    half = replace(REFUNDED, refunded=1_250)
    tell(SALE, half, half, SALE, half)
    assert has().bonus == 750
    assert [entry[0] for entry in entries(database)] == ["purchase", "clawback"]


def test_an_older_refund_event_does_not_undo_a_newer_one(tell: Tell, has: Has) -> None:
    tell(SALE, REFUNDED, replace(REFUNDED, event_at=99, refunded=500))
    assert has().bonus == 0


def test_a_refund_before_its_purchase_counts_once_the_purchase_arrives(
    database: Database, tell: Tell, has: Has
) -> None:
    tell(REFUNDED)
    assert has().bonus == 0
    tell(SALE)
    assert (has().bonus, has().owed) == (0, 0)
    assert [entry[0] for entry in entries(database)] == ["purchase", "clawback"]


def test_a_simultaneous_refund_and_purchase_miss_nothing(database: Database, tell: Tell, has: Has) -> None:
    with ThreadPoolExecutor(2) as both:
        for number in range(10):
            sale = replace(SALE, sale_id=f"cs_{number}", payment_id=f"pi_{number}")
            refund = replace(REFUNDED, payment_id=f"pi_{number}")
            list(both.map(tell, (sale, refund)))
            assert (has().bonus, has().owed) == (0, 0)
    assert [entry[0] for entry in entries(database)] == ["purchase", "clawback"] * 10


def test_spent_credits_become_a_debt_and_no_balance_falls_below_zero(
    database: Database, tell: Tell, has: Has
) -> None:
    tell(SALE)
    spend(database, PLAN + 1_000)
    tell(REFUNDED)
    assert (has().available, has().owed) == (0, 1_000)
    assert entries(database)[-1] == ("clawback", -500, -1_000, "refund")


def test_credits_of_the_plan_and_of_referrals_are_left_alone(
    database: Database, tell: Tell, has: Has
) -> None:
    tell(SALE)
    spend(database, PLAN + 1_500)
    with database.transaction() as connection:
        by = msgspec.structs.replace(operator(), operation_id="op_gift")
        request = GrantCredits(account_id="usr_1", tier="free", amount=70, referral=True)
        grant(connection, by, request)
    tell(REFUNDED)
    assert (has().referral, has().bonus, has().owed) == (70, 70, 1_500)


def test_a_debt_is_taken_from_the_next_credits_bought(database: Database, tell: Tell, has: Has) -> None:
    tell(SALE)
    spend(database, PLAN + 1_000)
    tell(REFUNDED, replace(SALE, sale_id="cs_2", payment_id="pi_2"))
    assert (has().bonus, has().owed) == (500, 0)
    assert entries(database)[-2:] == [("purchase", 1_500, 0, None), ("collection", -1_000, 1_000, None)]


def test_a_dispute_takes_back_at_once_and_returns_when_won(database: Database, tell: Tell, has: Has) -> None:
    tell(SALE, DISPUTED)
    assert has().bonus == 0
    tell(replace(DISPUTED, event_at=200, status="won"))
    assert has().bonus == 1_500
    assert entries(database)[1:] == [
        ("clawback", -1_500, 0, "dispute"),
        ("reinstatement", 1_500, 0, "dispute"),
    ]


def test_a_dispute_that_is_lost_takes_nothing_more(database: Database, tell: Tell, has: Has) -> None:
    tell(SALE, DISPUTED, replace(DISPUTED, event_at=200, status="lost"))
    assert has().bonus == 0
    assert [entry[0] for entry in entries(database)] == ["purchase", "clawback"]


def test_a_won_dispute_cancels_the_debt_first(database: Database, tell: Tell, has: Has) -> None:
    tell(SALE)
    spend(database, PLAN + 1_000)
    tell(DISPUTED)
    assert has().owed == 1_000
    tell(replace(DISPUTED, event_at=200, status="won"))
    assert (has().bonus, has().owed) == (500, 0)


@pytest.mark.parametrize(
    "status", ["warning_needs_response", "warning_under_review", "warning_closed", "prevented"]
)
def test_an_inquiry_takes_nothing(tell: Tell, has: Has, status: str) -> None:
    tell(SALE, replace(DISPUTED, status=status))
    assert has().bonus == 1_500


def test_an_inquiry_that_becomes_a_dispute_takes_back(tell: Tell, has: Has) -> None:
    tell(SALE, replace(DISPUTED, status="warning_needs_response"), replace(DISPUTED, event_at=101))
    assert has().bonus == 0


def test_a_dispute_in_another_currency_is_about_the_whole_payment(tell: Tell, has: Has) -> None:
    tell(SALE, replace(DISPUTED, amount=3, currency="eur"))
    assert has().bonus == 0


def test_a_refund_and_a_dispute_of_one_payment_take_it_back_once(tell: Tell, has: Has) -> None:
    tell(SALE, replace(REFUNDED, refunded=1_250), DISPUTED)
    assert (has().bonus, has().owed) == (0, 0)
    tell(replace(DISPUTED, event_at=200, status="won"))
    assert has().bonus == 750


def test_another_payments_refund_takes_nothing(tell: Tell, has: Has) -> None:
    tell(SALE, replace(REFUNDED, payment_id="pi_of_another_shop"))
    assert has().bonus == 1_500


def test_a_refunded_auto_refill_of_before_1_4_0_is_taken_back(
    database: Database, tell: Tell, has: Has
) -> None:
    """Such a payment was recorded in `refills` only."""
    wish = SetAutoRefill(
        account_id="usr_1", tier="free", enabled=True, threshold=25, amount=500, payment_customer="cus_1",
        payment_method="pm_1",
    )  # fmt: skip
    auto_refill.set_auto_refill(database, operator(), wish)
    spend(database, 10)
    till = FakePaymentProvider()
    while auto_refill.run_refills(database, SETTINGS, till):
        pass
    assert has().bonus == 500
    with database.transaction() as connection:
        connection.execute(text("DELETE FROM payments"))
    (order_id,) = till.orders
    tell(PaymentRefund(f"pi_{order_id}", event_at=1, amount=900, refunded=450, currency="usd"))
    assert has().bonus == 250


def test_an_account_with_a_debt_is_not_refilled(database: Database, tell: Tell, has: Has) -> None:
    wish = SetAutoRefill(
        account_id="usr_1", tier="free", enabled=True, threshold=25, amount=500, payment_customer="cus_1",
        payment_method="pm_1",
    )  # fmt: skip
    tell(SALE)
    spend(database, PLAN + 1_500)
    tell(REFUNDED)
    auto_refill.set_auto_refill(database, operator(), wish)
    till = FakePaymentProvider()
    auto_refill.run_refills(database, SETTINGS, till)
    assert till.orders == {}
    tell(replace(SALE, sale_id="cs_2", payment_id="pi_2"))
    auto_refill.set_auto_refill(database, operator(), wish)
    auto_refill.run_refills(database, SETTINGS, till)
    assert len(till.orders) == 1


def test_the_account_learns_by_event_and_the_operator_by_log(database: Database, tell: Tell) -> None:
    with capture_logs() as lines:
        tell(SALE)
        spend(database, PLAN + 1_000)
        tell(DISPUTED, replace(DISPUTED, event_at=200, status="won"))
    with database.reading() as connection:
        bodies = connection.execute(
            text("SELECT body FROM outbox WHERE event = 'account.credits.adjusted' ORDER BY position")
        ).scalars()
        told = [msgspec.json.decode(body, type=Event).data for body in bodies]
    assert told == [
        {"userId": "usr_1", "reason": "dispute", "credits": -1_500, "bonus": 0, "owed": 1_000},
        {"userId": "usr_1", "reason": "dispute", "credits": 1_500, "bonus": 500, "owed": 0},
    ]
    taken, returned = [line for line in lines if line["event"].startswith("credits_")]
    assert (taken["log_level"], taken["payment_id"], taken["newly_owed"]) == ("warning", "pi_1", 1_000)
    assert (returned["event"], returned["owed"]) == ("credits_reinstated", 0)


def test_refunds_of_other_things_are_forgotten_after_a_while(database: Database, tell: Tell) -> None:
    tell(SALE, REFUNDED, replace(DISPUTED, payment_id="pi_other"), replace(REFUNDED, payment_id="pi_new"))
    with database.transaction() as connection:
        connection.execute(
            text("UPDATE payments SET noted_at = noted_at - interval '91 days' WHERE payment_id <> 'pi_new'")
        )
    assert clawbacks.forget_unmatched(database) == 1
    with database.reading() as connection:
        left = connection.execute(text("SELECT payment_id FROM payments ORDER BY 1")).scalars().all()
    assert left == ["pi_1", "pi_new"]


#: What may be notified about one payment, in the order it happened; the last entry of each is the final state.
STORY: tuple[Notification, ...] = (
    SALE,
    replace(REFUNDED, event_at=10, refunded=500),
    replace(DISPUTED, event_at=20, status="warning_needs_response"),
    replace(DISPUTED, event_at=20),
    replace(REFUNDED, event_at=30, refunded=1_000),
    replace(DISPUTED, event_at=40, status="won"),
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_result_is_the_same_for_any_order_of_events_and_any_death(
    database: Database, tell: Tell, has: Has, fuse: Fuse, data: st.DataObject
) -> None:
    """A call that dies is repeated until it succeeds, as Stripe does. Some events arrive twice."""
    number = next(_NUMBERS)
    again = data.draw(st.lists(st.sampled_from(STORY), max_size=4))
    before = has()
    for one in data.draw(st.permutations([*STORY, *again])):
        mine = replace(one, payment_id=f"pi_s{number}")
        if isinstance(mine, PackSale):
            mine = replace(mine, sale_id=f"cs_s{number}")
        if isinstance(mine, PaymentDispute):
            mine = replace(mine, dispute_id=f"dp_s{number}")
        with fuse.lit(data.draw(st.one_of(st.none(), st.integers(0, 12)))):
            tell(mine)
        if not fuse.finished:
            tell(mine)
    assert (has().bonus - before.bonus, has().owed) == (900, 0)
    with database.reading() as connection:
        assert Ledgers(connection).wrong_count() == 0


_NUMBERS = itertools.count(1)
