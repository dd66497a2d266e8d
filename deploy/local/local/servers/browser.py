"""Finds or installs Chromium and its driver, for tests of HTML pages.

Only those tests need a browser; `./dev up` does not.
"""

import shutil
from collections.abc import Callable
from typing import NamedTuple

from local.servers import packages

#: Chromium without its own windows, menus and services. A page takes half the processor time of the whole browser's,
#: 0.12 instead of 0.25 s on two cores (28 November 2026, 30 loads of the dashboard's sign-in and sign-up).
SHELL = "chromium-headless-shell"
#: The best first: Debian's names, then those of other systems, which are whole browsers.
BROWSERS = (SHELL, "chromium", "google-chrome", "google-chrome-stable")
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
        return "chrome-headless-shell" if self.program.endswith(SHELL) else "chrome"


def find() -> Programs | None:
    programs = list(filter(None, map(shutil.which, BROWSERS)))
    driver = shutil.which("chromedriver")
    return Programs(programs[0], driver) if programs and driver else None


def install(tell: Callable[[str], None]) -> Programs:
    """Returns the paths of the browser and its driver. If there are none, installs the headless browser. Raises
    NotReady if installing is not allowed or fails.
    """
    packages.install((SHELL, "chromium-driver"), find, MISSING, tell)
    found = find()
    assert found is not None
    return found
