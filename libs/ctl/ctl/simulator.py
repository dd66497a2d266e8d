"""Two requests to the local stack's simulator: create a platform account, and set the simulator's clock."""

import urllib.request
from typing import Any

import msgspec

from contracts.errors import SERVICE_UNAVAILABLE, ApiError, ErrorRow
from contracts.record import Record
from ctl.config import CtlConfig

_TIMEOUT_SECONDS = 10.0

NO_SIMULATOR = ErrorRow(
    code="NO_SIMULATOR",
    http_status=501,
    category="server",
    message="SIMULATOR_URL is not set, so no platform account can be created.",
    recommended_fix="Use the local stack (./dev ctl page link). In production, owners connect their pages themselves.",
)


class PlatformAccount(Record):
    """A platform account that the simulator created."""

    account_id: str
    access_token: str
    name: str
    username: str | None = None
    followers: int = 0
    picture: str | None = None


def new_account(config: CtlConfig, platform: str, name: str | None = None) -> PlatformAccount:
    """Creates a platform account in the simulator, which makes up a name if none is given.

    Raises ApiError when there is no simulator, or when it does not answer.
    """
    if config.simulator_url is None:
        raise ApiError(NO_SIMULATOR)
    answer = _post(
        f"{config.simulator_url}/_sim/accounts", {"platform": platform} | ({"name": name} if name else {})
    )
    return msgspec.json.decode(answer, type=PlatformAccount)


def set_clock(config: CtlConfig, shift_seconds: float) -> None:
    """Sets how far the simulator's clock is shifted from real time, in seconds. Does nothing without a simulator."""
    if config.simulator_url is not None:
        _post(f"{config.simulator_url}/_sim/clock", {"shift_seconds": shift_seconds})


def _post(url: str, body: dict[str, Any]) -> bytes:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, msgspec.json.encode(body), headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
            return bytes(answer.read())
    except OSError as error:
        reason = f"The simulator could not be reached: {error}"
        raise ApiError(SERVICE_UNAVAILABLE, reason, retry_after_seconds=1) from error
