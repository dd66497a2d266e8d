"""The parts of `./dev bench media` that need no stack."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from bench import renditions


@pytest.fixture
def encoder() -> Iterator[psutil.Process]:
    """A process that works as fast as it can."""
    child = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
    yield psutil.Process(child.pid)
    child.kill()
    child.wait()


def until(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < end


def await_work(process: psutil.Process) -> None:
    before = process.cpu_times().user
    until(lambda: process.cpu_times().user > before + 0.05)


def test_each_picture_has_a_row_for_each_rendition_that_platforms_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(renditions, "_PHOTO", (2_400, 1_800))
    rows = {row.name: row for row in renditions._photos()}
    assert rows["12 megapixels, JPEG for TikTok: CPU"].met
    assert "becomes 1,440 × 1,080" in rows["12 megapixels, JPEG for TikTok: CPU"].note
    assert any(name.startswith("12 megapixels, PNG for ") and "Instagram" in name for name in rows)


def test_a_stopped_encoder_does_nothing_and_continues(encoder: psutil.Process) -> None:
    await_work(encoder)
    with renditions._stopped(encoder):
        until(lambda: encoder.status() == psutil.STATUS_STOPPED)
    with renditions._working(encoder):
        await_work(encoder)


def test_a_run_in_which_the_encoder_got_no_cpu_does_not_count(encoder: psutil.Process) -> None:
    encoder.suspend()
    until(lambda: encoder.status() == psutil.STATUS_STOPPED)
    with pytest.raises(RuntimeError, match="not given any CPU"), renditions._working(encoder):
        """Nothing is encoded meanwhile."""
