"""Reads format, size and duration of a media file. Each platform's module decides which files the platform accepts."""

import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from PIL import Image

_BOX_HEADER_BYTES = 8
#: Sample entries by kind (ISO/IEC 14496-15): avc3 and hev1 have the parameter sets in the stream.
_CODECS = {b"avc1": "h264", b"avc3": "h264", b"hvc1": "hevc", b"hev1": "hevc"}


class NotMedia(Exception):
    """Raised when a file is not a readable picture or film."""


@dataclass(frozen=True, slots=True)
class Photo:
    """The properties of a picture. Width and height are in pixels; `format` is Pillow's name of it (JPEG, PNG …)."""

    format: str
    width: int
    height: int
    bytes: int

    @property
    def aspect(self) -> float:
        """The width divided by the height."""
        return self.width / self.height


@dataclass(frozen=True, slots=True)
class Video:
    """The properties of a film in an MP4 or MOV container."""

    seconds: float
    #: Whether the index comes before the data, as for streaming.
    moov_first: bool
    bytes: int
    #: h264 or hevc, or the sample entry's kind if it is another; empty if the film has no picture track.
    codec: str = ""
    #: Pixels as displayed.
    width: int = 0
    height: int = 0


def photo(data: bytes) -> Photo:
    """Reads the properties of a picture from its header. Raises NotMedia if the bytes are not a picture."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(data)) as picture:
                return Photo(picture.format or "", picture.width, picture.height, len(data))
    except (OSError, ValueError, SyntaxError, Warning, Image.DecompressionBombError) as problem:
        raise NotMedia(str(problem)) from problem


def video(data: bytes) -> Video:
    """Reads the properties of an MP4 or MOV film from its headers. Raises NotMedia if the bytes are not such a film."""
    try:
        boxes = list(_boxes(data, 0, len(data)))
        kinds = [kind for kind, _, _ in boxes]
        if kinds[:1] != [b"ftyp"] or b"mdat" not in kinds:
            raise NotMedia("no ISO media file")
        movie = next((start, end) for kind, start, end in boxes if kind == b"moov")
        header = next(start for kind, start, _ in _boxes(data, *movie) if kind == b"mvhd")
        moov_first = kinds.index(b"moov") < kinds.index(b"mdat")
        return Video(_duration_seconds(data, header), moov_first, len(data), *_picture_track(data, movie))
    except (StopIteration, KeyError, struct.error, ZeroDivisionError) as problem:
        raise NotMedia("broken ISO media file") from problem


def _picture_track(data: bytes, movie: tuple[int, int]) -> tuple[str, int, int]:
    """Returns codec, width and height of the first picture track; an empty text and zeros if there is none."""
    for kind, start, end in _boxes(data, *movie):
        if kind != b"trak":
            continue
        track = _inside(data, start, end)
        media = _inside(data, *track[b"mdia"])
        handler, _ = media[b"hdlr"]
        if data[handler + 8 : handler + 12] != b"vide":
            continue
        described, _ = _inside(data, *_inside(data, *media[b"minf"])[b"stbl"])[b"stsd"]
        entry = data[described + 12 : described + 16]
        header, _ = track[b"tkhd"]
        # A matrix and the size, in 16.16 fixed point, end the header. Version 1 has 64-bit times.
        matrix = header + (52 if data[header] else 40)
        turned = struct.unpack_from(">i", data, matrix + 4)[0] != 0
        width, height = (side >> 16 for side in struct.unpack_from(">II", data, matrix + 36))
        return _CODECS.get(entry, entry.decode("latin-1")), *((height, width) if turned else (width, height))
    return "", 0, 0


def _inside(data: bytes, start: int, end: int) -> dict[bytes, tuple[int, int]]:
    """Returns the offsets of each box between two offsets by its kind. Of several of a kind, returns the last."""
    return {kind: (first, last) for kind, first, last in _boxes(data, start, end)}


def _boxes(data: bytes, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yields each MP4 box between two offsets: its kind, and the offsets where its content begins and ends. Raises
    NotMedia if a box is longer than the space that is left.
    """
    while start + _BOX_HEADER_BYTES <= end:
        size, kind = struct.unpack_from(">I4s", data, start)
        header = _BOX_HEADER_BYTES
        if size == 1:
            (size,) = struct.unpack_from(">Q", data, start + header)
            header += 8
        stop = start + size if size else end
        if stop < start + header or stop > end:
            raise NotMedia("a box that does not fit")
        yield kind, start + header, stop
        start = stop


def _duration_seconds(data: bytes, start: int) -> float:
    # Version 1 has 64-bit times.
    layout = ">20xIQ" if data[start] else ">12xII"
    timescale, length = struct.unpack_from(layout, data, start)
    return float(length) / float(timescale)
