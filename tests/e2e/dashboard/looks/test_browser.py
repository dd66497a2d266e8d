"""A browser that crashes costs the tests that it runs, and none of the later ones."""

from pathlib import Path

import psutil
import pytest
import urllib3
from e2e_kit.chromium import Browser

from local.servers import browser as installed


def test_a_browser_that_has_crashed_is_replaced(tmp_path: Path) -> None:
    homes = [tmp_path / "first", tmp_path / "second"]
    for home in homes:
        home.mkdir()
    browser = Browser(installed.install(print), iter(homes))
    try:
        window = browser.window()
        window.open("data:text/html,<h1>First</h1>")
        for process in psutil.process_iter(["cmdline"]):
            if str(homes[0]) in " ".join(process.info["cmdline"] or ()):
                process.kill()
        with pytest.raises((AssertionError, urllib3.exceptions.HTTPError)):
            window.open("data:text/html,<h1>Lost</h1>")
        window = browser.window()
        window.open("data:text/html,<h1>Second</h1>")
        assert window.text("h1") == "Second"
        assert browser.window() is window
    finally:
        browser.close()
