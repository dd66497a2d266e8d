"""Admission: every request passes here once, and webhook deliveries take their units here.

Lock the counters rows of all that ask, decide in Python by the pure rule, write what changed: two round
trips for as many as come in one call. The row locks make it exact over any number of callers and replicas.
A row that another transaction holds for longer than a moment is left out: its account's requests get no decision,
and everybody else's are decided without it.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress

import structlog

from chassis.db.database import Database, LockTimeout
from contracts import errors, plans
from contracts.events import QuotaWarning
from contracts.quota import Admitted, Arrival, ChargeUnit
from quota import measures, windows
from quota.config import QuotaConfig
from quota.decision import TIER_LIMITS, Decision, Demand, decide_all, demand_of
from quota.store import Locked, Store

log = structlog.get_logger()

#: How long a call waits for a row that another transaction holds before it decides without it: a row is held for
#: about a millisecond, and everybody in the call waits.
MOMENT_SECONDS = 0.05
#: How long a call waits whose sender does not ask again.
PATIENCE_SECONDS = 1.0


class Admissions:
    """The door that the gateway's and webhooks' calls pass."""

    def __init__(self, database: Database, config: QuotaConfig) -> None:
        self._database = database
        self._config = config

    def admit_all(
        self, arrivals: Iterable[Arrival], *, may_defer: bool = False
    ) -> tuple[Admitted | None, ...]:
        """Lets requests through that come together, or says which limit each hit: one after the other, in order.

        `may_defer`: those whose account's row is held get None. Raises ApiError VALIDATION_ERROR, SERVICE_UNAVAILABLE.
        """
        demands = [demand_of(one.caller, one.meter) for one in arrivals]
        decisions = self._decide_together(demands, may_defer=may_defer)
        return tuple(None if decision is None else self._verdict(decision) for decision in decisions)

    def _verdict(self, decision: Decision) -> Admitted:
        measures.note(decision)
        extras = decision.extras
        if decision.refused is errors.SANDBOX_EXHAUSTED:
            extras = {"upgrade_url": self._config.upgrade_url}
        return Admitted(
            window=decision.window,
            year_month=windows.month_of(decision.now),
            refused_code=decision.refused.code if decision.refused else None,
            refused_extras=extras,
        )

    def charge_units(
        self, requests: Iterable[ChargeUnit], *, may_defer: bool = False
    ) -> tuple[bool | None, ...]:
        """Takes one unit of a month bucket each, outside a request; the same operation never takes a second one.

        `may_defer` and errors: as of `admit_all`.
        """
        demands = [_demand_of_unit(request) for request in requests]
        decisions = self._decide_together(demands, may_defer=may_defer)
        for decision in filter(None, decisions):
            measures.note(decision)
        return tuple(None if decision is None else decision.refused is None for decision in decisions)

    def _decide_together(self, demands: list[Demand], *, may_defer: bool) -> Sequence[Decision | None]:
        if not demands:
            return []
        try:
            return self._decide_all(demands, MOMENT_SECONDS if may_defer else PATIENCE_SECONDS)
        except LockTimeout:
            if not may_defer:
                raise
        return self._decide_free(demands)

    def _decide_all(self, demands: list[Demand], wait_seconds: float) -> list[Decision]:
        subjects = {demand.subject for demand in demands}
        while True:
            with self._database.transaction() as connection:
                store = Store(connection)
                locked = store.lock(subjects, _operations_of(demands), wait_seconds=wait_seconds)
                if locked is not None:
                    return _decide(store, locked, demands)
            with self._database.reading() as connection:
                Store(connection).add(subjects, wait_seconds=wait_seconds)

    def _decide_free(self, demands: list[Demand]) -> list[Decision | None]:
        """Decides for the accounts whose rows nobody holds or is adding."""
        subjects = {demand.subject for demand in demands}
        self._add_free(subjects)
        with self._database.transaction() as connection:
            store = Store(connection)
            free = store.lock_free(subjects)
            mine = [demand for demand in demands if demand.subject in free]
            locked = store.lock(free, _operations_of(mine)) if mine else None
            decisions = iter(_decide(store, locked, mine) if locked is not None else [])
        return [next(decisions, None) if demand.subject in free else None for demand in demands]

    def _add_free(self, subjects: set[str]) -> None:
        """Adds the rows that are missing, but those that another transaction is adding."""
        with self._database.reading() as connection:
            store = Store(connection)
            try:
                store.add(subjects, wait_seconds=MOMENT_SECONDS)
            except LockTimeout:
                for subject in subjects:
                    with suppress(LockTimeout):
                        store.add([subject], wait_seconds=MOMENT_SECONDS)


def _operations_of(demands: list[Demand]) -> set[str]:
    return {demand.operation_id for demand in demands if demand.operation_id}


def _demand_of_unit(request: ChargeUnit) -> Demand:
    if request.bucket not in plans.BUCKETS:
        raise errors.invalid("bucket", "is not one of " + ", ".join(plans.BUCKETS))
    return Demand(
        subject=request.account_id,
        limits=TIER_LIMITS[request.tier],
        bucket=request.bucket,
        is_request=False,
        operation_id=request.operation_id,
        try_number=request.try_number,
    )


def _decide(store: Store, locked: Locked, demands: list[Demand]) -> list[Decision]:
    """Decides and writes what changed; the transaction is over with it."""
    decisions = decide_all(locked.counters, demands, locked.charges, locked.now)
    _warn(store, zip(demands, decisions, strict=True))
    after = {decision.counters.subject: decision.counters for decision in decisions}
    charges = {one.charge.operation_id: one.charge for one in decisions if one.charge is not None}
    store.write(locked.counters, after.values(), charges.values(), commit=True)
    return decisions


def _warn(store: Store, decided: Iterable[tuple[Demand, Decision]]) -> None:
    """Stages the warnings of those that crossed the line."""
    for demand, decision in decided:
        if not decision.warns:
            continue
        used, limit = getattr(decision.counters, demand.bucket), demand.limits.monthly[demand.bucket]
        warning = QuotaWarning(
            user_id=demand.subject,
            bucket=demand.bucket,
            used=used,
            limit=limit,
            percent=used * 100 // limit,
            resets_at=windows.month_ends_at(decision.now),
        )
        store.stage_warning(warning)
        log.info("quota_warning", account_id=demand.subject, bucket=demand.bucket, used=used, limit=limit)
