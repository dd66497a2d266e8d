"""Publishes pictures as phones and programs make them on every platform that takes pictures. Media converts each until
the platform takes it, and each is sent once.
"""

import io
import random
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import imageio_ffmpeg
import psutil
import pytest
from e2e_kit.api import Json
from e2e_kit.files import MB, sample, uploaded
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import PUBLISH_SECONDS, await_post, schedule
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until
from minio import Minio
from PIL import Image

_HEIC = Path(__file__).parents[3] / "services/media/tests/media_kit/turned.heic"
#: What the simulator takes of one picture (docs/platforms.md); it reads each and refuses what is larger.
PHOTO_BYTES = {"FB": 10 * MB, "IG": 8 * MB, "LN": 8 * MB, "TT": 20 * MB, "TW": 5 * MB}
#: Five pictures one after the other, on a slow platform.
SENT_SECONDS = 300.0
#: A claim lapses after 30 s. The video is encoded at the lowest priority, beside other work.
KILLED_SECONDS = 180.0
#: The encoder ends with the service. A process that reads a picture ends after it has read it.
ENDED_SECONDS = 30.0
#: How often the video repeats the sample of 30 s: encoding it takes seconds, and the kill some hundredths of one.
REPEATED = 4
#: Fetching a file of 60 MB and its thumbnail, on a busy machine.
BEGUN_SECONDS = 60.0


def phone_photo(width: int, height: int) -> bytes:
    """Returns a JPEG that is as large as a phone's, because it shows many details: about two bits for each pixel."""
    noise = Image.frombytes(
        "RGB", (width // 4, height // 4), random.Random(7).randbytes(width // 4 * (height // 4) * 3)
    )
    return saved(noise.resize((width, height), Image.Resampling.BILINEAR), "JPEG", quality=95)


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def transparent_png() -> bytes:
    image = Image.linear_gradient("L").resize((1600, 1200)).convert("RGBA")
    image.putalpha(Image.radial_gradient("L").resize((1600, 1200)))
    return saved(image, "PNG")


def animated_gif() -> bytes:
    frames = [Image.new("RGB", (600, 450), color) for color in ("red", "blue", "green")]
    return saved(frames[0], "GIF", save_all=True, append_images=frames[1:], duration=100)


#: Making it fit takes seconds.
LARGE = "108mp.jpg"
PICTURES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "12mp.jpg": ("image/jpeg", lambda: phone_photo(4_032, 3_024)),
    LARGE: ("image/jpeg", lambda: phone_photo(12_000, 9_000)),
    "phone.heic": ("image/heic", _HEIC.read_bytes),
    "logo.png": ("image/png", transparent_png),
    "loop.gif": ("image/gif", animated_gif),
}


@pytest.fixture(scope="module")
def pictures() -> dict[str, bytes]:
    return {name: make() for name, (_, make) in PICTURES.items()}


@pytest.fixture(scope="module")
def owner(accounts: Accounts) -> Account:
    return accounts.new(pages=tuple(PHOTO_BYTES))


@pytest.fixture(scope="module")
def media_ids(owner: Account, pictures: dict[str, bytes]) -> list[str]:
    """The files of the pictures, in their order. Every platform's posts are made of these."""
    return [put(owner, pictures, name)["media_id"] for name in PICTURES]


def put(account: Account, pictures: dict[str, bytes], name: str) -> Json:
    return uploaded(account.api, pictures[name], name, PICTURES[name][0])


@pytest.mark.parametrize("platform", PHOTO_BYTES)
def test_any_picture_is_published_within_the_platforms_limits(
    owner: Account, operator: Operator, simulator: Simulator, media_ids: list[str], platform: str
) -> None:
    posts = [media_ids[:4], media_ids[4:]] if platform == "TW" else [media_ids]  # X takes a GIF only alone
    for ids in posts:
        content = {"message": "From my phone", "media_ids": ids}
        checked = owner.api.post("/posts/validate", {"page_id": owner.page_id(platform), **content}, 200)
        assert (checked["valid"], checked["errors"]) == (True, [])
        post = schedule(owner, platform, **content)
        operator("post", "due", post["id"])
        await_post(owner.api, post["id"], SENT_SECONDS, status="published")
    sent = [item for post in simulator.posts(owner.pages[platform]) for item in post["media"]]
    assert [item["type"] for item in sent].count("photo") >= 4
    assert len(sent) == len(media_ids)
    assert all(item["bytes"] <= PHOTO_BYTES[platform] for item in sent if item["type"] == "photo")


def test_validate_tells_what_will_be_made_of_a_picture_and_refuses_only_its_shape(
    accounts: Accounts, pictures: dict[str, bytes]
) -> None:
    account = accounts.new(pages=("TT", "IG"))
    photo = put(account, pictures, "12mp.jpg")["media_id"]
    wide = saved(Image.new("RGB", (2_000, 800)), "PNG")
    banner = uploaded(account.api, wide, "wide.png", "image/png")["media_id"]
    body = {"page_id": account.page_id("TT"), "message": "x", "media_ids": [photo]}
    checked = account.api.post("/posts/validate", body, 200)
    assert checked["valid"] is True
    assert checked["media_changes"] == [
        {
            "field": "media_ids[0]", "message": "will be scaled to 1,440 × 1,080 for TikTok",
            "mime_type": "image/jpeg", "width": 1_440, "height": 1_080,
        }
    ]  # fmt: skip
    body = {"page_id": account.page_id("IG"), "message": "x", "media_ids": [banner]}
    checked = account.api.post("/posts/validate", body, 200)
    [error] = checked["errors"]
    assert "Instagram takes photos between 0.75:1 and 1.91:1, this one is 2000 x 800" in error["message"]


