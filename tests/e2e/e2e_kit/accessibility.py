"""Runs axe-core on the present page of a browser: rules of WCAG 2.2 A and AA, and axe-core's best practices.

axe-core is Deque's, under the Mozilla Public License 2.0 (`axe/LICENSE`); only the tests use it.
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
#: What stands out of the window at one side, where `main` cuts it off, so that the page does not become wider. Parts
#: that scroll by themselves may, and dozens of marks on one letter, which a font may draw beside it and nothing can
#: break.
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
#: All rules, with the one that axe-core leaves off: targets of 24 pixels, or with as much space (WCAG 2.2, 2.5.8).
_ALL = "rules: {'target-size': {enabled: true}}"
#: A phone's and a desktop's: each state of a screen is looked at in both.
WIDTHS = (360, 1280)
#: Lowest window in which a page is looked at.
_HEIGHT = 900
#: The rules about colours.
_COLOURS = "runOnly: ['color-contrast', 'link-in-text-block']"


@cache
def _axe() -> str:
    [path] = (Path(__file__).parent / "axe").glob("axe-*.min.js")
    return path.read_text()


def cut_off(window: Chromium) -> list[str]:
    """Returns the beginnings of the elements that the present window shows only in part."""
    found: list[str] = window.run(_CUT_OFF)
    return found


def flaws(window: Chromium, *widths: int) -> list[str]:
    """Returns what is wrong with the present page in a window of each of these widths, by default a phone's and a
    desktop's: rules broken in the light scheme, rules about colours broken in the dark one (only colours change there),
    a page that is wider than its window, and content that is cut off at its edge.

    The window is made as high as the page. Otherwise what sticks to its edge, such as the composer's buttons on a
    phone, would cover something that a person can scroll to. Afterwards the window is as it was before.
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
    """Returns each rule that the page breaks as it is now, with the elements that break it."""
    if not window.run("return 'axe' in window"):
        window.run(_axe())
    found: list[str] = window.run_async(_RUN % rules)
    return found
