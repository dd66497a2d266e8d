"""Finds or installs Chromium and its driver, for tests of HTML pages.

Only those tests need a browser; `./dev up` does not.
"""

import shutil
from collections.abc import Callable
from typing import NamedTuple

from local.servers import packages

#: Debian's names, then those of other systems.
BROWSERS = ("chromium", "google-chrome", "google-chrome-stable")
MISSING = """\
No browser for the tests of the pages for people, and none can be installed here: that takes apt-get, and root or sudo
without a password. Install the packages chromium and chromium-driver of your system."""


class Browser(NamedTuple):
    """The paths of Chromium and of its driver, which are of the same release."""

    program: str
    driver: str


def find() -> Browser | None:
    programs = list(filter(None, map(shutil.which, BROWSERS)))
    driver = shutil.which("chromedriver")
    return Browser(programs[0], driver) if programs and driver else None


def install(tell: Callable[[str], None]) -> Browser:
    """Returns the browser. If it is missing, installs it, if that is allowed. Raises NotReady if there is none."""
    packages.install(("chromium", "chromium-driver"), find, MISSING, tell)
    found = find()
    assert found is not None
    return found
