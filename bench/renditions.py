"""Measures what platforms get instead of a file that they do not take: the CPU to scale a photo of 12 megapixels, how
long a video of 60 s takes, and how much slower other calls are meanwhile.

The photos are made by the processes of the media service, but started here, so that the kernel tells their CPU. The
videos are made by the running service.
"""

import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import imageio_ffmpeg  # type: ignore[import-untyped]
import psutil
import requests
from PIL import Image

from bench.load import Load, Variant, run
from bench.media_files.measured_pool import MeasuredPool
from bench.stack import Stack, Tenant
from bench.table import Row
from chassis.ids import new_id
from contracts.caller import Caller
from contracts.media import AttachMedia
from contracts.platforms import PLATFORMS
from contracts.renditions import FileFacts, Need, need_of
from media.context import LIMITS

_MB = 2**20
#: 12 megapixels, as most phones take.
_PHOTO = (4_032, 3_024)
#: Measurements of each photo; the median counts.
_ROUNDS = 3
#: The video: 1080p as phones record it. It is a shorter one that is repeated, since encoding HEVC takes long.
_FILM_SECONDS, _PART_SECONDS = 60, 5
_PART = (
    f"-f lavfi -i testsrc2=s=1920x1080:r=30:d={_PART_SECONDS},noise=alls=12:allf=t -f lavfi -i sine=d={_PART_SECONDS} "
    "-c:v libx265 -preset ultrafast -crf 30 -x265-params log-level=error -pix_fmt yuv420p -tag:v hvc1 -c:a aac"
)
#: X takes H.264 alone.
_PLATFORM = "TW"
_WAIT_SECONDS = 600
#: Tenants that call (each may send 300 requests a minute), files of each, and pairs of runs with and without the
#: encoder.
_TENANTS, _FILES, _PAIRS, _RUN_SECONDS = 160, 25, 7, 1.5
_CONNECTIONS = (1, 8)
_COPIES = """
INSERT INTO media SELECT made.*
FROM (SELECT * FROM media WHERE id = '{media_id}') AS one,
    unnest(ARRAY[{accounts}]) WITH ORDINALITY AS a (account, place),
    generate_series(1, {files}) AS n,
    LATERAL (SELECT lpad((place * 1000 + n)::text, 22, '0') AS number) AS named,
    LATERAL jsonb_populate_record(NULL::media, to_jsonb(one) || jsonb_build_object('account_id', account,
        'id', 'med_' || number, 'upload_id', 'upl_' || number, 'key', number, 'operation_id', NULL,
        'thumbnail_size_bytes', 0)) AS made
"""


def measure(stack: Stack) -> list[Row]:
    return [*_photos(), *_Films(stack).measure()]


