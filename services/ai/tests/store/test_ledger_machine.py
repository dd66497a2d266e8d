"""Random steps on the ledger in any order, with a kill between any two statements.

The test keeps a second, simpler model: a dictionary of pools. After each step the database's sums must equal it.
"""

import dataclasses
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from ai_kit.fuse import Fuse
from ai_kit.payment_provider import FakePaymentProvider
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec.structs import replace
from sqlalchemy import event, text

from ai.credits import auto_refill, payment_notifications
from ai.credits.balances import balance, charge, grant, refund
from ai.payments.base import PaymentState
from ai.rules.prices import CreditSettings
from ai.store.ledger import Ledgers
from chassis.db.database import Database
from contracts.ai import GrantCredits, PaymentHook, SetAutoRefill
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from contracts.plans import PLANS, TIERS

RUNS_AT_ONCE, STEPS_PER_RUN = 10, 270
#: A quarter of the full size takes 10 s of CPU.
LEAST_STEPS = 20_000 if os.environ.get("FULL_SIZE") else 5_000
SETTINGS = CreditSettings(payment_provider="stripe")
START = datetime(2026, 1, 30, 9, tzinfo=UTC)
ACCOUNTS = ("a", "b")

#: A clock that stands still between steps, so that the model and the database see one time.
FROZEN_CLOCK = f"""
CREATE OR REPLACE FUNCTION clock_now() RETURNS timestamptz LANGUAGE sql STABLE AS
    $$ SELECT timestamptz '{START.isoformat()}' + shift FROM clock_shift $$
"""
SUMS = text(
    """
    SELECT account_id, sum(plan), sum(referral), sum(bought), sum(spent),
        sum(plan + referral + bought + issued + lapsed + spent), count(*) FILTER (WHERE kind = 'charge'),
        array_remove(array_agg(CASE kind WHEN 'auto_refill' THEN operation_id END), NULL)
    FROM entries WHERE account_id = ANY(:ids) GROUP BY account_id
    """
)
crashes = st.one_of(st.none(), st.none(), st.integers(0, 9))
accounts = st.sampled_from(ACCOUNTS)
tiers = st.one_of(st.none(), st.none(), st.none(), st.sampled_from(TIERS))
picks = st.integers(0, 2**16)


@dataclass
class Reckoning:
    """The credits and refills that an account must have, by the model."""

    tier: str = "free"
    plan: int = 0
    referral: int = 0
    bought: int = 0
    spent: int = 0
    month: str = ""
    granted: int = 0
    refilled: set[str] = field(default_factory=set)

    def turn(self, month: str) -> None:
        if month != self.month:
            self.plan, self.granted, self.month = 0, 0, month

    def open(self, month: str) -> None:
        self.turn(month)
        more = max(0, PLANS[self.tier].plan_credits - self.granted)
        self.plan, self.granted = self.plan + more, self.granted + more


@dataclass
class Charge:
    owner: str
    amount: int
    tier: str
    parts: tuple[int, int, int] | None = None
    month: str = ""
    refunded: bool = False


