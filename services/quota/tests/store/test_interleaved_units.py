"""Charges, refunds and returns of an operation's tries in every order: in the end the used units equal the created
posts.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import msgspec
import pytest
from sqlalchemy import text

from chassis.bus import inbox
from chassis.db.database import Database
from chassis.ids import new_id
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.quota import Arrival
from quota import usage
from quota.admission import Admissions
from quota.config import QuotaConfig
from quota.store import Store
from testkit.interleaving import Interleaver, Process, Try, explore

CONFIG = QuotaConfig(upgrade_url="https://example.test/upgrade", unconfirmed_after=timedelta(minutes=5))


@dataclass
class Publishing:
    """Stands in for publishing: an operation takes effect once, and a refused try voids the earlier ones."""

    draw: random.Random
    is_made: bool = False
    voided_to_try: int = 0
    #: Staged events: ids with the tries that made nothing.
    returned: dict[str, int] = field(default_factory=dict)

    def call(self, try_number: int) -> str:
        """Returns `made`, `refused`, or `unknown` if an event will report the post's outcome."""
        if self.is_made:
            return "made"
        if try_number <= self.voided_to_try:
            return "void"
        end = self.draw.choice(("made", "refused", "made later", "refused later"))
        if end.startswith("refused"):
            self.voided_to_try = try_number
        if end == "refused later":
            self.returned[new_id("evt")] = try_number
        self.is_made = end.startswith("made")
        return "unknown" if end.endswith("later") else end

    def confirm(self, try_number: int) -> None:
        """Answers quota's question about a unit whose call must have ended."""
        if not self.is_made:
            self.voided_to_try = max(self.voided_to_try, try_number)
            self.returned[new_id("evt")] = try_number


@dataclass
class Gateway:
    """One try of the operation: a charge, a call, and a refund if the call was refused."""

    process: Process
    publishing: Publishing
    caller: Caller

    def run(self) -> str:
        admissions = Admissions(self.process.database, CONFIG)
        try:
            [admitted] = admissions.admit_all([Arrival(caller=self.caller, meter="publishes")])
        except ApiError:  # whether it was charged is not known, and nobody has refused the operation
            return "not charged"
        assert admitted is not None
        assert admitted.refused_code is None
        call = self.process.outside(self.publishing.call, lost=lambda: TimeoutError("no answer"))
        try:
            outcome = call(self.caller.try_number)
        except TimeoutError:
            return "unknown"
        if outcome == "refused":
            self.give_back()
        return outcome

    def give_back(self) -> None:
        """Refunds the unit. Repeats this twice if the database fails."""
        for _ in range(3):
            try:
                with self.process.database.transaction() as connection:
                    store = Store(connection)
                    usage.refund(
                        store, self.caller.account_id, self.caller.operation_id, self.caller.try_number
                    )
                return
            except ApiError:
                continue


def deliver(database: Database, publishing: Publishing, account_id: str, operation_id: str) -> None:
    """Delivers every event unit.returned twice. The second delivery must have no effect."""
    for event_id, try_number in [*publishing.returned.items()] * 2:
        with database.transaction() as connection:
            if inbox.record(connection, event_id):
                usage.return_unit(Store(connection), account_id, operation_id, try_number)


def deliver_again(process: Process, publishing: Publishing, account_id: str, operation_id: str) -> None:
    """Delivers events again that were not acknowledged, as the broker does."""
    for _ in range(3):
        try:
            deliver(process.database, publishing, account_id, operation_id)
        except ApiError:
            continue
        return


def confirm(database: Database, publishing: Publishing, operation_id: str) -> None:
    """Lets time pass until quota asks publishing about the operation's unit."""
    with database.transaction() as connection:
        age = "UPDATE {table} SET created_at = created_at - interval '6 minutes'"
        for table in ("unit_charges", "confirmation"):
            connection.execute(text(age.format(table=table)))
        usage.ask_about_charges(Store(connection), CONFIG.unconfirmed_after)
        bodies = connection.execute(text("DELETE FROM outbox RETURNING body")).scalars().all()
    for body in bodies:
        for one in msgspec.json.decode(bytes(body))["data"].get("charges", ()):
            if one["operation_id"] == operation_id:
                publishing.confirm(one["try_number"])


@pytest.fixture
def interleaver(quota_url: str) -> Iterator[Interleaver]:
    with Interleaver(quota_url) as made:
        yield made


def test_units_used_are_posts_made_whatever_the_order_of_charges_refunds_and_returns(
    interleaver: Interleaver, database: Database, seeds: range
) -> None:
    def example(seed: int) -> None:
        draw = random.Random(seed)
        publishing, account_id, operation_id = Publishing(draw), new_id("usr"), new_id("op")
        caller = Caller(account_id=account_id, user_id=account_id, tier="elite", operation_id=operation_id)
        tries = [
            Gateway(
                interleaver.process(f"try {number}"),
                publishing,
                msgspec.structs.replace(caller, try_number=number),
            )
            for number in range(1, draw.randrange(2, 4))
        ]
        events = interleaver.process("events")
        run = interleaver.run(
            seed,
            *(Try(one.process.name, one.process, one.run) for one in tries),
            Try("events", events, partial(deliver_again, events, publishing, account_id, operation_id)),
            most_cuts=2,
        )
        for _ in range(2):
            deliver(database, publishing, account_id, operation_id)
            confirm(database, publishing, operation_id)
        with database.reading() as connection:
            used = Store(connection).usage(account_id)[0].publishes
        ends = {name: ended.error or ended.value for name, ended in run.ended.items()}
        assert used == publishing.is_made, f"{used} units for {int(publishing.is_made)} posts: {ends}"

    explore(interleaver, seeds, example)
