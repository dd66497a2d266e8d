"""What a film's headers leave open is asked of ffprobe: here a small one that tells what it was given."""

import os
import stat
import sys

import msgspec
import pytest

from chassis.sandbox.pool import Limits, SandboxPool
from media.inspection import ffprobe

FILM = {"filename": "a.webm", "mime_type": "video/webm"}
PACKETS = "".join(f"packet|pts_time={n / 10:.6f}|duration_time=0.100000\n" for n in range(9_000))
STREAMS = "stream|width=640|height=480|side_data|rotation=-90\n\nstream|\n"
#: Tells what it knows, eats the film, and answers. It may write nowhere else than to its output.
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
def path(tmp_path):
    return tmp_path / "ffprobe"


@pytest.fixture
def ffprobe(world, path, monkeypatch):
    """`ffprobe(answer)` makes one and has the house ask it; a list of what each run of it told first."""
    told: list[str] = []

    class Recorded(ffprobe.Output):
        def read(self):
            told.append(self.head.decode("ascii", "replace"))
            return super().read()

    monkeypatch.setattr(ffprobe, "Output", Recorded)

    def make(answer: str = PACKETS + STREAMS, *, reads: bool = True, then: str = "") -> list[str]:
        python = os.path.realpath(sys.executable)
        path.write_text(FAKE.format(python=python, answer=answer, reads=reads, then=then))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        world.context.settings = msgspec.structs.replace(world.context.settings, ffprobe=str(path))
        return told

    return make


def kept(world, data, **film):
    film = film or FILM
    return world.commit(world.put(data, **film), len(data))


def test_the_length_of_a_live_recording_is_what_ffprobe_says(world, make, ffprobe):
    ffprobe()
    media = kept(world, make.recording(live=True, timed=False))
    assert (media.width, media.height, media.duration_seconds) == (64, 48, 900.0)


def test_it_is_fed_the_film_and_knows_no_address_no_file_and_no_secret(world, make, ffprobe, monkeypatch):
    monkeypatch.setenv("S3_SECRET_KEY", "secret")
    told, data = ffprobe(), make.recording(live=True, timed=False)
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


def test_what_the_headers_tell_is_asked_of_nobody(world, make, ffprobe):
    told = ffprobe()
    assert kept(world, make.recording()).duration_seconds == 2.5
    assert not told


def test_the_size_of_a_film_that_lies_is_as_it_is_shown(world, make, ffprobe):
    ffprobe()
    media = kept(world, make.film(size=(0, 0)), filename="a.mp4", mime_type="video/mp4")
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
def test_a_film_is_taken_whatever_ffprobe_makes_of_it(world, make, ffprobe, answer, then, reads):
    ffprobe(answer, then=then, reads=reads)
    media = kept(world, make.recording(live=True, timed=False))
    assert (media.width, media.height, media.duration_seconds) == (64, 48, None)


def test_an_ffprobe_that_never_ends_is_ended(world, make, ffprobe):
    world.context.workshop.close()
    world.context.workshop = SandboxPool("media.decoder.functions", Limits(seconds=1))
    ffprobe(then="while True: pass")
    assert kept(world, make.recording(live=True, timed=False)).duration_seconds == 900.0


def test_one_that_is_gone_since_the_start_tells_nothing(world, make, ffprobe, path):
    ffprobe()
    path.unlink()
    assert kept(world, make.recording(live=True, timed=False)).duration_seconds is None
