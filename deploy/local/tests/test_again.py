"""A test that failed while others ran is forgiven only if it passes each time that it runs without them."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from local.testing import again

SELECTION = ["-m", "not alone"]


class FakePytest:
    """Fails the tests `failing` in the first run. Later runs end with `codes`."""

    def __init__(self, cache: Path, failing: Sequence[str], codes: Sequence[int], first: int = 1) -> None:
        self.cache, self.failing, self.codes = cache, failing, [first, *codes]
        self.calls: list[list[str]] = []

    def __call__(self, arguments: Sequence[str]) -> int:
        if not self.calls and self.failing:
            notes = self.cache / "v" / "cache"
            notes.mkdir(parents=True)
            (notes / "lastfailed").write_text(json.dumps(dict.fromkeys(self.failing, True)))
        self.calls.append([it for it in arguments if not it.startswith("cache_dir") and it != "-o"])
        return self.codes[len(self.calls) - 1]


@pytest.fixture
def told() -> list[str]:
    return []


def test_a_failure_that_passes_alone_three_times_is_told_and_forgiven(
    tmp_path: Path, told: list[str]
) -> None:
    pytest_ = FakePytest(tmp_path / "c", ["a.py::test_a[x y]", "a.py::test_b"], [0, 0, 0])
    assert again.run(pytest_, SELECTION, tmp_path / "c", told.append) == 0
    assert pytest_.calls == [SELECTION, *[["a.py::test_a[x y]", "a.py::test_b"]] * 3]
    assert "a.py::test_a[x y], a.py::test_b" in told[-1]


@pytest.mark.parametrize("codes", [[1], [0, 1], [0, 0, 1], [4]])
def test_a_failure_that_fails_alone_once_is_a_failure(
    tmp_path: Path, told: list[str], codes: list[int]
) -> None:
    pytest_ = FakePytest(tmp_path / "c", ["a.py::test_a"], codes)
    assert again.run(pytest_, SELECTION, tmp_path / "c", told.append) == codes[-1]


@pytest.mark.parametrize(
    ("failures", "code"), [(6, 1), (0, 0), (1, 2), (1, 3), (0, 1)],
    ids=["too many", "none", "interrupted", "broken", "without a test"],
)  # fmt: skip
def test_other_ends_of_a_run_stand_as_they_are(
    tmp_path: Path, told: list[str], failures: int, code: int
) -> None:
    pytest_ = FakePytest(tmp_path / "c", [f"a.py::test_{n}" for n in range(failures)], [], first=code)
    assert again.run(pytest_, SELECTION, tmp_path / "c", told.append) == code
    assert (len(pytest_.calls), told) == (1, [])
