"""Counts and logs refused messages. docs/security.md describes the checks, docs/observability.md the alert."""

import structlog

from chassis.telemetry.metrics import REFUSED

log = structlog.get_logger()


def note_refused(kind: str, reason: str, sender: str, **more: object) -> None:
    """`kind`: call, reply or event. `sender`: the unverified name of one of our processes, or "unknown"."""
    REFUSED.add(1, {"kind": kind, "sender": sender, "reason": reason})
    log.error("message_refused", kind=kind, sender=sender, reason=reason, **more)
