"""Runs failed tests again, with no other tests beside them: a test may fail because the machine was busy."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

#: More failures than this are not chance, so the tests are not run again.
MOST = 5
#: Each test must pass this many times: a test that fails every second time is caught seven times in eight.
TIMES = 3
#: pytest's exit code if tests failed, and nothing else went wrong.
TESTS_FAILED = 1

#: Runs pytest with these arguments after the usual ones and returns its exit code.
Pytest = Callable[[Sequence[str]], int]


def run(pytest: Pytest, selection: Sequence[str], cache: Path, tell: Callable[[str], None]) -> int:
    """Runs pytest with `selection` and returns its exit code.

    If only a few tests fail, runs these again, without the others, `TIMES` times. Returns 0 if they pass each time,
    else the exit code of the first run in which one fails. `cache`: a folder in which pytest notes which tests failed.
    """
    code = pytest([*selection, "-o", f"cache_dir={cache}"])
    failed = failed_tests(cache)
    if code != TESTS_FAILED or not 0 < len(failed) <= MOST:
        return code
    for time in range(1, TIMES + 1):
        tell(f"failed beside others: {len(failed)}; run alone, {time} of {TIMES}")
        code = pytest(["-o", f"cache_dir={cache}-alone", *failed])
        if code:
            return code
    tell(f"failed beside others and passed alone {TIMES} times, find out why: {', '.join(failed)}")
    return 0


def failed_tests(cache: Path) -> list[str]:
    """Returns the ids of the tests that failed in the run whose notes are in `cache`."""
    try:
        return sorted(json.loads((cache / "v" / "cache" / "lastfailed").read_text()))
    except FileNotFoundError:
        return []
