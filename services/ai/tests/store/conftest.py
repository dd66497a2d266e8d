"""A fresh AI database, the time it shows, what kills a process on it, and who takes the money."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event

from ai.payments.base import AnswerKept, Order, OutcomeUnknown, Payment, PaymentProvider, PaymentState
from chassis.db import clock
from chassis.db.database import Database


@pytest.fixture
def database(database_for: Callable[[str], str]) -> Iterator[Database]:
    database = Database(database_for("ai"), pool_size=24)
    yield database
    database.close()


@pytest.fixture
def at(database: Database) -> Callable[[datetime], None]:
    """`at(moment)` sets the clock."""

    def set_clock(moment: datetime) -> None:
        with database.transaction() as connection:
            unshifted = clock.now(connection) - timedelta(seconds=clock.shift_seconds(connection))
            clock.set_shift(connection, (moment - unshifted).total_seconds())

    return set_clock


class Killed(Exception):
    """The process ended here."""


class Fuse:
    """Ends the process before the n-th statement, commit or call from now on."""

    def __init__(self, database: Database) -> None:
        self.left: int | None = None
        #: The last block came to its end.
        self.finished = True
        event.listen(database.engine, "before_cursor_execute", self._see)

    def _see(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement != "ROLLBACK":  # after a kill it is the server that rolls back
            self.burn()

    def burn(self) -> None:
        if self.left is not None:
            if self.left == 0:
                self.left = None
                raise Killed
            self.left -= 1

    @contextmanager
    def lit(self, length: int | None) -> Iterator[None]:
        """The block may end early; whoever looks afterwards sees what was committed."""
        self.left, self.finished = length, False
        try:
            yield
            self.finished = True
        except Killed:
            pass
        finally:
            self.left = None


class Till(PaymentProvider):
    """A provider that takes the money, or not, and may die or fall silent before or after."""

    def __init__(self, burn: Callable[[], None] = lambda: None) -> None:
        self.orders: dict[str, Order] = {}
        self.states: dict[str, PaymentState] = {}
        self.mood = "paid"
        self._burn = burn

    def pay(self, order: Order) -> Payment:
        self._burn()
        if self.mood == "unheard":
            raise OutcomeUnknown
        if self.mood == "stuck":
            raise AnswerKept
        assert self.orders.setdefault(order.id, order) == order  # the same key, the same words
        wanted = PaymentState.PAID if self.mood == "silent" else PaymentState(self.mood)
        self.states.setdefault(order.id, wanted)
        self._burn()
        return self._answer(order.id)

    def look_up(self, payment_id: str) -> Payment:
        return self._answer(payment_id.removeprefix("pi_"))

    def find(self, order_id: str) -> Payment | None:
        return self._answer(order_id) if order_id in self.states else None

    def read_hook(self, body: bytes, signature: str, now: datetime | None = None) -> Payment:
        return self.payment(body.decode())

    def _answer(self, order_id: str) -> Payment:
        if self.mood == "silent":
            raise OutcomeUnknown
        return self.payment(order_id)

    def payment(self, order_id: str) -> Payment:
        state, cents = self.states[order_id], self.orders[order_id].price_cents
        return Payment(state, f"pi_{order_id}", None, order_id, cents if state is PaymentState.PAID else 0)


@pytest.fixture
def fuse(database: Database) -> Fuse:
    return Fuse(database)


@pytest.fixture
def new_till() -> type[Till]:
    return Till
