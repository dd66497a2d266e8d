"""/healthz: the process lives. /readyz: every service behind it answers through the bus."""

import time
from typing import Any

from contracts.errors import ApiError

#: All services together. Our choice.
READY_SECONDS = 2.0


def unready(bus: Any, services: tuple[str, ...], within_seconds: float = READY_SECONDS) -> list[str]:
    """The services that do not answer in time, or were not asked because time was up."""
    end = time.monotonic() + within_seconds
    return [service for service in services if not _answers(bus, service, end - time.monotonic())]


def _answers(bus: Any, service: str, seconds: float) -> bool:
    if seconds <= 0:
        return False
    try:
        bus.ping(service, timeout_seconds=seconds)
    except ApiError:
        return False
    return True