def _photos() -> list[Row]:
    width, height = _PHOTO
    noise = Image.frombytes("RGB", (width // 4, height // 4), os.urandom(width // 4 * (height // 4) * 3))
    image = noise.resize(_PHOTO, Image.Resampling.BILINEAR)
    rows = []
    with closing(MeasuredPool(LIMITS)) as pool:
        for name, mime_type, options in (("JPEG", "image/jpeg", {"quality": 95}), ("PNG", "image/png", {})):
            file = io.BytesIO()
            image.save(file, name, **options)
            data = file.getvalue()
            facts = FileFacts(
                type="photo", mime_type=mime_type, size_bytes=len(data), width=width, height=height
            )
            floor = _cpu_of_encoding_once(data)
            needs: dict[Need, str] = {}
            for code, platform in PLATFORMS.items():
                if (need := need_of(code, facts)) is not None:
                    needs[need] = f"{needs[need]}, {platform.title}" if need in needs else platform.title
            rows += [
                _photo(pool, f"{name} for {who}", mime_type, data, need, floor) for need, who in needs.items()
            ]
    return rows


def _photo(pool: MeasuredPool, name: str, mime_type: str, data: bytes, need: Need, floor: float) -> Row:
    argument = {
        "mime_type": mime_type,
        "max_bytes": need.max_bytes,
        "width": need.width,
        "height": need.height,
    }
    seconds, memory = [], 0
    for _ in range(_ROUNDS):
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as made:
            given.write(data)
            given.flush()
            pool.taken()
            sides = pool.run("make_picture", argument, [given.fileno(), made.fileno()])
            used, size_bytes = pool.taken(), made.seek(0, 2)
        seconds.append(used.cpu_seconds)
        memory = max(memory, used.memory_bytes)
    cpu = median(seconds)
    becomes = f"becomes {sides['width']:,} × {sides['height']:,}, {size_bytes / _MB:.1f} MB"
    note = (
        f"{cpu / floor:.1f} times decoding and encoding it once, {memory / _MB:.0f} MB of memory; {becomes}"
    )
    return Row.limit(f"12 megapixels, {name}: CPU", cpu, 1, "s").noting(f"{cpu:.2f} s; {note}")


def _cpu_of_encoding_once(data: bytes) -> float:
    began = time.process_time()
    with Image.open(io.BytesIO(data)) as image:
        image.convert("RGB").save(io.BytesIO(), "JPEG", quality=92)
    return time.process_time() - began


class _Films:
    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._tenants = stack.make_tenants(_TENANTS, pages=1)
        self._owner = self._tenants[0]

    def measure(self) -> list[Row]:
        with tempfile.TemporaryDirectory() as folder:
            film = _film(Path(folder))
            first, second = self._upload(film), self._upload(film)
        seconds, cpu = self._encode(first)
        length = Row.ratio(
            f"{_FILM_SECONDS} s of 1080p HEVC for X / its length",
            seconds,
            _FILM_SECONDS,
            at_most=2.0,
            unit=" s",
        )
        self._fill(first)
        self._attach(second)
        return [length.noting(f"{cpu:.0f} s of CPU, {os.cpu_count()} cores"), *self._calls(second)]

    def _upload(self, film: Path) -> str:
        with film.open("rb") as body:
            answer = requests.post(
                f"{self._stack.base_url}/media/upload",
                headers={"Authorization": f"Bearer {self._owner.token}"},
                files={"file": (film.name, body, "video/quicktime")},
                timeout=_WAIT_SECONDS,
            )
        answer.raise_for_status()
        media_id: str = answer.json()["media_id"]
        return media_id

    def _attach(self, media_id: str) -> None:
        """Attaches the file to a post that is never stored, which begins its rendition."""
        owner = self._owner.account_id
        operation_id, post_id = new_id("op"), new_id("pst")
        caller = Caller(account_id=owner, user_id=owner, tier="elite", operation_id=operation_id)
        request = AttachMedia(post_id=post_id, media_ids=(media_id,), revision=1, platforms=(_PLATFORM,))
        self._stack.bus.service("media").attach_media(caller, request)

    def _encode(self, media_id: str) -> tuple[float, float]:
        """Returns the seconds from the moment when the rendition is asked for until it is made, and the encoder's CPU.
        This process does nothing else meanwhile.
        """
        began, cpu = time.monotonic(), 0.0
        self._attach(media_id)
        encoder = self._encoder()
        while self._is_pending(media_id):
            with suppress(psutil.NoSuchProcess):
                cpu = sum(encoder.cpu_times()[:2])
            time.sleep(0.1)
        return time.monotonic() - began, cpu

    def _is_pending(self, media_id: str) -> bool:
        [(state,)] = self._stack.query("media", f"SELECT state FROM renditions WHERE media_id = '{media_id}'")
        if state == "failed":
            raise RuntimeError("the rendition has failed")
        return state == "pending"

    def _fill(self, media_id: str) -> None:
        """Gives each other tenant copies of the file's row: a list shows rows alone."""
        accounts = ", ".join(f"'{tenant.account_id}'" for tenant in self._tenants[1:])
        self._stack.change("media", _COPIES.format(media_id=media_id, accounts=accounts, files=_FILES))

    def _calls(self, media_id: str) -> list[Row]:
        """Compares runs of a load while the encoder works with runs while it is stopped, in turn."""
        loads = {
            (name, count): _load(f"{self._stack.base_url}{path}", count, self._tenants[1:])
            for name, path in (("GET /media (25)", "/media?limit=25"), ("GET /pages (1)", "/pages?limit=25"))
            for count in _CONNECTIONS
        }
        encoder = self._encoder()
        found: dict[Any, tuple[list[float], list[float]]] = {key: ([], []) for key in loads}
        for _ in range(_PAIRS):
            for key, load in loads.items():
                for times, stops in zip(found[key], (False, True), strict=True):
                    with _stopped(encoder) if stops else _working(encoder):
                        times.append(_seconds_of_a_call(load))
        while self._is_pending(media_id):  # later measurements must not share the machine with it
            time.sleep(0.5)
        return [
            Row.ratio(
                f"{name}, {count} at once, while a video is encoded / without",
                median(working) * 1000, median(stopped) * 1000, at_most=1.2, unit=" ms",
            )
            for (name, count), (working, stopped) in found.items()
        ]  # fmt: skip

    def _encoder(self) -> psutil.Process:
        media = psutil.Process(int((self._stack.run / "pids" / "media").read_text()))
        end = time.monotonic() + _WAIT_SECONDS
        while time.monotonic() < end:
            for process in media.children(recursive=True):
                try:
                    if "libx264" in process.cmdline():
                        return process
                except psutil.NoSuchProcess:
                    continue
            time.sleep(0.1)
        raise RuntimeError("no video is being encoded")


@contextmanager
def _stopped(encoder: psutil.Process) -> Iterator[None]:
    encoder.suspend()
    try:
        yield
    finally:
        encoder.resume()


@contextmanager
def _working(encoder: psutil.Process) -> Iterator[None]:
    """Raises RuntimeError if the encoder did not work during the block: then nothing was measured."""
    before = encoder.cpu_times().user
    yield
    if encoder.cpu_times().user <= before:
        raise RuntimeError("the encoder was not given any CPU")


def _load(url: str, connections: int, tenants: list[Tenant]) -> Load:
    return Load(
        url=url,
        connections=connections,
        seconds=_RUN_SECONDS,
        variants=tuple(Variant(headers={"Authorization": f"Bearer {it.token}"}) for it in tenants),
        warm_up_seconds=0.5,
    )


def _seconds_of_a_call(load: Load) -> float:
    measured = run(load)
    if set(measured.statuses) != {"200"}:
        raise RuntimeError(f"calls were answered with {measured.statuses}")
    return load.connections / measured.per_second


def _film(folder: Path) -> Path:
    print("· renditions: making a video", file=sys.stderr, flush=True)
    ffmpeg, part, film = imageio_ffmpeg.get_ffmpeg_exe(), folder / "part.mov", folder / "film.mov"
    subprocess.run([ffmpeg, "-v", "error", *_PART.split(), part], check=True)
    repeated = ("-stream_loop", str(_FILM_SECONDS // _PART_SECONDS - 1), "-i", part, "-c", "copy", film)
    subprocess.run([ffmpeg, "-v", "error", *repeated], check=True)
    return film
