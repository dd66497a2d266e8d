"""ffprobe adds what a video's headers lack. Here a small script plays it and reports its input."""

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from media_kit import samples
from media_kit.world import World

from chassis.sandbox.pool import Limits, SandboxPool
from media.inspection import ffprobe

FILM = {"filename": "a.webm", "mime_type": "video/webm"}
PACKETS = "".join(f"packet|pts_time={n / 10:.6f}|duration_time=0.100000\n" for n in range(9_000))
STREAMS = "stream|width=640|height=480|side_data|rotation=-90\n\nstream|\n"
#: Reports its arguments and environment, reads the video, and answers. It can write to its output alone.
FAKE = """#!{python} -IS
import os, sys
film = sys.stdin.buffer.read() if {reads} else b""
said = "\\0".join(sys.argv[1:]), *(f"{{name}}={{value}}" for name, value in os.environ.items()), str(len(film))
sys.stdout.write("\\n".join(said) + "\\n")
sys.stdout.write({answer!r})
sys.stdout.flush()
{then}
"""


@pytest.fixture
def path(tmp_path: Path):
    return tmp_path / "ffprobe"


@pytest.fixture
def fake_ffprobe(world: World, path: Path, monkeypatch: pytest.MonkeyPatch):
    """`fake_ffprobe(answer)` creates one and configures it. Returns the list of what each run reported first."""
    told: list[str] = []

    class Recorded(ffprobe.ProbeOutput):
        def read(self):
            told.append(self.head.decode("ascii", "replace"))
            return super().read()

    monkeypatch.setattr(ffprobe, "ProbeOutput", Recorded)

    def make(answer: str = PACKETS + STREAMS, *, reads: bool = True, then: str = "") -> list[str]:
        python = os.path.realpath(sys.executable)
        path.write_text(FAKE.format(python=python, answer=answer, reads=reads, then=then))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        world.context.settings = msgspec.structs.replace(world.context.settings, ffprobe=str(path))
        return told

    return make


def kept(world: World, data: bytes, **film):
    film = film or FILM
    return world.commit(world.put(data, **film), len(data))


def test_a_live_recording_gets_its_duration_from_ffprobe(
    world: World, fake_ffprobe: Callable[..., list[str]]
) -> None:
    fake_ffprobe()
    media = kept(world, samples.recording(live=True, timed=False))
    assert (media.width, media.height, media.duration_seconds) == (64, 48, 900.0)


def test_ffprobe_gets_the_video_and_no_address_file_or_secret(
    world: World, fake_ffprobe: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("S3_SECRET_KEY", "secret")
    told, data = fake_ffprobe(), samples.recording(live=True, timed=False)
    kept(world, data)
    asked, *known = told[0][: told[0].index("packet|")].splitlines()
    read = known.pop()
    arguments = asked.split("\0")
    assert arguments[arguments.index("-protocol_whitelist") + 1] == "pipe"
    assert arguments[arguments.index("-f") + 1] == "matroska"
    assert arguments[-1] == "pipe:0"
    assert not [it for it in arguments if "/" in it]
    assert not [it for it in known if "secret" in it or it.startswith(("S3", "PATH"))]
    assert int(read) == len(data)


def test_ffprobe_is_not_run_when_the_headers_are_complete(
    world: World, fake_ffprobe: Callable[..., list[str]]
) -> None:
    told = fake_ffprobe()
    assert kept(world, samples.recording()).duration_seconds == 2.5
    assert not told


def test_the_size_of_a_rotated_video_is_as_displayed(
    world: World, fake_ffprobe: Callable[..., list[str]]
) -> None:
    fake_ffprobe()
    media = kept(world, samples.film(size=(0, 0)), filename="a.mp4", mime_type="video/mp4")
    assert (media.width, media.height, media.duration_seconds) == (480, 640, 2.5)


@pytest.mark.parametrize(
    ("answer", "then"),
    [
        ("", ""),
        ("", "sys.exit(1)"),
        ("", "os.kill(os.getpid(), 11)"),
        ("packet|pts_time=N/A|duration_time=N/A\nstream|width=0|height=0\n", ""),
        ("packet|pts_time=nan|duration_time=inf\n", ""),
        ("packet|pts_time=1e400|duration_time=1\n", ""),
        ("packet|pts_time=" + "9" * 400 + "|duration_time=1\nstream|width=999999|height=1\n", ""),
        ("packet|pts_time=-5.0|duration_time=0.0\n", ""),
        ("\xff\x00 nonsense", ""),
        ("packet|pts_time=1.0|duration_time=1.0\n" * 200_000 + "x" * 2_000_000, ""),
    ],
)
@pytest.mark.parametrize("reads", [True, False])
def test_a_video_is_accepted_whatever_ffprobe_answers(
    world: World, fake_ffprobe: Callable[..., list[str]], answer: str, then: str, reads: bool
) -> None:
    fake_ffprobe(answer, then=then, reads=reads)
    media = kept(world, samples.recording(live=True, timed=False))
    assert (media.width, media.height, media.duration_seconds) == (64, 48, None)


def test_an_ffprobe_that_never_ends_is_killed(world: World, fake_ffprobe: Callable[..., list[str]]) -> None:
    world.context.sandbox_pool.close()
    world.context.sandbox_pool = SandboxPool("media.decoder.functions", Limits(seconds=1))
    fake_ffprobe(then="while True: pass")
    assert kept(world, samples.recording(live=True, timed=False)).duration_seconds == 900.0


def test_a_removed_ffprobe_is_not_an_error(
    world: World, fake_ffprobe: Callable[..., list[str]], path: Path
) -> None:
    fake_ffprobe()
    path.unlink()
    assert kept(world, samples.recording(live=True, timed=False)).duration_seconds is None
