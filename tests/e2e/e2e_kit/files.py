"""Valid files of any size, and functions that upload them. Large files are never held in memory as a whole."""

import os
import struct
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3

from e2e_kit.api import Api, Json, body_of

MB = 2**20
#: Spec "Limits".
ELITE_FILE_BYTES = 250 * MB
_BOUNDARY = "e2e-boundary-5f0c7"
#: Repeated as filler: only the number of bytes matters, and random bytes take time to make.
_BLOCK = os.urandom(MB)
_UPLOAD_SECONDS = 120.0
_FRAMES_A_SECOND, _FRAME_BYTES = 30, 32 * 1024
#: 20 Mbit a second: platforms take at most 25.
_BYTES_A_SECOND = 2_500_000
_SECONDS = 5


@cache
def sample(simulator_url: str, address: str) -> bytes:
    """Returns a photo or video of the simulator, given its URL on the sample host."""
    parts = urlsplit(address)
    answer = requests.get(simulator_url + parts.path, headers={"Host": parts.netloc}, timeout=30)
    answer.raise_for_status()
    return answer.content


def film(video: bytes, size_bytes: int) -> Iterator[bytes]:
    """Yields an MP4 of exactly this size, which plays for five seconds, or for longer if it would have more than 20
    Mbit a second. It shows the first frame of `video`; filler makes it as large as requested.

    From 5 MB on it has 30 frames a second. The service media stores some kilobytes less, because it drops the padding.
    """
    frame = _first_frame(video)
    seconds = max(_SECONDS, -(-size_bytes // _BYTES_A_SECOND))
    count = min(max(size_bytes // _FRAME_BYTES, 1), seconds * _FRAMES_A_SECOND)
    head = _box(b"ftyp", b"isom", bytes(4), b"isom") + _box(b"free", bytes(4096))
    left = size_bytes - len(head) - len(_movie(video, seconds, 0, [0] * count)) - 8
    rest = (left - len(frame)) // count
    sizes = [left - rest * (count - 1)] + [rest] * (count - 1)
    start = size_bytes - left
    yield head + _movie(video, seconds, start, sizes) + struct.pack(">I4s", left + 8, b"mdat")
    for number, size in enumerate(sizes):
        shown = b"" if number else frame
        filler = size - len(shown) - 4
        yield shown + struct.pack(">IB", filler, 0x0C)  # a unit of H.264 that decoders skip
        for at in range(1, filler, len(_BLOCK)):
            yield _BLOCK[: filler - at]


def _movie(video: bytes, seconds: int, start: int, sizes: list[int]) -> bytes:
    count, lasts = len(sizes), 1000 * seconds // len(sizes)
    header, track = (bytearray(_copied(video, kind)) for kind in (b"mvhd", b"tkhd"))
    (units,) = struct.unpack_from(">I", header, 20)  # of the movie, a second
    struct.pack_into(">I", header, 24, seconds * units)
    struct.pack_into(">I", track, 28, seconds * units)
    no_path = _box(b"dinf", _box(b"dref", bytes(4), struct.pack(">I", 1), _box(b"url ", b"\0\0\0\1")))
    tables = (
        _copied(video, b"stsd"),
        _box(b"stts", bytes(4), struct.pack(">III", 1, count, lasts)),
        _box(b"stsc", bytes(4), struct.pack(">IIII", 1, 1, count, 1)),
        _box(b"stsz", bytes(4), struct.pack(f">II{count}I", 0, count, *sizes)),
        _box(b"stco", bytes(4), struct.pack(">II", 1, start)),
    )
    media = (
        _box(b"mdhd", bytes(12), struct.pack(">II", 1000, lasts * count), bytes(4)),
        _copied(video, b"hdlr"),
        _box(b"minf", no_path, _box(b"stbl", *tables)),
    )
    return _box(b"moov", bytes(header), _box(b"trak", bytes(track), _box(b"mdia", *media)))


def _first_frame(video: bytes) -> bytes:
    (size,) = struct.unpack_from(">I", video, video.index(b"stsz") + 16)
    (start,) = struct.unpack_from(">I", video, video.index(b"stco") + 12)
    return video[start : start + size]


def _box(kind: bytes, *contents: bytes) -> bytes:
    body = b"".join(contents)
    return struct.pack(">I4s", 8 + len(body), kind) + body


def _copied(video: bytes, kind: bytes) -> bytes:
    """Returns the first box of this kind in an MP4."""
    at = video.index(kind) - 4
    return video[at : at + int.from_bytes(video[at : at + 4], "big")]


def upload(api: Api, data: bytes, filename: str, mime_type: str, **options: Any) -> requests.Response:
    """Uploads a small file in one piece. Returns the response."""
    return api.call("POST", "/media/upload", files={"file": (filename, data, mime_type)}, **options)


def uploaded(api: Api, data: bytes, filename: str = "cake.jpg", mime_type: str = "image/jpeg") -> Json:
    """Uploads a small file, asserts that it is accepted, and returns its record."""
    return body_of(upload(api, data, filename, mime_type), 201)


def put_in_parts(api: Api, data: bytes) -> tuple[str, Json]:
    """Uploads an MP4 in parts, directly into the storage. Returns the path and the body of the request that completes
    the upload.
    """
    begun = api.post(
        "/media/uploads", {"filename": "a.mp4", "mime_type": "video/mp4", "size_bytes": len(data)}
    )
    tags = []
    for part in begun["parts"]:
        begin = (part["number"] - 1) * begun["part_size_bytes"]
        answer = requests.put(part["url"], data=data[begin : begin + begun["part_size_bytes"]], timeout=30)
        assert answer.ok, answer.text
        tags.append({"number": part["number"], "etag": answer.headers["ETag"]})
    return f"/media/uploads/{begun['upload_id']}/complete", {"parts": tags}


def used_bytes(api: Api) -> int:
    used: int = api.get("/account")["quota"]["storage"]["used_bytes"]
    return used


def head_of_upload(filename: str, mime_type: str) -> bytes:
    disposition = f'Content-Disposition: form-data; name="file"; filename="{filename}"'
    return f"--{_BOUNDARY}\r\n{disposition}\r\nContent-Type: {mime_type}\r\n\r\n".encode()


def stream(
    api: Api,
    blocks: Iterator[bytes],
    size_bytes: int | None,
    filename: str = "film.mp4",
    mime_type: str = "video/mp4",
) -> urllib3.BaseHTTPResponse:
    """Uploads a large file through the API, block by block. Without `size_bytes`, uses chunked transfer encoding."""
    head, tail = head_of_upload(filename, mime_type), f"\r\n--{_BOUNDARY}--\r\n".encode()
    headers = headers_of_upload(api)
    if size_bytes is not None:
        headers["Content-Length"] = str(len(head) + size_bytes + len(tail))

    def body() -> Iterator[bytes]:
        yield head
        yield from blocks
        yield tail

    with urllib3.PoolManager() as pool:
        url = f"{api.base_url}/media/upload"
        return pool.request("POST", url, body=body(), headers=headers, retries=False, timeout=_UPLOAD_SECONDS)


def headers_of_upload(api: Api) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {api.token}", "Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"
    }  # fmt: skip
