"""Units of the month for deliveries, asked of quota: once for each, by its id."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import structlog

from chassis.telemetry import tracing
from contracts.caller import Caller
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.quota import ChargeUnit, ChargeUnits
from webhooks.records import Due

log = structlog.get_logger()

#: For one answer of quota's. Our choice.
_PATIENCE_SECONDS = 5.0
#: The service itself: whose unit it is, each says for itself.
_WEBHOOKS = Caller(account_id="", user_id="webhooks")


def charge(quota: Any, due: Sequence[Due]) -> dict[str, bool]:
    """Whether each delivery has its unit, by its id; those that quota did not answer for, or deferred, are missing.

    All ask together. When quota stumbles over one of them, each subscription asks for itself.
    """
    units = tuple(
        ChargeUnit(account_id=one.account_id, tier=one.tier, bucket="webhooks", operation_id=one.id)
        for one in due
    )
    try:
        with tracing.on_behalf(due):
            answer = quota.charge_units(
                _WEBHOOKS, ChargeUnits(units=units, may_defer=True), timeout_seconds=_PATIENCE_SECONDS
            )
    except ApiError as error:
        lanes = [list(lane) for _, lane in groupby(due, key=lambda one: one.subscription_id)]
        if error.row is SERVICE_UNAVAILABLE or len(lanes) == 1:
            log.warning("deliveries_wait", reason=error.message, count=len(due))
            return {}
        return {id_: has_unit for lane in lanes for id_, has_unit in charge(quota, lane).items()}
    answers = zip(due, answer.allowed, strict=True)
    return {one.id: has_unit for one, has_unit in answers if has_unit is not None}
