"""Chromium and its driver, for tests of HTML pages: finds or installs them.

Only those tests ask for them: `./dev up` needs no browser.
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
    """The two programs, of the same release."""

    program: str
    driver: str


def find() -> Browser | None:
    programs = list(filter(None, map(shutil.which, BROWSERS)))
    driver = shutil.which("chromedriver")
    return Browser(programs[0], driver) if programs and driver else None


def install(tell: Callable[[str], None]) -> Browser:
    """Returns the browser; installs it if it is missing and allowed. Raises NotReady."""
    packages.install(("chromium", "chromium-driver"), find, MISSING, tell)
    found = find()
    assert found is not None
    return found
