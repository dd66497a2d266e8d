"""amtool, for tests of `deploy/observability/alertmanager.yaml`: finds it or unpacks Debian's package."""

import shutil
from collections.abc import Callable

from local.paths import RUN_TEST
from local.servers import packages

FOLDER = RUN_TEST / "packages" / "prometheus-alertmanager"
MISSING = """\
No amtool for the tests of alert routes, and none can be unpacked here: that takes apt-get. Install the package
prometheus-alertmanager of your system."""


def provide(tell: Callable[[str], None]) -> str:
    """Returns the path of amtool; unpacks it if it is missing and allowed. Raises NotReady."""
    found = shutil.which("amtool")
    if found is None:
        packages.unpack("prometheus-alertmanager", FOLDER, MISSING, tell)
        found = shutil.which("amtool", path=str(FOLDER / "usr" / "bin"))
    assert found is not None
    return found
