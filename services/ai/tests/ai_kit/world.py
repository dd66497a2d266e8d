"""The use cases of the AI service over a real database, with fakes around them. A simulated process may end at any of
its steps.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import text

from ai.config import Settings
from ai.context import AppContext
from ai.jobs import lost_jobs, video_steps
from ai.payments.manual import Manual
from ai.payments.stripe import StripeSettings
from ai.providers.gemini import GeminiSettings
from ai.providers.openai import OpenAiSettings
from ai.rules.prices import CreditSettings
from ai_kit.fakes import FakeMedia, FakeProvider, FakeStorage
from ai_kit.mortal_process import Life, MortalDatabase, SteppingProxy
from chassis.db import clock
from chassis.db.database import Database
from chassis.ids import new_id
from contracts.caller import Caller


class InlinePool:
    """A pool that runs each task at once, in the caller's thread."""

    free = 16

    def start(self, task: Callable[[], None]) -> None:
        task()


SETTINGS = Settings(
    credits=CreditSettings(),
    stripe=StripeSettings(),
    gemini=GeminiSettings(),
    openai=OpenAiSettings(),
    providers={},
    upgrade_url="https://posthaste.example/pricing",
    outbound_host_map={},
    poll_seconds=0,
    lease_seconds=20,
)


@dataclass
class World:
    """The database and the fakes, which all simulated processes of a test share."""

    database: Database
    provider: FakeProvider = field(default_factory=FakeProvider)
    media: FakeMedia = field(default_factory=FakeMedia)
    storage: FakeStorage = field(default_factory=FakeStorage)
    account: str = field(default_factory=lambda: new_id("usr"))

    def context(self, life: Life | None = None, *, configured: bool = True, **changed: Any) -> AppContext:
        """Returns the context of a new simulated process, which ends at the last step of `life`."""
        life = life or Life()
        values = {name: getattr(SETTINGS, name) for name in SETTINGS.__struct_fields__} | changed
        provider = self.provider if configured else None
        context = AppContext(
            MortalDatabase(self.database, life),  # type: ignore[arg-type]
            Settings(**values),
            SteppingProxy(self.media, life),
            SimpleNamespace(find=lambda _: provider and SteppingProxy(provider, life)),  # type: ignore[arg-type]
            Manual(),
        )
        context.storage = SteppingProxy(self.storage, life)  # type: ignore[assignment]
        context.pause = lambda seconds: None
        context.video_steps_pool = InlinePool()  # type: ignore[misc, assignment]
        return context

    def caller(self, operation_id: str | None = None, **fields: Any) -> Caller:
        given = {"tier": "elite", "user_id": self.account} | fields
        return Caller(account_id=self.account, operation_id=operation_id or new_id("op"), **given)

    def lapse(self) -> None:
        """Ends the leases of all claims, and makes every waiting step due."""
        self.run("UPDATE jobs SET wake_at = clock_timestamp() WHERE state = 'processing'")

    def work(self, context: AppContext | None = None) -> None:
        """Runs every worker loop until none has anything left to do."""
        context = context or self.context()
        for _ in range(50):
            self.lapse()
            if not video_steps.make_videos(context) + lost_jobs.fail_lost(context):
                return
        pytest.fail("the work does not end")

    def job(self, operation_id: str) -> Any:
        rows = self.ask("SELECT * FROM jobs WHERE operation_id = :id", id=operation_id)
        return rows[0] if rows else None

    def events(self) -> list[str]:
        return [row.event for row in self.ask("SELECT event FROM outbox ORDER BY position")]

    def spent(self) -> int:
        """Returns the credits that were charged and not refunded."""
        found = self.ask(
            "SELECT coalesce(sum(spent), 0) AS spent FROM entries WHERE account_id = :a", a=self.account
        )
        return int(found[0].spent)

    def entries(self, kind: str) -> int:
        asked = "SELECT count(*) AS n FROM entries WHERE account_id = :a AND kind = :k"
        return int(self.ask(asked, a=self.account, k=kind)[0].n)

    def shift(self, seconds: float) -> None:
        with self.database.transaction() as connection:
            clock.set_shift(connection, clock.shift_seconds(connection) + seconds)

    def run(self, statement: str, **values: Any) -> None:
        with self.database.transaction() as connection:
            connection.execute(text(statement), values)

    def ask(self, statement: str, **values: Any) -> list[Any]:
        with self.database.reading() as connection:
            return list(connection.execute(text(statement), values).all())
