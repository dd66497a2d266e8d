"""Runs the connectors against one simulator process. Each test has a new account."""

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
import requests

from chassis.http.outbound import Limits
from publishing.platforms.base import MediaSource
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.tiktok.settings import TikTokSettings
from publishing.platforms.x.settings import XSettings
from publishing.platforms.youtube.settings import YouTubeSettings

from .simulated import Killer, Page, Simulator

START_SECONDS = 20.0
MIB = 2**20


@pytest.fixture(scope="session")
def simulator() -> Iterator[Simulator]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "simulator", "--port", str(port)],
        env={
            **os.environ,
            "OUTBOUND_HOST_MAP": f"media.posthaste.test=127.0.0.1:{port}",
            "SIMULATOR_PROCESSING_SECONDS": "0.2",
            "SIMULATOR_TIKTOK_AUDITED": "true",
            "SIMULATOR_TIKTOK_INITS": "1000",
            "SIMULATOR_TIKTOK_POSTS": "1000",
        },
    )
    try:
        running = Simulator(f"http://127.0.0.1:{port}")
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                running.call("GET", "faults")
                break
            except requests.ConnectionError:
                assert process.poll() is None, "the simulator ended"
                assert time.monotonic() < until, "the simulator does not start"
                time.sleep(0.05)
        yield running
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture
def quick_link(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connectors that the test makes allow hardly any time for the body of a call, so that they soon give up a platform
    that hangs.
    """
    monkeypatch.setattr("publishing.platforms.http_client.Limits", partial(Limits, bytes_per_second=50e6))


@pytest.fixture(scope="session")
def settings(simulator: Simulator) -> dict[str, Any]:
    """The settings of each platform, by its code."""
    at, quick = simulator.at, {"poll_seconds": 0.05, "poll_limit_seconds": 10.0}
    meta = MetaSettings(
        facebook_url=at("graph.facebook.com"),
        facebook_upload_url=at("graph-video.facebook.com"),
        instagram_url=at("graph.facebook.com"),
        read_timeout_seconds=2.0,
        **quick,
    )
    return {
        "FB": meta,
        "IG": meta,
        "LN": LinkedInSettings(
            api_url=at("api.linkedin.com"), read_timeout_seconds=2.0, revoked_wait_seconds=0.3, **quick,
        ),
        "TW": XSettings(api_url=at("api.x.com"), read_timeout_seconds=2.0, **quick),
        "TT": TikTokSettings(
            api_url=at("open.tiktokapis.com"), is_audited=True, read_timeout_seconds=2.0, chunk_bytes=5 * MIB,
            resume_seconds=0.01, last_chunk_seconds=0.0, **quick,
        ),
        "YT": YouTubeSettings(
            api_url=at("www.googleapis.com"), upload_url=at("www.googleapis.com"), read_timeout_seconds=2.0,
            chunk_bytes=MIB // 4, resume_seconds=0.01, **quick,
        ),
    }  # fmt: skip


@pytest.fixture
def page_on(simulator: Simulator, settings: dict[str, Any]) -> Callable[[str], Page]:
    """`page_on(platform)` makes a page of that platform."""
    return lambda platform: Page(simulator, platform, settings[platform])


@pytest.fixture(scope="session")
def file(simulator: Simulator) -> Callable[[str], MediaSource]:
    """`file(name)` returns a sample file with its bytes."""

    def make(name: str) -> MediaSource:
        body, kind = simulator.media(name)
        type_ = "video" if kind.startswith("video/") else "photo"
        return MediaSource(type_, f"https://a.example/{name}", body=body, content_type=kind)

    return make


@pytest.fixture(scope="session")
def clip(file: Callable[[str], MediaSource]) -> bytes:
    """A small video."""
    return file("video-5s.mp4").body or b""


@pytest.fixture(scope="session")
def film(clip: bytes) -> Callable[..., MediaSource]:
    """Makes an MP4 file of exactly this size, generated while it is read. It says that it plays for so long that it has
    at most 20 Mbit a second.
    """

    def lasting(first: bytes, seconds: int) -> bytes:
        header = first.find(b"mvhd")
        if header < 0:
            return first
        data = bytearray(first)
        units, length = struct.unpack_from(">II", data, header + 16)
        struct.pack_into(">I", data, header + 20, max(length, seconds * units))
        return bytes(data)

    def blocks(first: bytes, size_bytes: int) -> Iterator[bytes]:
        yield lasting(first, size_bytes // 2_500_000)
        left = size_bytes - len(first) - 8
        yield struct.pack(">I4s", left + 8, b"free")
        while left > 0:
            yield bytes(min(left, 256 * 1024))
            left -= min(left, 256 * 1024)

    def make(size_bytes: int, first: bytes = clip, **known: Any) -> MediaSource:
        return MediaSource(
            "video",
            f"https://files.example/{size_bytes}.mp4",
            content_type="video/mp4",
            size_bytes=size_bytes,
            opener=lambda: nullcontext(blocks(first, size_bytes)),
            **known,
        )

    return make


@pytest.fixture
def killer(monkeypatch: pytest.MonkeyPatch) -> Killer:
    return Killer(monkeypatch)
