"""The connectors against the simulator: a process of its own for these tests, an account of its own for each."""

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
import requests
import urllib3

from chassis.http.outbound import Limits
from publishing.platforms.base import (
    Account,
    Checkpoint,
    Connector,
    Content,
    MediaSource,
    NotPublished,
    Outcome,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
)
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.registry import Registry, default_settings
from publishing.platforms.x.settings import XSettings

START_SECONDS = 20.0


class Simulator:
    """The simulator's control API."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._session = requests.Session()

    def call(self, method: str, path: str, **body: Any) -> Any:
        response = self._session.request(method, f"{self.url}/_sim/{path}", json=body or None, timeout=10)
        response.raise_for_status()
        return response.json()

    def account(self, platform: str) -> Account:
        made = self.call("POST", "accounts", platform=platform)
        return Account(made["account_id"], made["access_token"], made["username"])

    def fault(self, account: Account, operation: str, mode: str, times: int = 1) -> None:
        platform = next(
            row["platform"] for row in self.accounts() if row["account_id"] == account.remote_account_id
        )
        self.call(
            "POST", "faults", platform=platform, operation=operation, mode=mode, times=times,
            account_id=account.remote_account_id,
        )  # fmt: skip

    def accounts(self) -> list[dict[str, Any]]:
        return self.call("GET", "accounts")["accounts"]  # type: ignore[no-any-return]

    def posts(self, account: Account) -> list[dict[str, Any]]:
        return self.call("GET", f"posts?account_id={account.remote_account_id}")["posts"]  # type: ignore[no-any-return]


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
        process.wait(10)


@pytest.fixture
def quick_link(monkeypatch: pytest.MonkeyPatch) -> None:
    """What each byte of a body adds to a call's ceiling is next to nothing for connectors that the test makes: a
    platform that hangs is left soon."""
    monkeypatch.setattr("publishing.platforms.wire.Limits", partial(Limits, bytes_per_second=50e6))


@pytest.fixture(scope="session")
def settings(simulator: Simulator) -> MetaSettings:
    return MetaSettings(
        facebook_url=simulator.url,
        instagram_url=simulator.url,
        read_timeout_seconds=2.0,
        poll_seconds=0.05,
        poll_limit_seconds=10.0,
    )


@pytest.fixture(scope="session")
def x_settings(simulator: Simulator) -> XSettings:
    return XSettings(
        api_url=simulator.url, read_timeout_seconds=2.0, poll_seconds=0.05, poll_limit_seconds=10.0
    )


@pytest.fixture(scope="session")
def linkedin_settings(simulator: Simulator) -> LinkedInSettings:
    return LinkedInSettings(
        api_url=simulator.url,
        read_timeout_seconds=2.0,
        poll_seconds=0.05,
        poll_limit_seconds=10.0,
        revoked_wait_seconds=0.3,
    )


@pytest.fixture(scope="session")
def registry(settings: MetaSettings, linkedin_settings: LinkedInSettings, x_settings: XSettings) -> Registry:
    return Registry(default_settings(FB=settings, IG=settings, LN=linkedin_settings, TW=x_settings))


class Attempts:
    """Publishes and look-ups of one account, with the checkpoint stored in between as the service does it."""

    def __init__(self, connector: Connector, account: Account) -> None:
        self.connector = connector
        self.account = account
        self.began_at = datetime.now(UTC)
        self.stored: dict[str, Any] = {}

    def publish(self, content: Content) -> Any:
        return self.connector.publish(self.account, content, Checkpoint(self.stored, self._store))

    def look_up(self, content: Content, *known: str) -> Outcome:
        return self.connector.outcome(
            self.account, content, Checkpoint(self.stored), began_at=self.began_at, known_remote_ids=known
        )

    def _store(self, values: dict[str, Any]) -> None:
        self.stored = values


@pytest.fixture
def attempts(registry: Registry, simulator: Simulator) -> Callable[[str], Attempts]:
    return lambda platform: Attempts(registry.connector(platform), simulator.account(platform))


@pytest.fixture(scope="session")
def clip(simulator: Simulator) -> bytes:
    """A small film."""
    return bytes(requests.get(f"{simulator.url}/media/video-5s.mp4", timeout=10).content)


@pytest.fixture(scope="session")
def film(clip: bytes) -> Callable[..., MediaSource]:
    """An MP4 of just the size asked for, made while it is read."""

    def blocks(size_bytes: int) -> Iterator[bytes]:
        yield clip
        left = size_bytes - len(clip) - 8
        yield struct.pack(">I4s", left + 8, b"mdat")
        while left > 0:
            yield bytes(min(left, 256 * 1024))
            left -= min(left, 256 * 1024)

    def make(size_bytes: int, **known: Any) -> MediaSource:
        url = f"https://files.example/{size_bytes}.mp4"
        return MediaSource(
            "video",
            url,
            content_type="video/mp4",
            size_bytes=size_bytes,
            opener=lambda: nullcontext(blocks(size_bytes)),
            **known,
        )

    return make


class Killed(BaseException):
    """The process is gone: nobody catches this."""


class Killer:
    """Ends a publish before or after any of its calls, and goes on as the service does after a restart."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._left = -1
        self._when = ""
        real = urllib3.PoolManager.urlopen

        def urlopen(pool: urllib3.PoolManager, *given: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left == 0 and self._when == "before":
                raise Killed
            answer = real(pool, *given, **named)
            if self._left == 0:
                raise Killed
            return answer

        monkeypatch.setattr(urllib3.PoolManager, "urlopen", urlopen)

    def publish(self, attempts: Attempts, content: Content, number: int, when: str) -> tuple[Published, bool]:
        """A publish killed at its call of this number, and what it came to; whether it was killed at all."""
        published = self.kill(attempts, content, number, when)
        return (self.settle(attempts, content), True) if published is None else (published, False)

    def kill(self, attempts: Attempts, content: Content, number: int, when: str) -> Published | None:
        """The same without going on: None when it did not come to its end."""
        self._left, self._when = number, when
        try:
            return attempts.publish(content)  # type: ignore[no-any-return]
        except (Killed, OutcomeUnknown):
            return None
        finally:
            self._left = -1

    def settle(self, attempts: Attempts, content: Content, seconds: float = 15.0) -> Published:
        """Looks up what is unknown and sends what is not there, until it is out."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            outcome = attempts.look_up(content)
            if isinstance(outcome, Published):
                return outcome
            if isinstance(outcome, NotPublished):
                try:
                    return attempts.publish(content)  # type: ignore[no-any-return]
                except (OutcomeUnknown, PlatformRefusal):
                    pass
            time.sleep(0.05)
        raise AssertionError("it never settled")


@pytest.fixture
def killer(monkeypatch: pytest.MonkeyPatch) -> Killer:
    return Killer(monkeypatch)
