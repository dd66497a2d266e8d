"""Admission: every request passes here once, and webhook deliveries take their units here.

Lock the counters rows of all that ask, decide in Python by the pure rule, write what changed: two round
trips for as many as come in one call. The row locks make it exact over any number of callers and replicas.
"""

from collections.abc import Iterable

import structlog

from chassis.database import Database
from contracts import errors, plans
from contracts.events import QuotaWarning
from contracts.quota import Admitted, Arrival, ChargeUnit
from quota import measures, windows
from quota.config import QuotaConfig
from quota.decision import TIER_LIMITS, Decision, Demand, decide_all, demand_of
from quota.store import Locked, Store, UnitCharge

log = structlog.get_logger()


class Admissions:
    """The door that the gateway's and webhooks' calls pass."""

    def __init__(self, database: Database, config: QuotaConfig) -> None:
        self._database = database
        self._config = config

    def admit_all(self, arrivals: Iterable[Arrival]) -> tuple[Admitted, ...]:
        """Lets requests through that come together, or says which limit each hit: one after the other, in order.

        Raises ApiError VALIDATION_ERROR, SERVICE_UNAVAILABLE.
        """
        demands = [demand_of(one.caller, one.meter, one.units) for one in arrivals]
        return tuple(map(self._verdict, self._decide_together(demands))) if demands else ()

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

    def charge_units(self, requests: Iterable[ChargeUnit]) -> tuple[bool, ...]:
        """Takes one unit of a month bucket each, outside a request; the same operation never takes a second one.

        Raises ApiError VALIDATION_ERROR, SERVICE_UNAVAILABLE.
        """
        demands = [_demand_of_unit(request) for request in requests]
        decisions = self._decide_together(demands) if demands else []
        for decision in decisions:
            measures.note(decision)
        return tuple(decision.refused is None for decision in decisions)

    def _decide_together(self, demands: list[Demand]) -> list[Decision]:
        subjects = {demand.subject for demand in demands}
        operation_ids = {demand.operation_id for demand in demands if demand.operation_id}
        while True:
            with self._database.transaction() as connection:
                store = Store(connection)
                if locked := store.lock(subjects, operation_ids):
                    held_units = {charge.operation_id: charge.units for charge in locked.charges.values()}
                    decisions = decide_all(locked.counters, demands, held_units, locked.now)
                    _warn(store, zip(demands, decisions, strict=True))
                    _write(store, locked, demands, decisions, held_units)
                    return decisions
            with self._database.transaction() as connection:
                Store(connection).add(subjects)


def _demand_of_unit(request: ChargeUnit) -> Demand:
    if request.bucket not in plans.BUCKETS:
        raise errors.invalid("bucket", "is not one of " + ", ".join(plans.BUCKETS))
    return Demand(
        subject=request.account_id,
        limits=TIER_LIMITS[request.tier],
        bucket=request.bucket,
        is_request=False,
        operation_id=request.operation_id,
    )


def _write(
    store: Store,
    locked: Locked,
    demands: list[Demand],
    decisions: list[Decision],
    held_units: dict[str, int],
) -> None:
    """Writes what changed; the transaction is over with it."""
    after = {decision.counters.subject: decision.counters for decision in decisions}
    charges: dict[str, UnitCharge] = {}
    for demand, decision in zip(demands, decisions, strict=True):
        if demand.operation_id and decision.units_taken:
            held_units[demand.operation_id] = held_units.get(demand.operation_id, 0) + decision.units_taken
            charges[demand.operation_id] = UnitCharge(
                operation_id=demand.operation_id,
                account_id=demand.subject,
                year_month=decision.counters.year_month,
                bucket=demand.bucket,
                units=held_units[demand.operation_id],
            )
    store.write(locked.counters, after.values(), charges.values(), commit=True)


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
