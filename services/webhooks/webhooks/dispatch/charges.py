"""Takes a unit of the account's month from quota for each delivery, once per delivery id."""

from collections.abc import Sequence
from itertools import groupby

import structlog

from chassis.bus.clients import remote
from chassis.telemetry import tracing
from contracts.caller import Caller
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.quota import ChargeUnit, ChargeUnits, QuotaApi
from webhooks.records import DueDelivery

log = structlog.get_logger()

#: How long quota has to answer. The deliveries stay due, so waiting longer gains nothing.
_TIMEOUT_SECONDS = 5.0
#: The service itself: each unit names its account.
_WEBHOOKS = Caller(account_id="", user_id="webhooks")


def charge(quota: QuotaApi, due: Sequence[DueDelivery]) -> dict[str, bool]:
    """Takes the units of these deliveries. Returns delivery id → whether it has its unit.

    Deliveries that quota deferred, or for which it did not answer, are missing in the result. All units are taken in
    one call; after another error than SERVICE_UNAVAILABLE each subscription gets a call of its own.
    """
    units = tuple(
        ChargeUnit(account_id=one.account_id, tier=one.tier, bucket="webhooks", operation_id=one.id)
        for one in due
    )
    try:
        with tracing.on_behalf(due):
            answer = remote(quota.charge_units)(
                _WEBHOOKS, ChargeUnits(units=units, may_defer=True), timeout_seconds=_TIMEOUT_SECONDS
            )
    except ApiError as error:
        each = [list(group) for _, group in groupby(due, key=lambda one: one.subscription_id)]
        if error.row is SERVICE_UNAVAILABLE or len(each) == 1:
            log.warning("deliveries_wait", reason=error.message, count=len(due))
            return {}
        return {id_: has_unit for group in each for id_, has_unit in charge(quota, group).items()}
    answers = zip(due, answer.allowed, strict=True)
    return {one.id: has_unit for one, has_unit in answers if has_unit is not None}
