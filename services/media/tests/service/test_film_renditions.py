"""The worker makes the rendition of a video that is attached to a post, even if the service dies meanwhile."""

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import imageio_ffmpeg
from media_kit.running_media import RunningMedia

from contracts import media as api

FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()
STATE = "SELECT state, progress FROM renditions"


def webm(folder: Path, seconds: int) -> bytes:
    pictures = f"testsrc2=s=1280x720:r=30:d={seconds},noise=alls=10:allf=t"
    codec = ("-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "16", "-b:v", "4M")
    command = (FFMPEG, "-v", "error", "-f", "lavfi", "-i", pictures, *codec, "a.webm")
    subprocess.run(command, cwd=folder, check=True, timeout=120)
    return (folder / "a.webm").read_bytes()


def runs(program: Path) -> bool:
    for number in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if str(program).encode() in Path(f"/proc/{number}/cmdline").read_bytes():
                return True
    return False


def attach(storage: RunningMedia, media: api.Media) -> None:
    request = api.AttachMedia(
        post_id="pst_1", media_ids=(media.media_id,), revision=1, platforms=("TW", "LN", "YT")
    )
    storage.service.attach_media(storage.caller(), request)


def test_a_rendition_cut_off_by_kill_9_leaves_nothing_and_is_made_by_the_next_process(
    running_service: Callable[..., Any],
    bucket: dict[str, str],
    gateway_of: Callable[[Any], RunningMedia],
    tmp_path: Path,
) -> None:
    program, temporary = tmp_path / "ffmpeg", tmp_path / "temporary"
    program.symlink_to(FFMPEG)
    temporary.mkdir()
    storage = gateway_of(
        running_service("media", env=bucket | {"FFMPEG": str(program), "TMPDIR": str(temporary)})
    )
    data = webm(tmp_path, 8)
    media = storage.upload(data, "a.webm", "video/webm")
    attach(storage, media)
    storage.until(lambda: runs(program) and storage.ask(f"{STATE} WHERE lease_until > clock_timestamp()"))
    storage.service.kill()
    storage.until(lambda: not runs(program))
    assert os.listdir(temporary) == []
    assert [state for state, _ in storage.ask(STATE)] == ["pending"]
    storage.run("UPDATE renditions SET lease_until = clock_timestamp()")  # the lease has passed
    storage.service.restart()
    storage.until(lambda: storage.ask(f"{STATE} WHERE state <> 'pending'"), seconds=120.0)
    assert [state for state, _ in storage.ask(STATE)] == ["made"]
    request = api.GetFiles(media_ids=(media.media_id,), platform="TW")
    (file,) = storage.service.get_files(storage.caller(), request).files
    assert (file.mime_type, file.width, file.height) == ("video/mp4", 1280, 720)
    answer = storage.http.request("GET", file.source_url)
    assert len(answer.data) == file.size_bytes
    assert answer.data[4:8] == b"ftyp"
    assert os.listdir(temporary) == []
