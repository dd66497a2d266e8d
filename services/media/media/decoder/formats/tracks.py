"""The tracks of an MP4 or QuickTime video: what each contains, and where its samples are."""

from collections.abc import Iterator
from dataclasses import dataclass

from media.decoder.formats import Refused
from media.decoder.formats.boxes import Box, Boxes

PICTURE, SOUND = b"vide", b"soun"
#: A track to remove has about a sample per second; more than this is refused. Our choice.
_MAX_SAMPLES = 50_000


@dataclass(frozen=True)
class Track:
    box: Box
    #: The kind of its samples: PICTURE, SOUND, or others that cameras add.
    handler: bytes
    width: int = 0
    height: int = 0
    duration_seconds: float | None = None


def read_track(boxes: Boxes, box: Box) -> Track:
    """Raises Refused for a malformed track, or one whose samples are in another file."""
    media = boxes.find(box, b"mdia")
    handler = boxes.find(media, b"hdlr")
    information = boxes.find(media, b"minf")
    if handler is None or information is None:
        raise Refused("The video is malformed.")
    kind = boxes.file.read(handler.body + 8, 4)
    _check_references(boxes, boxes.find(information, b"dinf", b"dref"))
    width, height = _shown_size(boxes, box, information) if kind == PICTURE else (0, 0)
    return Track(box, kind, width, height, duration_seconds(boxes, boxes.find(media, b"mdhd")))


def duration_seconds(boxes: Boxes, header: Box | None) -> float | None:
    """Reads a movie or media header. Returns None where it does not tell."""
    if header is None:
        return None
    if boxes.read(header, 0, ">B")[0]:
        scale, duration = boxes.read(header, 20, ">IQ")
        unknown = 0xFFFFFFFFFFFFFFFF
    else:
        scale, duration = boxes.read(header, 12, ">II")
        unknown = 0xFFFFFFFF
    return duration / scale if scale and duration and duration != unknown else None


def fragments_seconds(boxes: Boxes, movie: Box) -> float | None:
    """Returns the duration of all fragments; None where the movie does not tell."""
    header, extent = boxes.find(movie, b"mvhd"), boxes.find(movie, b"mvex", b"mehd")
    if header is None or extent is None:
        return None
    (scale,) = boxes.read(header, 20 if boxes.read(header, 0, ">B")[0] else 12, ">I")
    (duration,) = boxes.read(extent, 4, ">Q" if boxes.read(extent, 0, ">B")[0] else ">I")
    return duration / scale if scale and duration else None


def sample_ranges(boxes: Boxes, track: Track) -> Iterator[tuple[int, int]]:
    """Yields (offset, length) of each chunk of samples. Raises Refused."""
    tables = boxes.find(track.box, b"mdia", b"minf", b"stbl")
    sizes, places, runs = (_find_any(boxes, tables, *kinds) for kinds in _TABLES)
    if sizes is None or places is None or runs is None:
        return
    each, count = boxes.read(sizes, 4, ">II")
    (chunks,) = boxes.read(places, 4, ">I")
    (run_count,) = boxes.read(runs, 4, ">I")
    if max(count, chunks, run_count) > _MAX_SAMPLES:
        raise Refused("The video has too many samples that are neither video nor audio.")
    lengths = [each] * count if each else list(boxes.read(sizes, 12, f">{count}I"))
    offsets = boxes.read(places, 8, f">{chunks}{'Q' if places.kind == b'co64' else 'I'}")
    table = boxes.read(runs, 8, f">{3 * run_count}I")
    firsts, per_chunk = [*table[0::3], chunks + 1], table[1::3]
    sample = 0
    for first, after, samples in zip(firsts, firsts[1:], per_chunk, strict=False):
        for chunk in range(max(first, 1), min(after, chunks + 1)):
            length = sum(lengths[sample : sample + samples])
            sample += samples
            if length:
                yield offsets[chunk - 1], length


#: Sizes of samples, offsets of chunks, samples per chunk.
_TABLES = ((b"stsz",), (b"stco", b"co64"), (b"stsc",))


def _find_any(boxes: Boxes, box: Box | None, *kinds: bytes) -> Box | None:
    return next((found for kind in kinds if (found := boxes.find(box, kind))), None)


def _check_references(boxes: Boxes, references: Box | None) -> None:
    """Checks that the samples are in this very file."""
    for entry in boxes.inside(references, skip=8) if references else ():
        if not boxes.read(entry, 3, ">B")[0] & 1:
            raise Refused("The video's data is in another file.")


def _shown_size(boxes: Boxes, box: Box, information: Box) -> tuple[int, int]:
    """Returns the displayed size in pixels: of the track's header with its rotation, else of the first sample
    description.
    """
    header, described = boxes.find(box, b"tkhd"), boxes.find(information, b"stbl", b"stsd")
    entry = next(boxes.inside(described, skip=8), None) if described else None
    if header is None or entry is None:
        raise Refused("The video is malformed.")
    version = boxes.read(header, 0, ">B")[0]
    a, b, _, c, d, *_, width, height = boxes.read(header, 52 if version else 40, ">11i")
    width, height = width >> 16, height >> 16
    if width <= 0 or height <= 0:
        width, height = boxes.read(entry, 24, ">HH")
    return (height, width) if a == d == 0 and b and c else (width, height)
