"""Counts and logs messages that are not let in: docs/security.md says what is checked, observability.md what alerts."""

import structlog

from chassis.telemetry.metrics import REFUSED

log = structlog.get_logger()


def note_refused(kind: str, reason: str, sender: str, **more: object) -> None:
    """`kind`: call, reply or event. `sender`: one of ours, or "unknown"; nothing need prove it."""
    REFUSED.add(1, {"kind": kind, "sender": sender, "reason": reason})
    log.error("message_refused", kind=kind, sender=sender, reason=reason, **more)