class LedgerMachine(RuleBasedStateMachine):
    database: Database
    fuse: Fuse
    #: Steps and runs so far.
    steps_count, runs_count = 0, 0

    def __init__(self) -> None:
        super().__init__()
        LedgerMachine.runs_count += 1
        self.prefix = f"r{self.runs_count}_"
        self.till = FakePaymentProvider(self.fuse.burn)
        self.now = START
        self.books = {name: Reckoning() for name in ACCOUNTS}
        self.charges: dict[str, Charge] = {}
        self.gifts: dict[str, tuple[str, int, bool, bool]] = {}
        self.touched = self.refilling = False
        self._shift(timedelta(0))
        self._forget_earlier_runs()

    @property
    def month(self) -> str:
        return self.now.strftime("%Y-%m")

    def caller(self, name: str) -> Caller:
        account_id = self.prefix + name
        return Caller(account_id=account_id, user_id=account_id, tier=self.books[name].tier)

    def _shift(self, by: timedelta) -> None:
        self.now += by
        with self.database.reading() as connection:
            connection.execute(text("UPDATE clock_shift SET shift = :s"), {"s": self.now - START})

    @contextmanager
    def _killed_after(self, crash: int | None) -> Iterator[None]:
        self.touched = True
        with self.fuse.lit(crash):
            yield

    def _forget_earlier_runs(self) -> None:
        """Closes the refills that earlier runs left open: this run's provider does not know them."""
        with self.database.transaction() as connection:
            connection.execute(text("UPDATE auto_refills SET enabled = false, due_at = NULL WHERE enabled"))
            connection.execute(text("UPDATE refills SET state = 'failed' WHERE state = 'open'"))

    @rule(name=accounts, amount=st.integers(1, 45), tier=tiers, crash=crashes)
    def charge(self, name: str, amount: int, tier: str | None, crash: int | None) -> None:
        """Charges an account, which may have changed its plan before."""
        self.books[name].tier = tier or self.books[name].tier
        operation_id = f"{self.prefix}op_{len(self.charges)}"
        self.charges[operation_id] = Charge(name, amount, self.books[name].tier)
        self._charge(operation_id, crash)

    @precondition(lambda self: self.charges)
    @rule(pick=picks, crash=crashes)
    def repeat_a_charge(self, pick: int, crash: int | None) -> None:
        self._charge(list(self.charges)[pick % len(self.charges)], crash)

    def _charge(self, operation_id: str, crash: int | None) -> None:
        asked = self.charges[operation_id]
        left, code = None, None
        with self._killed_after(crash):
            try:
                with self.database.transaction() as connection:
                    left = charge(
                        connection, SETTINGS, self.caller(asked.owner), operation_id=operation_id,
                        job_id=None, credits=asked.amount, action="image",
                    )  # fmt: skip
            except ApiError as error:
                code = error.code
        if not self.fuse.finished:
            return
        book = self.books[asked.owner]
        if asked.parts is not None:
            assert (code == "AI_GENERATION_FAILED") if asked.refunded else (left.charged == asked.amount)
            return
        before = (book.plan, book.granted, book.month)
        book.open(self.month)
        if book.plan + book.referral + book.bought < asked.amount:
            assert code == "INSUFFICIENT_CREDITS"
            book.plan, book.granted, book.month = before
            return
        plan = min(book.plan, asked.amount)
        referral = min(book.referral, asked.amount - plan)
        asked.parts, asked.month = (plan, referral, asked.amount - plan - referral), self.month
        self._move(book, -1, asked.parts)
        assert (left.remaining, left.plan_remaining) == (book.plan + book.referral + book.bought, book.plan)

    def _move(self, book: Reckoning, sign: int, parts: tuple[int, int, int]) -> None:
        book.plan += sign * parts[0]
        book.referral += sign * parts[1]
        book.bought += sign * parts[2]
        book.spent -= sign * sum(parts)

    @precondition(lambda self: self.charges)
    @rule(pick=picks, crash=crashes)
    def refund(self, pick: int, crash: int | None) -> None:
        operation_id = list(self.charges)[pick % len(self.charges)]
        done = self.charges[operation_id]
        with self._killed_after(crash), self.database.transaction() as connection:
            given = refund(connection, operation_id)
        if not self.fuse.finished:
            return
        assert given == (done.parts is not None and not done.refunded)
        if given:
            book = self.books[done.owner]
            if done.month != self.month and done.parts[0]:
                book.turn(self.month)  # carried over: last month's rest lapses first
            self._move(book, 1, done.parts)
            done.refunded = True

    @rule(name=accounts, amount=st.integers(1, 600), referral=st.booleans(), crash=crashes)
    def grant(self, name: str, amount: int, referral: bool, crash: int | None) -> None:
        operation_id = f"{self.prefix}gift_{len(self.gifts)}"
        self.gifts[operation_id] = (name, amount, referral, False)
        self._grant(operation_id, crash)

    @precondition(lambda self: self.gifts)
    @rule(pick=picks, crash=crashes)
    def repeat_a_grant(self, pick: int, crash: int | None) -> None:
        self._grant(list(self.gifts)[pick % len(self.gifts)], crash)

    def _grant(self, operation_id: str, crash: int | None) -> None:
        name, amount, referral, done = self.gifts[operation_id]
        by = replace(operator(), operation_id=operation_id)
        request = GrantCredits(account_id=self.prefix + name, tier="free", amount=amount, referral=referral)
        with self._killed_after(crash), self.database.transaction() as connection:
            grant(connection, by, request)
        if self.fuse.finished and not done:
            self.gifts[operation_id] = (name, amount, referral, True)
            self._move(self.books[name], 1, (0, amount, 0) if referral else (0, 0, amount))
            self.books[name].spent += amount

    @rule(hours=st.sampled_from((0.05, 0.2, 1, 7, 24, 24 * 20)))
    def time_passes(self, hours: float) -> None:
        self._shift(timedelta(hours=hours))

    @rule(
        name=accounts,
        threshold=st.sampled_from((50, 400, 9_000)),
        enabled=st.sampled_from((True, True, False)),
        crash=crashes,
    )
    def set_auto_refill(self, name: str, threshold: int, enabled: bool, crash: int | None) -> None:
        request = SetAutoRefill(
            account_id=self.prefix + name, tier=self.books[name].tier, enabled=enabled, threshold=threshold,
            amount=500, payment_customer="cus_1", payment_method="pm_1",
        )  # fmt: skip
        self.refilling = True
        with self._killed_after(crash):
            auto_refill.set_auto_refill(self.database, operator(), request)

    @precondition(lambda self: self.refilling)
    @rule(mood=st.sampled_from(("paid", "paid", "failed", "pending", "silent", "unheard")), crash=crashes)
    def refills_run(self, mood: str, crash: int | None) -> None:
        self.till.mood = mood
        self._lapse_claims()
        with self._killed_after(crash):
            auto_refill.run_refills(self.database, SETTINGS, self.till)

    @precondition(lambda self: self.till.orders)
    @rule(pick=picks, crash=crashes)
    def provider_tells(self, pick: int, crash: int | None) -> None:
        order_id = list(self.till.orders)[pick % len(self.till.orders)]
        if self.till.states[order_id] is PaymentState.PENDING:
            self.till.states[order_id] = PaymentState.PAID if pick % 2 else PaymentState.FAILED
        self._stage_event(order_id, crash)

    def _stage_event(self, order_id: str, crash: int | None = None) -> None:
        hook = PaymentHook(provider="stripe", body=order_id, signature="")
        with self._killed_after(crash):
            payment_notifications.receive(self.database, SETTINGS, self.till, hook)

    def _lapse_claims(self) -> None:
        with self.database.reading() as connection:
            connection.execute(text("UPDATE refills SET look_at = clock_timestamp() WHERE state = 'open'"))

    def _take_refill(self, name: str, order_ids: list[str]) -> None:
        """Checks that the provider was paid for each new refill, and adds its credits to the model."""
        book = self.books[name]
        new = set(order_ids) - book.refilled
        assert len(set(order_ids)) == len(order_ids)
        for order_id in new:
            assert self.till.states[order_id] is PaymentState.PAID
            assert self.till.orders[order_id].account_id == self.prefix + name
        book.bought += 500 * len(new)
        book.refilled |= new

    def _sums(self) -> dict[str, Any]:
        with self.database.reading() as connection:
            rows = connection.execute(SUMS, {"ids": [self.prefix + name for name in ACCOUNTS]}).all()
        return {row[0].removeprefix(self.prefix): row for row in rows}

    @rule(name=accounts)
    def look(self, name: str) -> None:
        with self.database.reading() as connection:
            seen = balance(connection, SETTINGS, self.caller(name)).credits
        book = dataclasses.replace(self.books[name])
        book.open(self.month)
        assert (seen.plan_remaining, seen.bonus, seen.referral) == (
            book.plan, book.referral + book.bought, book.referral,
        )  # fmt: skip
        assert seen.plan_used + seen.plan_remaining == seen.plan_allowance
        assert seen.plan_used >= 0

    @invariant()
    def the_sums_are_right(self) -> None:
        LedgerMachine.steps_count += 1
        if not self.touched:
            return
        self.touched = False
        made = dict.fromkeys(ACCOUNTS, 0)
        for one in self.charges.values():
            made[one.owner] += one.parts is not None
        for name, (_, plan, referral, bought, spent, all_legs, charge_count, refills) in self._sums().items():
            book = self.books[name]
            self._take_refill(name, refills)
            assert (plan, referral, bought) == (book.plan, book.referral, book.bought)
            assert spent == book.spent
            assert min(plan, referral, bought) >= 0
            assert all_legs == 0
            assert charge_count == made[name]

    def teardown(self) -> None:
        """Checks that all paid refills were credited, and that the limits of auto-refill were kept."""
        self.till.mood = "paid"
        for order_id, state in list(self.till.states.items()):
            if state is PaymentState.PENDING:
                self.till.states[order_id] = PaymentState.PAID
        for _ in range(3):
            self._lapse_claims()
            auto_refill.run_refills(self.database, SETTINGS, self.till)
        self.touched = True
        self.the_sums_are_right()
        credited = set().union(*(book.refilled for book in self.books.values()))
        assert credited == {o for o, state in self.till.states.items() if state is PaymentState.PAID}
        self._limits_were_kept()

    def _limits_were_kept(self) -> None:
        for name in ACCOUNTS:
            with self.database.reading() as connection:
                found = connection.execute(
                    text("SELECT created_at FROM refills WHERE account_id = :a ORDER BY 1"),
                    {"a": self.prefix + name},
                )
                times = [row[0].astimezone(UTC) for row in found]
            gaps = [later - sooner for sooner, later in pairwise(times)]
            assert all(gap >= timedelta(minutes=10) for gap in gaps)
            assert all(sum(t.date() == day for t in times) <= 5 for day in {t.date() for t in times})


