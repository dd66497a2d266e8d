"""Prometheus and promtool, for tests of `deploy/observability`: finds or unpacks them.

Debian's package is unpacked beside the runs of tests: nothing is installed, and no service starts.
"""

import shutil
from collections.abc import Callable
from typing import NamedTuple

from local.paths import RUN_TEST
from local.servers import packages

FOLDER = RUN_TEST / "packages" / "prometheus"
MISSING = """\
No Prometheus for the tests of rules and dashboards, and none can be unpacked here: that takes apt-get. Install the
package prometheus of your system."""


class Prometheus(NamedTuple):
    """The two programs, of the same release."""

    program: str
    promtool: str


def find() -> Prometheus | None:
    """Returns the system's programs, or else the unpacked ones."""
    for folder in (None, str(FOLDER / "usr" / "bin")):
        programs = [shutil.which(name, path=folder) for name in Prometheus("prometheus", "promtool")]
        if all(programs):
            return Prometheus(*map(str, programs))
    return None


def provide(tell: Callable[[str], None]) -> Prometheus:
    """Returns the programs; unpacks them if they are missing and allowed. Raises NotReady."""
    if find() is None:
        packages.unpack("prometheus", FOLDER, MISSING, tell)
    found = find()
    assert found is not None
    return found
