"""One attempt at one delivery: signed, posted, judged by nobody yet."""

import math
import time
from urllib.parse import urlsplit

from chassis.http.webhook_connection import PostFailed, WebhookConnection
from chassis.telemetry import tracing
from webhooks.dispatch.endpoint_queue import Lane
from webhooks.dispatch.rules import is_acknowledged
from webhooks.records import Due, Tried
from webhooks.security.signing import signature, standard_headers

#: Of an answer: read at most (our choice), and kept in the log (decisions "Delivery row").
_MAX_ANSWER_BYTES, _KEPT_ANSWER_BYTES = 16 * 1024, 1024
_HEADERS = {"Content-Type": "application/json", "User-Agent": "Posthaste-Webhooks/1.3"}


def send(lane: Lane, line: WebhookConnection, due: Due, timeout_seconds: float) -> Tried:
    """Does not raise: what went wrong is in the attempt."""
    headers = {
        **_HEADERS,
        "X-Svc-Event": due.event,
        "X-Svc-Delivery": due.id,
        "X-Svc-Attempt": str(due.attempts + 1),
        "X-Svc-Signature": signature(lane.secrets, due.body),
        # Real time, which receivers compare with their own clocks; the one clock of business time may be shifted.
        **standard_headers(lane.secrets, due.event_id, int(time.time()), due.body),
    }
    began, status_code, error, answer = time.monotonic(), None, None, None
    is_ours, others_at = False, -math.inf
    try:
        with tracing.outbound("POST", urlsplit(lane.url).hostname or "", counts=False) as traced:
            answered = line.post(
                lane.url, due.body, headers, timeout_seconds=timeout_seconds, max_bytes=_MAX_ANSWER_BYTES
            )
            traced.got(answered.status)
    except PostFailed as failed:
        error, is_ours, others_at = failed.problem.value, failed.is_ours, failed.others_at
    else:
        status_code, answer = answered.status, _shown(answered.body)
        error = None if is_acknowledged(status_code) else "status"
    return Tried(
        subscription_id=lane.id,
        delivery_id=due.id,
        fence=lane.fence,
        number=due.attempts + 1,
        due_at=due.due_at,
        began=began,
        duration_ms=round((time.monotonic() - began) * 1000),
        status_code=status_code,
        error=error,
        answer=answer,
        is_ours=is_ours,
        others_at=others_at,
    )


def _shown(body: bytes | None) -> str | None:
    """The beginning of the answer for the log: None from a private network. What the database keeps has no NUL."""
    if body is None:
        return None
    return body[:_KEPT_ANSWER_BYTES].decode(errors="replace").replace("\x00", "\N{REPLACEMENT CHARACTER}")
