"""Counts and logs refused messages, such as those without a valid signature. docs/security.md explains the checks,
docs/observability.md the alert.
"""

import structlog

from chassis.telemetry.metrics import REFUSED

log = structlog.get_logger()


def note_refused(kind: str, reason: str, sender: str, **more: object) -> None:
    """Counts and logs a refused message. `kind` is call, reply or event.

    `sender` is the unverified name of one of our processes, or "unknown".
    """
    REFUSED.add(1, {"kind": kind, "sender": sender, "reason": reason})
    log.error("message_refused", kind=kind, sender=sender, reason=reason, **more)
