"""Files of any size that are what they say, and sending them as a client would: large ones without holding them."""

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
#: The same bytes again and again: nobody looks at them, and making them takes no time.
_BLOCK = os.urandom(MB)
_UPLOAD_SECONDS = 120.0


@cache
def sample(simulator_url: str, address: str) -> bytes:
    """A photo or video of the sample host, as publishing would fetch it."""
    parts = urlsplit(address)
    answer = requests.get(simulator_url + parts.path, headers={"Host": parts.netloc}, timeout=30)
    answer.raise_for_status()
    return answer.content


def film(video: bytes, size_bytes: int) -> Iterator[bytes]:
    """An MP4 of just this size: a short film, and frames that no track shows."""
    yield video
    left = size_bytes - len(video) - 8
    yield struct.pack(">I4s", left + 8, b"mdat")
    while left > 0:
        yield _BLOCK[:left]
        left -= min(left, len(_BLOCK))


def upload(api: Api, data: bytes, filename: str, mime_type: str, **options: Any) -> requests.Response:
    """A small file, all at once."""
    return api.call("POST", "/media/upload", files={"file": (filename, data, mime_type)}, **options)


def uploaded(api: Api, data: bytes, filename: str = "cake.jpg", mime_type: str = "image/jpeg") -> Json:
    """The record of a file that has to be taken."""
    return body_of(upload(api, data, filename, mime_type), 201)


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
    """A large file, as it comes; without a size in chunks."""
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


def without_metadata(video: bytes) -> bytes:
    """Returns an MP4 file as media stores it: ffmpeg's `udta` box overwritten."""
    at = video.index(b"udta")
    length = int.from_bytes(video[at - 4 : at], "big") - 8
    return video[:at] + b"free" + bytes(length) + video[at + 4 + length :]
