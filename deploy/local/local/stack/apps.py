"""The platforms' settings in the local stack: their addresses and our apps' ids, taken from the simulator's table."""

from collections.abc import Mapping

from simulator.platforms import PLATFORMS

_ROWS = [row for row in PLATFORMS.values() if row.new_account_id]
_APPS = [app for row in _ROWS for app in (row.app, row.pages_app) if app]
#: Codes of the platforms on which pages are linked.
CODES = tuple(row.code for row in _ROWS)
_IDS = {f"{app.variable}_ID": app.id for app in _APPS}
#: Keys that the runner generates.
SECRETS = tuple(f"{app.variable}_SECRET" for app in _APPS)
_ADDRESSES = {name: host for row in _ROWS for name, host in row.addresses.items()}
_MORE = {name: value for row in _ROWS for name, value in row.told.items()}
#: The names of the settings of platforms in the publishing service, including secrets.
NAMES = (*_IDS, *SECRETS, *_ADDRESSES, *_MORE)


def settings(simulator: str) -> dict[str, str]:
    """Returns all platform settings except secrets. Their URLs lead to the simulator, and the first segment of a URL's
    path names the platform's own host.
    """
    return {**_IDS, **{name: f"{simulator}/{host}" for name, host in _ADDRESSES.items()}, **_MORE}


def of_simulator(told: Mapping[str, str]) -> dict[str, str]:
    """Returns the simulator's settings about our apps on the platforms. `told`: the settings of the stack, from which
    the apps' ids and secrets are taken.
    """
    apps = {name: told[name] for name in (*_IDS, *SECRETS)}
    return apps | {name: value for row in _ROWS for name, value in row.tells.items()}
