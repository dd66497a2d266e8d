"""WebM: the tree of EBML elements. Tags and tracks other than video and audio become void elements; attachments are
refused.

Clusters and segments may be of unknown size (a browser's recording). Their blocks are skipped one by one, not decoded.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from media.decoder.formats import ParsedVideo, Patch, Refused
from media.decoder.formats.ranges import RangeReader

#: A long recording of unknown size has tens of blocks a second. Our choice.
_MAX_ELEMENTS = 500_000
_EBML, _DOCTYPE, _SEGMENT = 0x1A45DFA3, 0x4282, 0x18538067
_SEEK_HEAD, _INFO, _TRACKS, _CLUSTER, _CUES = 0x114D9B74, 0x1549A966, 0x1654AE6B, 0x1F43B675, 0x1C53BB6B
_CHAPTERS, _TAGS, _ATTACHMENTS, _VOID, _CRC = 0x1043A770, 0x1254C367, 0x1941A469, 0xEC, 0xBF
_IN_SEGMENT = frozenset((_SEEK_HEAD, _INFO, _TRACKS, _CLUSTER, _CUES, _CHAPTERS, _TAGS, _VOID, _CRC))
_TIMECODE, _SIMPLE_BLOCK, _BLOCK_GROUP, _POSITION, _PREVIOUS, _ENCRYPTED = 0xE7, 0xA3, 0xA0, 0xA7, 0xAB, 0xAF
_IN_CLUSTER = frozenset(
    (_TIMECODE, _SIMPLE_BLOCK, _BLOCK_GROUP, _POSITION, _PREVIOUS, _ENCRYPTED, _VOID, _CRC)
)
_SCALE, _DURATION = 0x2AD7B1, 0x4489
_ENTRY, _TRACK_TYPE, _VIDEO = 0xAE, 0x83, 0xE0
_PICTURE, _SOUND = 1, 2
_WIDTH, _HEIGHT, _SHOWN_WIDTH, _SHOWN_HEIGHT = 0xB0, 0xBA, 0x54B0, 0x54BA
_UNKNOWN = -1
#: Pixels: the most that MP4 and QuickTime can express, where WebM allows eight bytes. Our choice.
_MAX_SIDE = 65_535
_MAX_VALUE_BYTES = 4096


@dataclass(frozen=True)
class Element:
    kind: int
    start: int
    #: Where its contents begin and end; `end` is the parent's where the size is unknown.
    body: int
    end: int
    known: bool


@dataclass
class _Recording:
    file: RangeReader
    video: ParsedVideo
    elements: int = 0
    tracks: bool = False
    clusters: bool = False


def parse(file: RangeReader) -> ParsedVideo:
    """Raises Refused."""
    recording = _Recording(file, ParsedVideo())
    elements = _elements(recording, 0, file.size)
    header = next(elements, None)
    if header is None or header.kind != _EBML or not header.known:
        raise Refused("The file is not video/webm.")
    doctype = [
        _value(file, it) for it in _elements(recording, header.body, header.end) if it.kind == _DOCTYPE
    ]
    if doctype != [b"webm"]:
        raise Refused("The file is not video/webm.")
    segments = 0
    for element in elements:
        if element.kind == _SEGMENT and not segments:
            segments += 1
            _segment(recording, element)
        elif element.kind == _VOID and element.known:
            _void(recording, element)
        else:
            raise Refused("The file has other data after the video.")
    if not recording.tracks or not recording.clusters:
        raise Refused("The video is incomplete.")
    return recording.video


def _elements(recording: _Recording, start: int, end: int) -> Iterator[Element]:
    """Yields the elements between two offsets, which they must fill."""
    file = recording.file
    while start < end:
        recording.elements += 1
        if recording.elements > _MAX_ELEMENTS:
            raise Refused("The video is malformed.")
        head = file.read(start, min(12, end - start))
        kind, kind_bytes = _number(head, keep_marker=True)
        size, size_bytes = _number(head[kind_bytes:])
        body = start + kind_bytes + size_bytes
        stop = end if size == _UNKNOWN else body + size
        if stop > end:
            raise Refused("The video is incomplete.")
        yield Element(kind, start, body, stop, size != _UNKNOWN)
        start = stop


def _number(head: bytes, *, keep_marker: bool = False) -> tuple[int, int]:
    """Returns an EBML number and its length in bytes."""
    if not head or not head[0]:
        raise Refused("The video is malformed.")
    length = 9 - head[0].bit_length()
    if length > len(head):
        raise Refused("The video is incomplete.")
    value = int.from_bytes(head[:length], "big")
    if keep_marker:
        return value, length
    value &= (1 << 7 * length) - 1
    return (_UNKNOWN if value == (1 << 7 * length) - 1 else value), length


def _value(file: RangeReader, element: Element) -> bytes:
    return file.read(element.body, min(element.end - element.body, _MAX_VALUE_BYTES))


def _whole(file: RangeReader, element: Element) -> int:
    return int.from_bytes(_value(file, element)[:8], "big")


def _segment(recording: _Recording, segment: Element) -> None:
    start = segment.body
    while start < segment.end:
        element = next(_elements(recording, start, segment.end))
        if element.kind not in _IN_SEGMENT or (not element.known and element.kind != _CLUSTER):
            raise Refused("The file contains data that is not part of the video.")
        start = element.end
        if element.kind == _CLUSTER:
            recording.clusters = True
            if not element.known:
                start = _open_cluster_end(recording, element)
        elif element.kind == _INFO:
            _info(recording, element)
        elif element.kind == _TRACKS:
            _tracks(recording, element)
        elif element.kind == _TAGS:
            recording.video.patches.append(_as_void(element))
        elif element.kind == _VOID:
            _void(recording, element)


def _open_cluster_end(recording: _Recording, cluster: Element) -> int:
    """Returns the offset of the first element that does not belong in a cluster."""
    start = cluster.body
    while start < cluster.end:
        element = next(_elements(recording, start, cluster.end))
        if element.kind not in _IN_CLUSTER:
            break
        if not element.known:
            raise Refused("The video is malformed.")
        start = element.end
    return start


def _info(recording: _Recording, info: Element) -> None:
    scale, duration = 1_000_000, 0.0
    for element in _elements(recording, info.body, info.end):
        if element.kind == _SCALE:
            scale = _whole(recording.file, element)
        elif element.kind == _DURATION:
            raw = _value(recording.file, element)
            duration = struct.unpack(">f" if len(raw) == 4 else ">d", raw)[0] if len(raw) in (4, 8) else 0
    seconds = duration * scale / 1e9
    if 0 < seconds < 1e7:
        recording.video.duration_seconds = round(seconds, 3)


def _tracks(recording: _Recording, tracks: Element) -> None:
    for entry in _elements(recording, tracks.body, tracks.end):
        if entry.kind != _ENTRY:
            continue
        fields = {element.kind: element for element in _elements(recording, entry.body, entry.end)}
        kind = _whole(recording.file, fields[_TRACK_TYPE]) if _TRACK_TYPE in fields else 0
        if kind not in (_PICTURE, _SOUND):
            recording.video.patches.append(_as_void(entry))
        elif kind == _PICTURE and _VIDEO in fields:
            video = fields[_VIDEO]
            sizes = {it.kind: it for it in _elements(recording, video.body, video.end)}
            recording.tracks = True
            for name, kinds in (("width", (_SHOWN_WIDTH, _WIDTH)), ("height", (_SHOWN_HEIGHT, _HEIGHT))):
                found = next((_whole(recording.file, sizes[kind]) for kind in kinds if kind in sizes), 0)
                if found > _MAX_SIDE:
                    raise Refused("The video is malformed.")
                setattr(recording.video, name, found or None)


def _as_void(element: Element) -> Patch:
    """Returns a patch that makes the element void, at the same length."""
    length = element.end - element.start
    if length >= 9:
        head = b"\xec\x01" + (length - 9).to_bytes(7, "big")
    else:
        head = b"\xec" + bytes([0x80 | (length - 2)])
    return Patch(element.start, length, head)


def _void(recording: _Recording, element: Element) -> None:
    """Empties a void element."""
    if element.end > element.body:
        recording.video.patches.append(Patch(element.body, element.end - element.body))
