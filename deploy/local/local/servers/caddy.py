"""Caddy, for tests of `deploy/compose/Caddyfile`: finds it or unpacks Debian's package."""

import shutil
from collections.abc import Callable

from local.paths import RUN_TEST
from local.servers import packages

FOLDER = RUN_TEST / "packages" / "caddy"
MISSING = """\
No Caddy for the tests of deploy/compose/Caddyfile, and none can be unpacked here: that takes apt-get. Install caddy."""


def provide(tell: Callable[[str], None]) -> str:
    """Returns the path of the program; unpacks it if it is missing and allowed. Raises NotReady."""
    found = shutil.which("caddy")
    if found is None:
        packages.unpack("caddy", FOLDER, MISSING, tell)
        found = shutil.which("caddy", path=str(FOLDER / "usr" / "bin"))
    assert found is not None
    return found
