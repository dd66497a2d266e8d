"""kustomize, for tests of `deploy/kubernetes`: finds it or unpacks Debian's. `kubectl apply -k` has the same inside."""

import shutil
from collections.abc import Callable

from local.paths import RUN_TEST
from local.servers import packages

FOLDER = RUN_TEST / "packages" / "kustomize"
#: The first release of Debian that has it.
RELEASE = "trixie"
MISSING = """\
No kustomize for the tests of deploy/kubernetes, and none can be unpacked here: that takes apt-get and Debian. Install
kustomize."""


def provide(tell: Callable[[str], None]) -> str:
    """Returns the path of the program; unpacks it if it is missing and allowed. Raises NotReady."""
    found = shutil.which("kustomize")
    if found is None:
        packages.unpack("kustomize", FOLDER, MISSING, tell, RELEASE)
        found = shutil.which("kustomize", path=str(FOLDER / "usr" / "bin"))
    assert found is not None
    return found
