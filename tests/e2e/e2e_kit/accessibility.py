"""Checks the page that a browser shows with axe-core: the rules of WCAG 2.2 A and AA, and axe-core's best practices.

axe-core is by Deque, under the Mozilla Public License 2.0 (`axe/LICENSE`). Only the tests use it.
"""

from functools import cache
from pathlib import Path

from e2e_kit.chromium import Chromium

_RUN = """
const done = arguments[arguments.length - 1];
for (const it of document.getAnimations()) it.finish();
axe.run(document, {resultTypes: ['violations'], %s}).then(
  (found) => done(found.violations.map((it) => `${it.id}: ${it.help}: ${it.nodes.map((one) => one.html).join(' ')}`)),
  (error) => done([String(error)]));
"""
#: Finds elements that extend beyond a side of the window, where `main` cuts them off. Not counted are elements in a
#: part that scrolls by itself, and dozens of combining marks on one letter, which some fonts draw beside the letter.
_CUT_OFF = """
const marks = /\\p{M}{30}/u;
const scrolls = (it) => ["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(it).overflowX);
const inScroller = (it) => it.tagName !== "MAIN" && (scrolls(it) || inScroller(it.parentElement));
const isOut = ({ left, right }) => right > innerWidth + 1 || left < -1;
const standsOut = (it) => it.checkVisibility() && isOut(it.getBoundingClientRect());
return [...document.querySelectorAll("main *")]
  .filter((it) => standsOut(it) && !inScroller(it.parentElement) && !marks.test(it.textContent))
  .map((it) => it.outerHTML.slice(0, 120)).slice(0, 3)
"""
#: All rules. axe-core leaves one off by default: targets of 24 pixels, or with as much space around them (WCAG 2.2,
#: 2.5.8).
_ALL = "rules: {'target-size': {enabled: true}}"
#: Widths of a phone's and of a desktop's window: each state of a screen is checked in both.
WIDTHS = (360, 1280)
#: The smallest height of the window.
_HEIGHT = 900
#: The rules about colours.
_COLOURS = "runOnly: ['color-contrast', 'link-in-text-block']"


@cache
def _axe() -> str:
    [path] = (Path(__file__).parent / "axe").glob("axe-*.min.js")
    return path.read_text()


def cut_off(window: Chromium) -> list[str]:
    """Returns the HTML, up to 120 characters, of at most three elements that are cut off at the side of the window."""
    found: list[str] = window.run(_CUT_OFF)
    return found


def flaws(window: Chromium, *widths: int) -> list[str]:
    """Returns the faults of the current page in windows of these widths, by default a phone's and a desktop's: broken
    rules in the light scheme, broken rules about colours in the dark one, a page wider than its window, and elements
    that are cut off.

    The window is made as high as the page. Otherwise elements that stick to the edge of the window, such as the
    composer's buttons on a phone, would cover others to which a person can scroll. Afterwards the window is as it was
    before.
    """
    found, before = [], window.screen
    for width in widths or WIDTHS:
        window.emulate_phone(width, _HEIGHT, "light")
        height = max(_HEIGHT, window.run("return document.documentElement.scrollHeight"))
        window.resize(width, height)
        found += [f"{width}, light: {it}" for it in _broken(window)]
        if (wide := window.run("return document.documentElement.scrollWidth")) > width:
            found.append(f"{width}: the page is {wide} wide")
        found += [f"{width}: cut off: {it}" for it in cut_off(window)]
        window.emulate_scheme("dark")
        found += [f"{width}, dark: {it}" for it in _broken(window, _COLOURS)]
    window.emulate_phone(*before)
    return found


def _broken(window: Chromium, rules: str = _ALL) -> list[str]:
    """Returns each rule that the page now breaks, with the elements that break it."""
    if not window.run("return 'axe' in window"):
        window.run(_axe())
    found: list[str] = window.run_async(_RUN % rules)
    return found
