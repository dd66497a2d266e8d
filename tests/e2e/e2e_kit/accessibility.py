"""What axe-core finds on the present page of a browser: rules of WCAG 2.2 A and AA, and its best practices.

axe-core is Deque's, under the Mozilla Public License 2.0 (`axe/LICENSE`); it is part of the tests alone.
"""

from functools import cache
from pathlib import Path

from e2e_kit.chromium import Chromium

_RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ['violations']}).then(
  (found) => done(found.violations.map((it) => `${it.id}: ${it.help}: ${it.nodes.map((one) => one.html).join(' ')}`)),
  (error) => done([String(error)]));
"""


@cache
def _axe() -> str:
    [path] = (Path(__file__).parent / "axe").glob("axe-*.min.js")
    return path.read_text()


def findings(window: Chromium) -> list[str]:
    """Returns each broken rule with the elements that break it."""
    window.run(_axe())
    found: list[str] = window.run_async(_RUN)
    return found
