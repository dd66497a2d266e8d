"""Publishes videos as phones and browsers make them on every platform. Media converts each until the platform takes
it, and each is sent once.
"""

import os
import re
import subprocess
from pathlib import Path

import imageio_ffmpeg
import pytest
from e2e_kit.api import Json
from e2e_kit.files import uploaded
from e2e_kit.operator import Accounts, Operator
from e2e_kit.posting import await_post, schedule
from e2e_kit.simulator import Simulator

#: Length and frames a second of the MOV in 4K. With FULL_SIZE=1 it takes six minutes on two cores. Otherwise it is
#: little longer than the 3 s, and has hardly more than the 23 frames, that platforms ask for at least: each frame costs
#: half a second of CPU.
SECONDS, RATE = (60.0, 30) if os.environ.get("FULL_SIZE") else (3.2, 24)
#: 4K is encoded anew for one platform after the other, at the lowest priority.
MADE_SECONDS = 200.0 + 25 * SECONDS
#: Of these the MOV consists.
FRAMES = 8
PLATFORMS = ("FB", "IG", "LN", "TT", "TW", "YT")


@pytest.fixture(scope="module")
def mov(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A MOV in 4K as an iPhone records it: 10-bit HEVC with HLG, and AAC. It shows the same few frames again and again,
    because each that is encoded takes half a second of CPU.
    """
    folder = tmp_path_factory.mktemp("film")
    piece, made = folder / "piece.mov", folder / "IMG_0001.mov"
    hlg = "setparams=range=tv:color_primaries=bt2020:colorspace=bt2020nc:color_trc=arib-std-b67"
    frames = f"testsrc2=s=3840x2160:r={RATE}:d={FRAMES / RATE},format=yuv420p10le,{hlg}"
    encoded = ("-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error")
    run_ffmpeg("-f", "lavfi", "-i", frames, *encoded, "-tag:v", "hvc1", piece)
    pictures, sound = ("-stream_loop", "-1", "-i", piece), ("-f", "lavfi", "-i", f"sine=d={SECONDS}")
    kept = ("-map", "0:v", "-map", "1:a", "-c:v", "copy", "-tag:v", "hvc1", "-c:a", "aac", "-t", f"{SECONDS}")
    run_ffmpeg(*pictures, *sound, *kept, made)
    told = run_ffmpeg("-i", made, "-frames:v", "1", "-f", "null", "-", level="info")
    assert re.search(r"hevc \(Main 10\).*yuv420p10le.*arib-std-b67.*3840x2160", told), told
    return made.read_bytes()


def run_ffmpeg(*arguments: str | Path, level: str = "error") -> str:
    """Runs ffmpeg and returns its messages."""
    argv = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", level, *arguments]
    done = subprocess.run(argv, check=True, timeout=MADE_SECONDS, capture_output=True, text=True)
    return done.stderr


@pytest.mark.parametrize(("kind", "mime_type"), [("mov", "video/quicktime"), ("webm", "video/webm")])
def test_any_film_is_published_on_every_platform(
    accounts: Accounts,
    operator: Operator,
    simulator: Simulator,
    request: pytest.FixtureRequest,
    kind: str,
    mime_type: str,
) -> None:
    account = accounts.new(pages=PLATFORMS)
    media = uploaded(account.api, request.getfixturevalue(kind), f"film.{kind}", mime_type)
    posts: dict[str, Json] = {}
    for platform in PLATFORMS:
        content = {"message": "My film", "media_ids": [media["media_id"]]}
        checked = account.api.post("/posts/validate", {"page_id": account.page_id(platform), **content}, 200)
        assert (checked["valid"], checked["errors"]) == (True, [])
        posts[platform] = schedule(account, platform, **content)
        operator("post", "due", posts[platform]["id"])
    for platform, post in posts.items():
        await_post(account.api, post["id"], MADE_SECONDS, pause_seconds=1.0, status="published")
        [held] = simulator.posts(account.pages[platform])
        assert [item["type"] for item in held["media"]] == ["video"]
