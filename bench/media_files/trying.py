"""Uploads one file by the use cases of the media service, and compares what is stored with the file."""

import mimetypes
import os
import tempfile
import time
from pathlib import Path
from typing import IO

import urllib3

from bench.media_files.measured_pool import MeasuredPool
from bench.media_files.private_notes import exiftool, find
from chassis.ids import new_id
from chassis.sandbox.pool import Limits, SandboxPool, WorkFailed
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.media import BeginUpload, CommitUpload, MediaId
from contracts.record import Record
from media import cleanup
from media.context import AppContext
from media.decoder.formats import Refused
from media.file_types import HEAD_BYTES, UNDECLARED, true_type
from media.files import library, uploads
from media.inspection import ffmpeg
from media.inspection.ffmpeg import FilmFiles

#: Comparing takes more than inspecting: all frames in full size.
_TO_COMPARE = Limits(memory_bytes=4096 * 2**20, seconds=300, cpu_seconds=240)
_HASH_PACKETS = "-map 0:V -map 0:a? -c copy -f streamhash"
_HASH_FRAMES = "-map 0:V -f streamhash"

SAME, CONVERTED, MENDED, DAMAGED = "same", "converted", "mended", "damaged"


class Tried(Record):
    """What became of a file."""

    name: str
    size_bytes: int
    #: "taken", or the message of the refusal.
    outcome: str
    #: Of all processes that read the file; the memory is the largest resident set.
    cpu_seconds: float
    memory_bytes: int
    seconds: float
    #: SAME: it shows the same. CONVERTED: to another format. MENDED: the original cannot be decoded. DAMAGED: it shows
    #: something else. None for a refused file.
    shows: str | None = None
    #: What exiftool finds of place, name, date and comment; None without exiftool, and for a refused file.
    private: tuple[str, ...] | None = None

    @property
    def is_taken(self) -> bool:
        return self.outcome == "taken"


class Trial:
    """Uploads files one after the other, for an account of the tier Elite."""

    def __init__(self, context: AppContext, pool: MeasuredPool) -> None:
        self._context, self._pool = context, pool
        context.sandbox_pool = pool
        self._comparing = SandboxPool("bench.media_files.pixels", _TO_COMPARE, at_once=1)
        self._exiftool = exiftool()

    def close(self) -> None:
        self._comparing.close()

    def attempt(self, path: Path, name: str) -> Tried:
        """Uploads the file, looks at what is stored, and deletes it."""
        caller = Caller(account_id="usr_bench", user_id="usr_bench", tier="elite", operation_id=new_id("op"))
        size_bytes, began = path.stat().st_size, time.monotonic()
        stored_id, outcome = None, "taken"
        self._pool.taken()
        try:
            stored_id, object_name, stored_type = self._upload(caller, path, size_bytes)
        except ApiError as error:
            outcome = f"{error.code}: {error.message}"
        used, seconds = self._pool.taken(), time.monotonic() - began
        tried = Tried(
            name=name,
            size_bytes=size_bytes,
            outcome=outcome,
            cpu_seconds=used.cpu_seconds,
            memory_bytes=used.memory_bytes,
            seconds=seconds,
        )
        if stored_id is None:
            return tried
        with tempfile.NamedTemporaryFile() as stored, path.open("rb") as original:
            self._context.bucket.download(object_name, stored)
            library.delete(self._context, caller, MediaId(id=stored_id))
            cleanup.remove_due(self._context)
            shows = self.compare(original, stored, stored_type)
            private = find(self._exiftool, Path(stored.name)) if self._exiftool else None
        return Tried.made_from(tried, shows=shows, private=private)

    def _upload(self, caller: Caller, path: Path, size_bytes: int) -> tuple[str, str, str]:
        """Returns the file's id, and its object's name and type. Raises ApiError if it is refused."""
        declared = mimetypes.guess_type(path.name)[0] or ""
        mime_type = declared if declared.startswith(("image/", "video/")) else UNDECLARED
        request = BeginUpload(filename=path.name, mime_type=mime_type, size_bytes=size_bytes)
        ticket = uploads.begin(self._context, caller, request)
        with path.open("rb") as body:
            headers = ticket.headers | {"Content-Length": str(size_bytes)}
            answer = urllib3.request("PUT", ticket.url, body=body, headers=headers)
        if answer.status != 200:
            raise RuntimeError(f"the storage answered {answer.status} to {path}")
        arrived = CommitUpload(upload_id=ticket.upload_id, size_bytes=size_bytes)
        media = uploads.commit(self._context, caller, arrived)
        return media.media_id, "/".join(media.url.split("/")[-2:]), media.mime_type

    def compare(self, original: IO[bytes], stored: IO[bytes], stored_type: str) -> str:
        """Returns SAME, CONVERTED, MENDED or DAMAGED. Of videos it compares the packets, or if these differ the decoded
        frames, as the notes of camcorders are blanked inside of packets.
        """
        head = original.read(HEAD_BYTES)
        if true_type(UNDECLARED, head) in ("image/heic", "image/avif"):
            return CONVERTED
        if stored_type.startswith("video/"):
            try:
                return self._compare_films(original, stored, stored_type)
            except (ApiError, Refused):  # one of them cannot be read, or takes too long
                return DAMAGED
        before, after = (self._pixels(file, stored_type) for file in (original, stored))
        if after is None:
            return DAMAGED
        return MENDED if before is None else SAME if before == after else DAMAGED

    def _pixels(self, file: IO[bytes], mime_type: str) -> str | None:
        try:
            found: str = self._comparing.run("pixels", {"mime_type": mime_type}, [file.fileno()])
        except WorkFailed:
            return None
        return found

    def _compare_films(self, original: IO[bytes], stored: IO[bytes], mime_type: str) -> str:
        before, after = (self._hashes(file, mime_type, _HASH_PACKETS) for file in (original, stored))
        if before == after:
            return SAME
        sounds = [
            ffmpeg.describe(self._context, mime_type, it.fileno()).audio_codec for it in (original, stored)
        ]
        if _pictures(before) == _pictures(after) and sounds[0] != sounds[1]:
            return CONVERTED
        before, after = (self._hashes(file, mime_type, _HASH_FRAMES) for file in (original, stored))
        return SAME if before == after else DAMAGED

    def _hashes(self, file: IO[bytes], mime_type: str, made: str) -> list[str]:
        with tempfile.TemporaryFile() as target, open(f"/proc/self/fd/{target.fileno()}", "rb") as read_back:
            files = FilmFiles(file.fileno(), target.fileno(), read_back.fileno())
            limits = Limits(
                memory_bytes=_TO_COMPARE.memory_bytes, seconds=300, cpu_seconds=240, file_bytes=2**20
            )
            ffmpeg.run(self._context, mime_type, files, limits, made, options="-v error")
            target.seek(0, os.SEEK_SET)
            return target.read().decode().splitlines()


def _pictures(hashes: list[str]) -> list[str]:
    return [line for line in hashes if ",v," in line]
