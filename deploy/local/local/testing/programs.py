"""Finds programs that only tests need: the system's own, or one of a Debian package that is unpacked below
`.run-test`.
"""

import os
import shutil

import pytest

from local.paths import RUN_TEST
from local.processes.table import NotReady
from local.servers import packages


def program_or_skip(name: str, package: str, release: str = "") -> str:
    """Returns the path of a program. If the machine does not have it, unpacks the Debian package that contains it.
    Installs nothing.

    If the package cannot be unpacked, skips the test or, in CI, raises NotReady. `release`: the release of Debian that
    the package comes from; empty for the release of this machine.
    """
    folder = RUN_TEST / "packages" / package
    found = shutil.which(name)
    if found is None:
        missing = f"There is no {name} for these tests, and apt-get cannot unpack it here. Install {package}."
        try:
            packages.unpack(package, folder, missing, print, release)
        except NotReady as error:
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(str(error))
        found = shutil.which(name, path=os.pathsep.join(str(folder / "usr" / it) for it in ("bin", "sbin")))
    assert found is not None
    return found
