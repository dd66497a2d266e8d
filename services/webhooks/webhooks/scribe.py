"""Writes down what many attempts came to in one transaction.

While one transaction runs, what comes next gathers: with one attempt nothing waits, with hundreds a commit is shared.
"""

import time
from collections.abc import Sequence

import structlog

from chassis.batches import Batches
from chassis.database import Database
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from webhooks import rules
from webhooks.records import Tried
from webhooks.store.lanes import Lanes, Locked, Settled, Stood

log = structlog.get_logger()

#: While the database is away an outcome is written again after this long. Our choice.
_PAUSE_SECONDS = 0.5


class Scribe:
    """One per process."""

    def __init__(self, database: Database, waits: Sequence[float], patience_seconds: float) -> None:
        self._database = database
        self._waits = waits
        self._patience_seconds = patience_seconds
        self._batches: Batches[Tried, rules.Standing | None] = Batches(self._commit)

    def write(self, tried: Tried) -> rules.Standing | None:
        """How the subscription stands after it; None when the lane is somebody else's and nothing was written.

        While the database is away it waits, as long as a lane lasts; then it is tried anew by whoever has the lane.
        """
        give_up_at = time.monotonic() + self._patience_seconds
        while True:
            try:
                return self._batches.submit(tried)
            except ApiError as error:
                if error.row is not SERVICE_UNAVAILABLE or time.monotonic() > give_up_at:
                    raise
                time.sleep(_PAUSE_SECONDS)

    def _commit(self, batch: list[Tried]) -> list[rules.Standing | None]:
        with self._database.transaction() as connection:
            store = Lanes(connection)
            locked, progress = store.lock([(one.subscription_id, one.delivery_id) for one in batch])
            held = [one for one in batch if _is_held(one, locked)]
            standings = {one.subscription_id: locked[one.subscription_id].standing for one in held}
            delivered = {one.subscription_id for one in held if rules.is_acknowledged(one.status_code)}
            settled: list[Settled] = []
            for one in held:
                so_far = progress.get((one.subscription_id, one.delivery_id))
                if so_far is None or so_far.attempts != one.number - 1:
                    continue  # removed from the log meanwhile, or written before by a commit that seemed to fail
                verdict = rules.judge(
                    one.status_code,
                    failures=so_far.failures,
                    standing=standings[one.subscription_id],
                    waits=self._waits,
                )
                standings[one.subscription_id] = verdict.standing
                settled.append(_settled(one, verdict))
            if settled:
                store.record(settled, [_stood(*item, delivered) for item in standings.items()])
        for lane_id, standing in standings.items():
            if standing.disabled_reason is not None:
                log.info("webhook_disabled", webhook_id=lane_id, reason=standing.disabled_reason)
        return [standings[one.subscription_id] if _is_held(one, locked) else None for one in batch]


def _is_held(one: Tried, locked: dict[str, Locked]) -> bool:
    lane = locked.get(one.subscription_id)
    return lane is not None and lane.fence == one.fence


def _settled(one: Tried, verdict: rules.Verdict) -> Settled:
    return Settled(
        subscription_id=one.subscription_id,
        id=one.delivery_id,
        number=one.number,
        state=verdict.state,
        wait=verdict.wait_seconds,
        has_failed=verdict.state != "delivered",
        ago=time.monotonic() - one.began,
        duration_ms=one.duration_ms,
        status_code=one.status_code,
        error=one.error,
        answer=one.answer,
    )


def _stood(lane_id: str, standing: rules.Standing, delivered: set[str]) -> Stood:
    return Stood(lane_id, standing.consecutive_failures, lane_id in delivered, standing.disabled_reason)