def wait_for_ever(connection: Any, _record: Any) -> None:
    """Disables the connection's timeouts, so that a slow machine does not fail the test."""
    with connection.cursor() as cursor:
        for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
            cursor.execute(f"SET {name} = 0")


@pytest.fixture
def frozen(database: Database, monkeypatch: pytest.MonkeyPatch) -> Database:
    with database.transaction() as connection:
        connection.execute(text(FROZEN_CLOCK))
        # Order and atomicity are under test, not the disk.
        connection.execute(
            text(f"ALTER DATABASE {connection.engine.url.database} SET synchronous_commit = off")
        )
    database.engine.dispose()
    event.listen(database.engine, "connect", wait_for_ever)
    monkeypatch.setattr("ai.store.ledger.CLOSE_AFTER", 6)
    return database


def test_thousands_of_steps_with_kills_leave_every_ledger_right(frozen: Database, fuse: Fuse) -> None:
    machine = type("Machine", (LedgerMachine,), {"database": frozen, "fuse": fuse})
    plan = settings(
        max_examples=RUNS_AT_ONCE, stateful_step_count=STEPS_PER_RUN, deadline=None, database=None,
        phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    for _ in range(20):
        if LedgerMachine.steps_count < LEAST_STEPS:
            run_state_machine_as_test(machine, settings=plan)
    assert LedgerMachine.steps_count >= LEAST_STEPS
    with frozen.reading() as connection:
        assert Ledgers(connection).wrong_count() == 0
