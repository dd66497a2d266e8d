"""Finds out how this machine confines the processes that decode strangers' files.

The result is logged at start, and reported to the operator on request.
"""

import structlog
from msgspec.structs import asdict

from chassis.config import ConfigError
from chassis.sandbox.pool import NotStarted, SandboxPool
from contracts.caller import Caller
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.media import SandboxReport
from media.config import Settings
from media.context import AppContext

log = structlog.get_logger()


def check(settings: Settings) -> None:
    """Logs in one line which restrictions this kernel enforces. Raises ConfigError when a complete sandbox is
    required and some are missing."""
    sandbox_pool = SandboxPool("media.decoder.functions")
    try:
        held = sandbox_pool.confinement()
    except NotStarted as error:
        raise ConfigError(f"no file can be decoded: {error}") from error
    finally:
        sandbox_pool.close()
    tell = log.warning if held.missing else log.info
    tell("decoder_sandbox", required=settings.sandbox_required, missing=held.missing, **asdict(held))
    if held.missing and settings.sandbox_required:
        raise ConfigError(
            f"the sandbox of uploaded files lacks {' and '.join(held.missing)} on this kernel or in this container. "
            'MEDIA_SANDBOX_REQUIRED=false starts without (services/media/README.md, "The sandbox")'
        )


def report(context: AppContext, caller: Caller) -> SandboxReport:
    """Returns the restrictions of a decoder process that starts now. Raises FORBIDDEN for any caller but the operator,
    and SERVICE_UNAVAILABLE if no process can be started.
    """
    caller.check_operator()
    try:
        held = context.sandbox_pool.confinement()
    except NotStarted as error:
        raise ApiError(SERVICE_UNAVAILABLE, retry_after_seconds=2) from error
    return SandboxReport.made_from(held, required=context.settings.sandbox_required)
