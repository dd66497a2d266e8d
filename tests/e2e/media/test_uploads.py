"""Tests many uploads at once and large ones: the storage quota is exact, processes need little memory, and an
interrupted upload leaves nothing behind.
"""

import json
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import urllib3
from e2e_kit.api import Api, error_code
from e2e_kit.files import (
    ELITE_FILE_BYTES,
    MB,
    film,
    head_of_upload,
    headers_of_upload,
    stream,
    upload,
    uploaded,
    used_bytes,
)
from e2e_kit.memory import growth_of
from e2e_kit.operator import Accounts, Clock
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

#: A reservation lasts 15 minutes.
RESERVED_MINUTES = 16


def objects(stack: Stack) -> set[Path]:
    """Lists the objects in the stack's storage, without the partial files that rclone keeps itself."""
    found = (stack.run / "objects").rglob("*")
    return {path for path in found if path.is_file() and not path.name.startswith(".rclone_temp")}


@contextmanager
def half_an_upload(api: Api, mp4: bytes) -> Iterator[None]:
    """Opens a connection and sends half of a file of 8 MB. After the block the connection is dropped without being
    closed.
    """
    address = urlsplit(api.base_url)
    body = head_of_upload("a.mp4", "video/mp4") + b"".join(film(mp4, 4 * MB))
    headers = headers_of_upload(api) | {"Host": address.netloc, "Content-Length": str(8 * MB)}
    lines = [
        f"POST {address.path}/media/upload HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    with socket.create_connection((str(address.hostname), address.port or 80), timeout=30) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        yield
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_50_uploads_at_once_take_no_more_than_what_is_left(accounts: Accounts, jpeg: bytes) -> None:
    """Before that, all of the storage quota except the size of 20 files is reserved."""
    api = accounts.new(pages=(), pool_size=50).api
    left = 5 * 1024 * MB - 20 * len(jpeg) - len(jpeg) // 2
    while left:
        size_bytes = min(left, ELITE_FILE_BYTES)
        left -= size_bytes
        api.post("/media/uploads", {"filename": "a.mp4", "mime_type": "video/mp4", "size_bytes": size_bytes})
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: upload(api, jpeg, "a.jpg", "image/jpeg"), range(50)))
    assert sorted(answer.status_code for answer in answers) == [201] * 20 + [413] * 30
    assert {error_code(answer) for answer in answers if answer.status_code == 413} == {"QUOTA_EXCEEDED"}
    assert len(api.get("/media")["media"]) == 20


def test_20_uploads_of_25_mb_at_once_are_all_taken_in_little_memory(
    api: Api, stack: Stack, mp4: bytes
) -> None:
    with growth_of(stack, "gateway") as growth, ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(lambda _: stream(api, film(mp4, 25 * MB), 25 * MB).status, range(20)))
    print(f"20 × 25 MB: the gateway grew by {growth.bytes / MB:.1f} MB")
    assert statuses == [201] * 20
    assert growth.bytes <= 64 * MB


@pytest.mark.parametrize("has_length", [True, False], ids=["with its length", "in chunks"])
def test_a_file_of_250_mb_passes_without_being_held(
    api: Api, stack: Stack, mp4: bytes, has_length: bool
) -> None:
    with growth_of(stack, "gateway") as growth:
        answer = stream(api, film(mp4, ELITE_FILE_BYTES), ELITE_FILE_BYTES if has_length else None)
    print(f"250 MB: the gateway grew by {growth.bytes / MB:.1f} MB")
    assert answer.status == 201, answer.data
    assert growth.bytes <= 32 * MB
    with growth_of(stack, "gateway") as growth, urllib3.PoolManager() as pool:
        media = json.loads(answer.data)
        public = pool.request("GET", media["url"], preload_content=False)
        assert sum(map(len, public.stream(MB))) == media["size_bytes"] > ELITE_FILE_BYTES - MB
    assert growth.bytes <= 32 * MB


def test_a_client_that_goes_away_leaves_nothing(api: Api, stack: Stack, mp4: bytes) -> None:
    with half_an_upload(api, mp4):
        until(lambda: used_bytes(api), 30, "it is reserved")
    until(lambda: not used_bytes(api), 30, "the reservation is given back")


@pytest.mark.alone
@pytest.mark.parametrize("name", ["gateway", "media", "s3"])
def test_a_process_killed_in_the_middle_leaves_nothing(
    api: Api, stack: Stack, clock: Clock, mp4: bytes, name: str
) -> None:
    stack.await_ready(30)
    before = objects(stack)
    with half_an_upload(api, mp4):
        until(lambda: used_bytes(api), 30, "it is reserved")
        starts = stack.kill(name)
        stack.await_restart(name, starts)
    stack.await_ready(30)
    clock.shift(minutes=RESERVED_MINUTES)
    until(lambda: not used_bytes(api), 30, "the reservation is over")
    until(lambda: objects(stack) <= before, 30, "no object is left")
    assert api.get("/media")["media"] == []
    assert uploaded(api, mp4, "a.mp4", "video/mp4")["size_bytes"] == used_bytes(api)


@pytest.mark.alone
def test_storage_away_is_a_503_and_nothing_is_kept(api: Api, stack: Stack, jpeg: bytes) -> None:
    starts = stack.kill("s3")
    answer = upload(api, jpeg, "a.jpg", "image/jpeg")
    stack.await_restart("s3", starts)
    assert (answer.status_code, error_code(answer)) in ((503, "SERVICE_UNAVAILABLE"), (201, None))
    stack.await_ready(30)
    kept = len(api.get("/media")["media"])
    assert (kept, used_bytes(api) > 0) == ((1, True) if answer.status_code == 201 else (0, False))
