"""Chromium and its driver, for the tests that look at pages for people: where they are, how they come here.

Only those tests ask for them: `./dev up` needs no browser.
"""

import shutil
from collections.abc import Callable
from typing import NamedTuple

from local.servers import packages

#: Debian's, then those that other systems bring along.
BROWSERS = ("chromium", "google-chrome", "google-chrome-stable")
MISSING = """\
No browser for the tests of the pages for people, and none can be installed here: that takes apt-get, and root or sudo
without a password. Install the packages chromium and chromium-driver of your system."""


class Browser(NamedTuple):
    """Two programs of one release."""

    program: str
    driver: str


def find() -> Browser | None:
    programs = list(filter(None, map(shutil.which, BROWSERS)))
    driver = shutil.which("chromedriver")
    return Browser(programs[0], driver) if programs and driver else None


def install(tell: Callable[[str], None]) -> Browser:
    """The browser, installed if it is not there and may be. Raises NotReady."""
    packages.install(("chromium", "chromium-driver"), find, MISSING, tell)
    found = find()
    assert found is not None
    return found