@pytest.fixture(scope="module")
def long_webm(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A WebM of two minutes, which X does not take: it must be encoded anew."""
    folder, url = tmp_path_factory.mktemp("video"), stack.env["SAMPLE_VIDEO_URL"]
    once = sample(stack.env["SIMULATOR_URL"], f"{url.rpartition('/')[0]}/video-30s.webm")
    (folder / "once.webm").write_bytes(once)
    repeated = ("-stream_loop", str(REPEATED - 1), "-i", "once.webm", "-c", "copy", "made.webm")
    subprocess.run((imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", *repeated), cwd=folder, check=True)
    return (folder / "made.webm").read_bytes()


@pytest.mark.alone
@pytest.mark.parametrize(
    ("kind", "platform", "program", "count"),
    # The picture is read by a fork of the fork server.
    [("photo", "TT", "python", 2), ("video", "TW", "libx264", 1)],
)
def test_a_post_goes_out_once_when_media_is_killed_while_it_makes_its_picture_or_video(
    accounts: Accounts,
    operator: Operator,
    stack: Stack,
    simulator: Simulator,
    pictures: dict[str, bytes],
    long_webm: bytes,
    kind: str,
    platform: str,
    program: str,
    count: int,
) -> None:
    account = accounts.new(pages=(platform,))
    if kind == "photo":
        media = put(account, pictures, LARGE)
    else:
        media = uploaded(account.api, long_webm, "long.webm", "video/webm")
    media_id = media["media_id"]
    until(lambda: account.api.get(f"/media/{media_id}")["thumbnail_url"], BEGUN_SECONDS)
    post = schedule(account, platform, message="Large", media_ids=[media_id])  # its rendition is begun now
    claimed = [("pending", 1, True)]
    until(lambda: renditions(stack, media_id) == claimed, BEGUN_SECONDS, pause_seconds=0.02)
    until(lambda: len(running(workers(stack), program)) >= count, BEGUN_SECONDS, pause_seconds=0.02)
    begun = workers(stack)
    starts = stack.kill("media")
    assert renditions(stack, media_id) == claimed  # it was not finished in between
    until(lambda: not running(begun), ENDED_SECONDS, "the processes of the killed service have ended")
    stack.await_restart("media", starts)
    operator("post", "due", post["id"])
    await_post(account.api, post["id"], KILLED_SECONDS + PUBLISH_SECONDS, status="published")
    [held] = simulator.posts(account.pages[platform])
    assert [item["type"] for item in held["media"]] == [kind]
    assert renditions(stack, media_id) == [("made", 2, False)]
    assert objects(stack, media_id) == objects_of_rows(stack, media_id)


def workers(stack: Stack) -> list[psutil.Process]:
    """Returns the processes that the service media has started: its fork server, and what that runs."""
    media = psutil.Process(int((stack.run / "pids" / "media").read_text()))
    return media.children(recursive=True)


def running(processes: list[psutil.Process], program: str = "") -> list[psutil.Process]:
    """Returns those of the processes that run and have this text in their command line."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            command = " ".join(process.cmdline())
            if program in command and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def renditions(stack: Stack, media_id: str) -> list[tuple[str, int, bool]]:
    """Returns the state of each rendition of a file, how often a process has claimed it, and whether one holds it."""
    state = "state, tries, coalesce(lease_until > clock_timestamp(), false)"
    return stack.rows("media", f"SELECT {state} FROM renditions WHERE media_id = '{media_id}'")


def objects_of_rows(stack: Stack, media_id: str) -> set[str]:
    """Returns the names of the objects that a file has by the rows of the database."""
    thumbnail = "regexp_replace(slug, '[.][^.]*$', '-thumbnail.jpg')"
    names = f"""SELECT key, slug FROM media WHERE id = '{media_id}'
        UNION SELECT key, {thumbnail} FROM media WHERE id = '{media_id}' AND thumbnail_size_bytes > 0
        UNION SELECT key, r.slug FROM media JOIN renditions r ON r.media_id = media.id WHERE media.id = '{media_id}'"""
    return {f"{key}/{slug}" for key, slug in stack.rows("media", names)}


def objects(stack: Stack, media_id: str) -> set[str]:
    """Returns the names of the objects that the storage has for a file."""
    env, [(key,)] = stack.env, stack.rows("media", f"SELECT key FROM media WHERE id = '{media_id}'")
    keys = {"access_key": env["S3_ACCESS_KEY"], "secret_key": env["S3_SECRET_KEY"]}
    storage = Minio(urlsplit(env["S3_URL"]).netloc, **keys, secure=False, region="us-east-1")
    return {
        str(found.object_name)
        for bucket in storage.list_buckets()
        for found in storage.list_objects(bucket.name, prefix=f"{key}/", recursive=True)
    }
