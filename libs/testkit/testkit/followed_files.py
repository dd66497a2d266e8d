"""Lists the source files that a reader has to open to follow a request or a post through the code.

A file of `services` or `libs` counts if one of its functions runs. Files of contracts and testkit, and chassis' bus
and database, do not count: a reader need not open them to understand what happens to a post.
"""

import _thread
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[3]
_PACKAGES = (f"{ROOT}/services/", f"{ROOT}/libs/")
_TAKEN_AS_GIVEN = (
    "libs/chassis/chassis/bus/",
    "libs/chassis/chassis/db/",
    "libs/contracts/",
    "libs/testkit/",
)


@contextmanager
def followed() -> Iterator[Callable[[], list[str]]]:
    """Records the files whose functions run inside the block, in this thread and in threads that are started there.

    Yields a function that returns the paths of the files that count, sorted.
    """
    found: set[str] = set()
    start = _thread.start_new_thread

    def note(frame: FrameType, event: str, _argument: object) -> None:
        # Only functions have this flag: bodies of modules and classes run when they are imported.
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            found.add(frame.f_code.co_filename)

    def start_noted(function: Callable[..., object], arguments: tuple[Any, ...], *named: Any) -> int:
        def run(*given: Any, **more: Any) -> None:
            sys.setprofile(note)
            function(*given, **more)

        return start(run, arguments, *named)

    before = sys.getprofile()
    _thread.start_new_thread = start_noted
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield lambda: sorted(path for path in map(_within, found) if path)
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
        _thread.start_new_thread = start


def _within(path: str) -> str:
    """Returns the path of a file relative to the repository, or "" if the file does not count."""
    name = path.removeprefix(f"{ROOT}/")
    counts = path.startswith(_PACKAGES) and "/tests/" not in name and not name.startswith(_TAKEN_AS_GIVEN)
    return name if counts else ""
