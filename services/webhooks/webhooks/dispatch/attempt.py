"""Makes one attempt at a delivery: signs the body and posts it to the endpoint. Also charges deliveries to the account:
before its first attempt, a delivery uses one unit of the account's monthly webhooks counter in the quota service.
"""

import math
import time
from collections.abc import Sequence
from itertools import groupby
from urllib.parse import urlsplit

import structlog

from chassis.bus.clients import remote
from chassis.http.webhook_connection import PostFailed, WebhookConnection
from chassis.telemetry import tracing
from contracts.caller import Caller
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.quota import ChargeUnit, ChargeUnits, QuotaApi
from contracts.webhooks import TEST_EVENT
from webhooks.dispatch.endpoint_queue import EndpointQueue
from webhooks.records import DueDelivery, Outcome
from webhooks.security import signature, standard_headers

log = structlog.get_logger()

#: How long the quota service has to answer. The deliveries stay due, so waiting longer gains nothing.
_TIMEOUT_SECONDS = 5.0
#: The service itself: each unit names its account.
_WEBHOOKS = Caller(account_id="", user_id="webhooks")
#: Bytes of an answer that are read, so that the connection can be used again, and that are kept in the log (decisions
#: "Delivery row").
_MAX_ANSWER_BYTES, _KEPT_ANSWER_BYTES = 16 * 1024, 1024
_HEADERS = {"Content-Type": "application/json", "User-Agent": "Posthaste-Webhooks/1.3"}


def needs_unit(due: DueDelivery) -> bool:
    """Whether a unit of the account's monthly counter must be charged for the delivery: before its first attempt, and
    never for a test event.
    """
    return due.attempts == 0 and not due.is_charged and due.event != TEST_EVENT


def charge(quota: QuotaApi, due: Sequence[DueDelivery]) -> dict[str, bool]:
    """Charges a unit of the account's monthly counter for each of these deliveries. Returns delivery id → whether it
    got its unit (False: none is left).

    A delivery is missing in the result if the quota service deferred it or did not answer. All units are charged in one
    call. If that call fails with another error than SERVICE_UNAVAILABLE, a call for each subscription charges its
    deliveries.
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


def send(
    queue: EndpointQueue,
    connection: WebhookConnection,
    due: DueDelivery,
    timeout_seconds: float,
    retry_seconds: Sequence[float],
) -> Outcome:
    """Makes one attempt at a delivery and returns its outcome. Never raises: a failure is part of the outcome."""
    url, secrets, enabled_count = queue.url, queue.secrets, queue.enabled_count
    headers = {
        **_HEADERS,
        "X-Svc-Event": due.event,
        "X-Svc-Delivery": due.id,
        "X-Svc-Attempt": str(due.attempts + 1),
        "X-Svc-Signature": signature(secrets, due.body),
        # Real time, which receivers compare with their own clocks; the clock of business time may be shifted.
        **standard_headers(secrets, due.event_id, int(time.time()), due.body),
    }
    began, status_code, error, answer = time.monotonic(), None, None, None
    is_local, others_at = False, -math.inf
    try:
        with tracing.outbound("POST", urlsplit(url).hostname or "", counts=False) as traced:
            answered = connection.post(
                url, due.body, headers, timeout_seconds=timeout_seconds, max_bytes=_MAX_ANSWER_BYTES
            )
            traced.got(answered.status)
    except PostFailed as failed:
        error, is_local, others_at = failed.problem.value, failed.is_ours, failed.others_at
    else:
        status_code, answer = answered.status, _shown(answered.body)
        error = None if is_acknowledged(status_code) else "status"
    return Outcome(
        subscription_id=queue.id,
        delivery_id=due.id,
        fence=queue.fence,
        enabled_count=enabled_count,
        number=due.attempts + 1,
        due_at=due.due_at,
        began_at=began,
        answered_at=time.monotonic(),
        status_code=status_code,
        error=error,
        answer=answer,
        retry_wait=retry_wait(due.failures, retry_seconds),
        is_local=is_local,
        others_at=others_at,
    )


def is_acknowledged(status_code: int | None) -> bool:
    """Whether the receiver has accepted the delivery: any 2xx (spec)."""
    return status_code is not None and 200 <= status_code < 300


def retry_wait(failures: int, waits: Sequence[float]) -> float | None:
    """Returns the seconds from an attempt that fails now to the next attempt; None if there is no further one.

    `failures`: this delivery's failed attempts before this one; `waits`: the retry schedule, in seconds.
    """
    return waits[failures] if failures < len(waits) else None


def _shown(body: bytes | None) -> str | None:
    """Returns the beginning of a receiver's answer, as the log of deliveries shows it. NUL is replaced, because
    PostgreSQL cannot store it.

    `body` is None for a receiver in a private network, whose answer is not kept; then the result is None.
    """
    if body is None:
        return None
    return body[:_KEPT_ANSWER_BYTES].decode(errors="replace").replace("\x00", "\N{REPLACEMENT CHARACTER}")
