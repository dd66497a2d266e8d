"""Sample videos: a silent H.264 film in an MP4 or MOV file, a few hundred kilobytes at any length."""

import struct
from functools import lru_cache

from simulator.samples import h264

#: Within the 23 to 60 a second that platforms ask for (platforms.md 3).
FRAMES_PER_SECOND = 30
_TIMESCALE = 30_000
_TICKS = _TIMESCALE // FRAMES_PER_SECOND
_MATRIX = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)


def _box(kind: bytes, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I4s", len(body) + 8, kind) + body


def _full(kind: bytes, *parts: bytes, flags: int = 0) -> bytes:
    return _box(kind, struct.pack(">I", flags), *parts)


@lru_cache(maxsize=8)
def make(
    seconds: int, width: int = 640, height: int = 360, brand: bytes = b"isom", moov_last: bool = False
) -> bytes:
    """A film of whole seconds. `brand` is b"isom" or b"qt  "; `moov_last` puts the index behind the data."""
    frames = [h264.raw_frame(width, height)]
    frames += [h264.unchanged_frame(width, height, n) for n in range(1, seconds * FRAMES_PER_SECOND)]
    samples = [struct.pack(">I", len(frame)) + frame for frame in frames]
    kind = _box(b"ftyp", brand, struct.pack(">I", 512), brand, b"mp42" if brand == b"isom" else b"")
    data = _box(b"mdat", *samples)
    if moov_last:
        return kind + data + _moov(samples, width, height, len(kind) + 8)
    index_bytes = len(_moov(samples, width, height, 0))
    return kind + _moov(samples, width, height, len(kind) + index_bytes + 8) + data


def _moov(samples: list[bytes], width: int, height: int, offset: int) -> bytes:
    length = len(samples) * _TICKS
    movie = (
        struct.pack(">5IH10x", 0, 0, _TIMESCALE, length, 0x10000, 0x100) + _MATRIX + struct.pack(">24xI", 2)
    )
    track = (
        struct.pack(">5I16x", 0, 0, 1, 0, length) + _MATRIX + struct.pack(">2I", width << 16, height << 16)
    )
    media = _box(
        b"mdia",
        _full(b"mdhd", struct.pack(">4I2H", 0, 0, _TIMESCALE, length, 0x55C4, 0)),
        _full(b"hdlr", struct.pack(">I4s12x", 0, b"vide"), b"sample\0"),
        _box(
            b"minf",
            _full(b"vmhd", bytes(8), flags=1),
            _box(b"dinf", _full(b"dref", struct.pack(">I", 1), _full(b"url ", flags=1))),
            _table(samples, width, height, offset),
        ),
    )
    return _box(b"moov", _full(b"mvhd", movie), _box(b"trak", _full(b"tkhd", track, flags=3), media))


def _table(samples: list[bytes], width: int, height: int, offset: int) -> bytes:
    sequence, picture = h264.parameter_sets(width, height)
    settings = b"\x01" + sequence[1:4] + b"\xff"
    settings += b"\xe1" + struct.pack(">H", len(sequence)) + sequence
    settings += b"\x01" + struct.pack(">H", len(picture)) + picture
    entry = struct.pack(">6xH16x2H2I4xH32xHh", 1, width, height, 0x480000, 0x480000, 1, 24, -1)
    sizes = struct.pack(f">{len(samples)}I", *map(len, samples))
    return _box(
        b"stbl",
        _full(b"stsd", struct.pack(">I", 1), _box(b"avc1", entry, _box(b"avcC", settings))),
        _full(b"stts", struct.pack(">3I", 1, len(samples), _TICKS)),
        _full(b"stss", struct.pack(">2I", 1, 1)),
        _full(b"stsc", struct.pack(">4I", 1, 1, len(samples), 1)),
        _full(b"stsz", struct.pack(">2I", 0, len(samples)), sizes),
        _full(b"stco", struct.pack(">2I", 1, offset)),
    )
