"""Publishes videos as phones and browsers make them on every platform. Media converts each until the platform takes
it, and each is sent once.
"""

import os
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
PLATFORMS = ("FB", "IG", "LN", "TT", "TW", "YT")


@pytest.fixture(scope="module")
def mov(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A MOV in 4K as an iPhone records it: 10-bit HEVC with HLG, and AAC."""
    made = tmp_path_factory.mktemp("film") / "IMG_0001.mov"
    subprocess.run(
        (
            *(imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error"),
            *("-f", "lavfi", "-i", f"testsrc2=s=3840x2160:r={RATE}:d={SECONDS}"),
            *("-f", "lavfi", "-i", f"sine=d={SECONDS}"),
            *("-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=error"),
            *("-pix_fmt", "yuv420p10le", "-color_trc", "arib-std-b67", "-color_primaries", "bt2020"),
            *("-colorspace", "bt2020nc", "-tag:v", "hvc1", "-c:a", "aac", made),
        ),
        check=True,
        timeout=MADE_SECONDS,
    )
    return Path(made).read_bytes()


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
