"""Makes one attempt at one delivery: signs its body and posts it."""

import math
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

from chassis.http.webhook_connection import PostFailed, WebhookConnection
from chassis.telemetry import tracing
from webhooks.dispatch import rules
from webhooks.dispatch.endpoint_queue import EndpointQueue
from webhooks.records import DueDelivery, Outcome
from webhooks.security.signing import signature, standard_headers

#: Bytes of an answer that are read, so that the connection can be used again, and that are kept in the log (decisions
#: "Delivery row").
_MAX_ANSWER_BYTES, _KEPT_ANSWER_BYTES = 16 * 1024, 1024
_HEADERS = {"Content-Type": "application/json", "User-Agent": "Posthaste-Webhooks/1.3"}


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
        error = None if rules.is_acknowledged(status_code) else "status"
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
        retry_wait=rules.retry_wait(due.failures, retry_seconds),
        is_local=is_local,
        others_at=others_at,
    )


def _shown(body: bytes | None) -> str | None:
    """Returns the beginning of the receiver's answer for the log; None for one from a private network. Replaces NUL,
    which PostgreSQL cannot store."""
    if body is None:
        return None
    return body[:_KEPT_ANSWER_BYTES].decode(errors="replace").replace("\x00", "\N{REPLACEMENT CHARACTER}")
