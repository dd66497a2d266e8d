"""Checks how screens look: by day and by night axe-core finds nothing, and no page is wider than its window."""

from collections.abc import Iterator

import pytest
from e2e_kit.accessibility import flaws
from e2e_kit.chromium import Chromium
from e2e_kit.waiting import until

#: Opens everything that can be unfolded.
OPENED = "for (const it of document.querySelectorAll('details')) it.open = true"
#: How many parts of the page are still being loaded.
LOADING = "return document.querySelectorAll('[hx-trigger=load], .htmx-request').length"


class Looks:
    """Checks one screen after the other, and collects what is wrong with them."""

    def __init__(self, window: Chromium) -> None:
        self._window = window
        self.found: dict[str, list[str]] = {}

    def at(self, name: str, *shown: str) -> None:
        """Checks the present screen, which has to show these texts."""
        until(lambda: self._window.run(LOADING) == 0, 20, "the page is complete")
        text = self._window.text("main")
        assert [it for it in shown if it not in text] == []
        self._window.run(OPENED)
        if broken := flaws(self._window):
            self.found[name] = broken
        self._window.emulate_phone(1280, 900, "light")


@pytest.fixture
def looks(window: Chromium) -> Iterator[Looks]:
    yield Looks(window)
    window.emulate_phone(0, 0, "")
