"""Finds or installs Chromium and its driver, for tests of HTML pages.

Only those tests need a browser; `./dev up` does not.
"""

import shutil
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from local.processes.table import NotReady
from local.servers import packages

#: Chromium without its own windows, menus and services. A page takes half the processor time of the whole browser's,
#: 0.12 instead of 0.25 s on two cores (28 November 2026, 30 loads of the dashboard's sign-in and sign-up).
SHELL = "chromium-headless-shell"
#: Whole browsers, which will do: Debian's name, then those of other systems.
BROWSERS = ("chromium", "google-chrome", "google-chrome-stable")
DRIVER = "chromedriver"
MISSING = """\
No browser for the tests of the pages for people, and none can be installed here: that takes apt-get, and root or sudo
without a password. Install the packages chromium-headless-shell (or chromium) and chromium-driver of your system."""


class Programs(NamedTuple):
    """The paths of Chromium and of its driver, which are of the same release."""

    program: str
    driver: str

    @property
    def name(self) -> str:
        """The browser's name in WebDriver's capabilities, by which the driver knows how to start it."""
        return "chrome-headless-shell" if self.program.endswith("headless-shell") else "chrome"


def find(*names: str) -> Programs | None:
    """Returns the first browser of these names, if its driver is there too."""
    programs, driver = list(filter(None, map(shutil.which, names))), shutil.which(DRIVER)
    return Programs(programs[0], driver) if programs and driver else None


def install(tell: Callable[[str], None]) -> Programs:
    """Returns the browser. If the shell is missing, installs it, if that is allowed; else takes a whole browser. Raises
    NotReady if there is none.
    """
    with suppress(NotReady):
        packages.install((SHELL, "chromium-driver"), lambda: find(SHELL), MISSING, tell)
    if found := find(SHELL, *BROWSERS):
        return found
    packages.install(("chromium", "chromium-driver"), lambda: find(*BROWSERS), MISSING, tell)
    found = find(*BROWSERS)
    assert found is not None
    return found
