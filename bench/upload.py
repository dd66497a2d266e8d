"""Measures uploads: a file of 250 MB through the gateway, compared with the same bytes put directly into the storage;
then twenty files of 25 MB at once.

The same client sends the same blocks both ways, in turn. The time through the gateway includes the work of the service
media on the file.
"""

import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median
from urllib.parse import urlsplit

import psutil
import requests
import urllib3
from minio import Minio

from bench.stack import Stack
from bench.table import Row

MB = 2**20
_ROUNDS = 5
_BLOCK = os.urandom(MB)
_BOUNDARY = "bench-boundary-77ac"
_HEAD = (
    f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="film.mp4"\r\n'
    "Content-Type: video/mp4\r\n\r\n"
).encode()
_TAIL = f"\r\n--{_BOUNDARY}--\r\n".encode()
_SECONDS = 120.0


def measure(stack: Stack) -> list[Row]:
    sender = _Sender(stack)
    sender.through_gateway(25 * MB)  # a warm-up run
    direct, through, growths = [], [], []
    for _ in range(_ROUNDS):
        direct.append(_timed(lambda: sender.into_storage(250 * MB)))
        with sender.watched() as growth:
            through.append(_timed(lambda: sender.through_gateway(250 * MB)))
        growths.append(growth[0])
        sender.clear()
    with sender.watched() as growth, ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(sender.through_gateway, [25 * MB] * 20))
    sender.clear()
    speed = Row.ratio(
        "250 MB through the gateway / straight into storage", 250 / median(through), 250 / median(direct),
        at_least=0.5, unit=" MB/s",
    )  # fmt: skip
    return [
        speed,
        Row.limit("… the gateway grows by", max(growths) / MB, 32, "MB"),
        Row.count("20 × 25 MB at once: taken", statuses.count(201), 20),
        Row.limit("… the gateway grows by", growth[0] / MB, 64, "MB"),
    ]


class _Sender:
    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._token = stack.make_tenants(1, pages=0)[0].token
        self._http = urllib3.PoolManager(maxsize=20, timeout=_SECONDS, retries=False)
        env = stack.env
        self._storage = Minio(
            urlsplit(env["S3_URL"]).netloc, env["S3_ACCESS_KEY"], env["S3_SECRET_KEY"], secure=False, region="us-east-1"
        )  # fmt: skip
        self._bucket = next(iter(self._storage.list_buckets())).name
        address = urlsplit(env["SAMPLE_VIDEO_URL"])
        sample = requests.get(
            stack.simulator_url + address.path, headers={"Host": address.netloc}, timeout=30
        )
        self._film = sample.content

    def into_storage(self, size_bytes: int) -> int:
        url = self._storage.presigned_put_object(self._bucket, "bench")
        headers = {"Content-Length": str(size_bytes)}
        return self._http.request("PUT", url, body=self._blocks(size_bytes), headers=headers).status

    def through_gateway(self, size_bytes: int) -> int:
        def body() -> Iterator[bytes]:
            yield _HEAD
            yield from self._blocks(size_bytes)
            yield _TAIL

        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": f"multipart/form-data; boundary={_BOUNDARY}",
            "Content-Length": str(len(_HEAD) + size_bytes + len(_TAIL)),
        }
        return self._http.request(
            "POST", f"{self._stack.base_url}/media/upload", body=body(), headers=headers
        ).status

    def clear(self) -> None:
        """Deletes the uploaded files."""
        self._storage.remove_object(self._bucket, "bench")
        url, headers = f"{self._stack.base_url}/media", {"Authorization": f"Bearer {self._token}"}
        for media in requests.get(url, headers=headers, timeout=30).json()["media"]:
            requests.delete(f"{url}/{media['media_id']}", headers=headers, timeout=30).raise_for_status()

    @contextmanager
    def watched(self) -> Iterator[list[int]]:
        """Yields a list whose only value is the largest growth so far of the gateway's processes during the block, in
        bytes.
        """
        pid = int((self._stack.run / "pids" / "gateway").read_text())
        processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]

        def resident() -> int:
            return sum(process.memory_info().rss for process in processes)

        begin, growth, end = resident(), [0], threading.Event()

        def watch() -> None:
            while not end.wait(0.02):
                growth[0] = max(growth[0], resident() - begin)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            yield growth
        finally:
            end.set()
            watcher.join()

    def _blocks(self, size_bytes: int) -> Iterator[bytes]:
        """Yields the blocks of a video file of this size: a short video, then filler that players ignore."""
        yield self._film
        left = size_bytes - len(self._film) - 8
        yield struct.pack(">I4s", left + 8, b"mdat")
        while left > 0:
            yield _BLOCK[:left]
            left -= min(left, MB)


def _timed(send: Callable[[], int]) -> float:
    began = time.monotonic()
    status = send()
    seconds = time.monotonic() - began
    if status not in (200, 201):
        raise RuntimeError(f"a file was answered with {status}")
    return seconds
