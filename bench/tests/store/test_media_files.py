"""`./dev bench media --files`: what it tells about files whose fate is known."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from media_kit import samples
from sqlalchemy import Engine

from bench.media_files import __main__ as command
from bench.media_files.measured_pool import MeasuredPool
from bench.media_files.private_notes import private
from bench.media_files.summary import line, summary
from bench.media_files.trying import CONVERTED, DAMAGED, MENDED, SAME, Trial, Tried
from chassis.sandbox.pool import Limits, OutOfLimits, WorkFailed

MB = 2**20


@pytest.fixture
def pool() -> Iterator[MeasuredPool]:
    with closing(MeasuredPool(Limits(memory_bytes=512 * MB, cpu_seconds=1))) as pool:
        yield pool


@pytest.fixture
def trial(admin: Engine, bucket: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Trial]:
    for name, value in bucket.items():
        monkeypatch.setenv(f"TEST_{name}", value)
    with command.trial() as running:
        yield running


def attempt(trial: Trial, folder: Path, name: str, data: bytes) -> Tried:
    (folder / name).write_bytes(data)
    return trial.attempt(folder / name, name)


def test_work_is_measured_even_if_it_fails(pool: MeasuredPool) -> None:
    with pytest.raises(WorkFailed, match="nothing"):
        pool.run("nothing")
    used = pool.taken()
    assert 0 <= used.cpu_seconds < 1
    assert MB < used.memory_bytes < 512 * MB
    assert pool.taken().memory_bytes == 0


def test_a_program_that_is_ended_for_its_cpu_is_measured_with_it(pool: MeasuredPool) -> None:
    assert pool.run_program([sys.executable, "-S", "-c", "while True: pass"], []) < 0
    assert 0.5 < pool.taken().cpu_seconds < 3


def test_a_process_that_ran_out_of_memory_is_measured(pool: MeasuredPool, tmp_path: Path) -> None:
    path = tmp_path / "large.png"
    path.write_bytes(samples.picture("image/png", (14_000, 14_000)))
    with path.open("rb") as file, (tmp_path / "made").open("w+b") as made, pytest.raises(OutOfLimits):
        pool.run("inspect_image", {"mime_type": "image/png"}, [file.fileno(), made.fileno()])
    assert pool.taken().memory_bytes > 0


@pytest.mark.parametrize(
    ("name", "data", "shows"),
    [
        ("a.jpg", samples.placed("image/jpeg"), SAME),
        ("a.png", samples.placed("image/png"), SAME),
        ("a.gif", samples.animation("image/gif"), SAME),
        ("a.avif", samples.avif(), CONVERTED),
        ("a.mp4", samples.film(camera_track=True), SAME),
        ("named-otherwise.txt", samples.picture("image/webp"), SAME),
    ],
)
def test_a_good_file_is_taken_and_shows_the_same(
    trial: Trial, tmp_path: Path, name: str, data: bytes, shows: str
) -> None:
    tried = attempt(trial, tmp_path, name, data)
    assert (tried.outcome, tried.shows) == ("taken", shows)
    assert tried.memory_bytes > MB
    assert tried.cpu_seconds > 0


def test_a_refused_file_has_its_message(trial: Trial, tmp_path: Path) -> None:
    tried = attempt(trial, tmp_path, "a.jpg", samples.picture()[:200])
    assert tried.outcome.startswith("INVALID_FILE_CONTENT: ")
    assert (tried.is_taken, tried.shows, tried.private) == (False, None, None)
    assert attempt(trial, tmp_path, "empty.jpg", b"").outcome.startswith("INVALID_FILE_CONTENT: ")


@pytest.mark.parametrize(
    ("mime_type", "original", "stored", "shows"),
    [
        ("image/png", samples.picture("image/png"), samples.picture("image/png", (30, 40)), DAMAGED),
        ("image/png", samples.picture("image/png"), b"nothing that can be decoded", DAMAGED),
        ("image/gif", samples.animation("image/gif", 3), samples.animation("image/gif", 2), DAMAGED),
        ("image/png", samples.picture("image/png")[:-30], samples.picture("image/png"), MENDED),
        ("video/mp4", samples.film(), samples.film(filler_bytes=100), SAME),  # filler is no picture
        ("video/mp4", samples.film(), samples.film(shown=2), DAMAGED),
        ("video/mp4", samples.film(), b"nothing that can be decoded", DAMAGED),
    ],
)
def test_files_are_compared_by_what_they_show(
    trial: Trial, tmp_path: Path, mime_type: str, original: bytes, stored: bytes, shows: str
) -> None:
    (tmp_path / "original").write_bytes(original)
    (tmp_path / "stored").write_bytes(stored)
    with (tmp_path / "original").open("rb") as before, (tmp_path / "stored").open("rb") as after:
        assert trial.compare(before, after, mime_type) == shows


def test_notes_about_people_are_named_and_those_of_the_format_are_not() -> None:
    told = {"GPS:GPSLatitude": "48 deg", "IFD0:Artist": "Ann", "QuickTime:CreateDate": "2024:05:06 07:08:09",
            "File:Comment": "Home", "Track1:TrackCreateDate": "0000:00:00 00:00:00", "File:ImageWidth": 40,
            "Track1:HandlerDescription": "VideoHandler"}  # fmt: skip
    assert private(told) == ("GPS:GPSLatitude", "IFD0:Artist", "QuickTime:CreateDate", "File:Comment")


def test_the_summary_names_refusals_damage_notes_and_the_largest() -> None:
    def tried(name: str, outcome: str = "taken", **more: object) -> Tried:
        usual = {"size_bytes": 1, "cpu_seconds": 0.1, "memory_bytes": MB, "seconds": 0.1}
        return Tried(name=name, outcome=outcome, **(usual | more))  # type: ignore[arg-type]

    files = [
        tried("a.jpg", shows=SAME, private=("GPS:GPSLatitude",)),
        tried("b.png", shows=DAMAGED, private=(), cpu_seconds=2.0),
        tried("c.gif", "INVALID_FILE_CONTENT: Too large."),
        tried("d.gif", "INVALID_FILE_CONTENT: Too large.", memory_bytes=900 * MB),
    ]
    assert summary(files).splitlines() == [
        "2 of 4 taken: 1 same, 1 damaged",
        "refused 2: INVALID_FILE_CONTENT: Too large.",
        "damaged: b.png",
        "private: a.jpg: GPS:GPSLatitude",
        "2 of the taken ones searched by exiftool, 1 with something",
        "slowest: b.png 2.00 s, a.jpg 0.10 s, c.gif 0.10 s",
        "largest memory: d.gif 900 MB, a.jpg 1 MB, b.png 1 MB",
    ]
    assert line(files[0]) == "a.jpg | 1 bytes | 0.10 s CPU | 1 MB | taken, same | still tells GPS:GPSLatitude"
