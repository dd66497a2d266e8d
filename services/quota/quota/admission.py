"""Admission: decides whether API requests may run, and charges units for webhook deliveries.

Locks the counter rows of all requests of a call, decides by the rule in `decision.py` and writes the changes: two round
trips per call. The row locks make the counts exact over any number of callers and replicas. If another transaction
holds a row for longer than a moment, the requests of that account get no decision and all others are decided. If the
caller does not permit that (`may_defer`), the whole call fails instead.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress

import structlog

from chassis.db.database import Database, LockTimeout
from contracts import errors, plans
from contracts.events import QuotaWarning
from contracts.quota import Admitted, Arrival, ChargeUnit
from quota import metrics, windows
from quota.config import QuotaConfig
from quota.decision import TIER_LIMITS, Decision, Demand, decide_all, demand_of
from quota.store import Locked, Store

log = structlog.get_logger()

#: How long a call waits for a locked row before it decides without it. A row is normally locked for about a
#: millisecond, and every request of the call waits.
MOMENT_SECONDS = 0.05
#: How long a call waits for a locked row if its sender does not ask again.
PATIENCE_SECONDS = 1.0


class Admissions:
    """Decides whether requests to the API, and units that the webhooks service asks for, are within the limits."""

    def __init__(self, database: Database, config: QuotaConfig) -> None:
        self._database = database
        self._config = config

    def admit_all(
        self, arrivals: Iterable[Arrival], *, may_defer: bool = False
    ) -> tuple[Admitted | None, ...]:
        """Decides, one after another, whether the requests of one call may run. Returns for each whether it is admitted
        or which limit refuses it.

        With `may_defer`, a request gets None if another transaction has locked its account's row. Raises ApiError
        VALIDATION_ERROR for an unknown meter, and SERVICE_UNAVAILABLE when the database is away or, without
        `may_defer`, a row stays locked.
        """
        demands = [demand_of(one.caller, one.meter) for one in arrivals]
        decisions = self._decide_together(demands, may_defer=may_defer)
        return tuple(None if decision is None else self._verdict(decision) for decision in decisions)

    def _verdict(self, decision: Decision) -> Admitted:
        metrics.note(decision)
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
        """Charges one unit of a monthly counter (`bucket`) for each request. These requests come from other services,
        not from clients of the API.

        Returns for each request whether it got its unit. An operation never uses two units. With `may_defer`, a request
        gets None if another transaction has locked its account's row. Raises ApiError VALIDATION_ERROR for an unknown
        bucket, and SERVICE_UNAVAILABLE when the database is away or, without `may_defer`, a row stays locked.
        """
        demands = [_demand_of_unit(request) for request in requests]
        decisions = self._decide_together(demands, may_defer=may_defer)
        for decision in filter(None, decisions):
            metrics.note(decision)
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
        """Decides those demands whose counter row is free: no other transaction has locked it or is adding it. Returns
        a value for each demand, in order: the decision, or None if the row is not free.
        """
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
        """Adds the missing counter rows of these subjects, except those that another transaction is adding."""
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
    """Decides all demands on locked rows, writes the changed counters and charges, and commits."""
    decisions = decide_all(locked.counters, demands, locked.charges, locked.now)
    _warn(store, zip(demands, decisions, strict=True))
    after = {decision.counters.subject: decision.counters for decision in decisions}
    charges = {one.charge.operation_id: one.charge for one in decisions if one.charge is not None}
    store.write(locked.counters, after.values(), charges.values(), commit=True)
    return decisions


def _warn(store: Store, decided: Iterable[tuple[Demand, Decision]]) -> None:
    """Stages a warning for each account whose use has just reached 80 % of a monthly limit."""
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
