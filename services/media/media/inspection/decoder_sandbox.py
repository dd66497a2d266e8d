"""Finds out how this machine confines the processes that decode strangers' files: at start, and for the operator."""

import structlog
from msgspec.structs import asdict

from chassis.config import ConfigError
from chassis.sandbox.pool import NotStarted, SandboxPool
from contracts.caller import Caller
from contracts.media import SandboxReport
from media.config import Settings
from media.context import AppContext

log = structlog.get_logger()


def check(settings: Settings) -> None:
    """Logs which restrictions this kernel enforces. Raises ConfigError when required ones are missing."""
    sandbox_pool = SandboxPool("media.decoder.functions")
    try:
        held = sandbox_pool.confinement()
    except NotStarted as error:
        raise ConfigError(f"no file can be decoded: {error.problem}") from error
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
    """Returns how a decoder process is confined now. Raises MISSING_SCOPE for any caller but the operator."""
    caller.check_operator()
    held = context.sandbox_pool.confinement()
    return SandboxReport.made_from(held, required=context.settings.sandbox_required)
