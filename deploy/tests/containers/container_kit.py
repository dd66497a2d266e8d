"""Code that tests of containers share: a client of the demo account, and everything that the account owns, to compare
it.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests

from local.containers.compose import Composed
from local.environment import read_env
from posthaste import Posthaste

BEGUN_AT = time.monotonic()
CALL_SECONDS = 30.0
#: Samples of the simulator's, at the addresses by which the stack itself knows them.
PHOTO, VIDEO = "/media/photo-1080x1080.jpg", "/media/video-5s.mp4"


class Progress:
    """Prints lines with the time while the tests run. Set `config` before the first test."""

    config: pytest.Config | None = None

    def __call__(self, line: str) -> None:
        if self.config is None:
            return
        plugin: Any = self.config.pluginmanager.get_plugin
        with plugin("capturemanager").global_and_fixture_disabled():
            plugin("terminalreporter").write_line(f"{time.monotonic() - BEGUN_AT:4.0f} s  {line}")


tell = Progress()


@contextmanager
def account(stack: Composed) -> Iterator[Posthaste]:
    """Yields a Python client of the demo account, which repeats a request without an answer with the same idempotency
    key.
    """
    env = read_env(stack.run)
    url = env["BASE_URL"].removesuffix("/api/v1")
    with Posthaste(env["LIVE_TOKEN"], base_url=url, timeout_seconds=CALL_SECONDS) as client:
        yield client


def schedule(client: Posthaste, stack: Composed, name: str, number: int) -> str:
    """Schedules a post, three hours after the one with the number before, from tomorrow on. Returns its id."""
    at = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=24 + 3 * number)
    page = read_env(stack.run)["SECOND_PAGE_ID"]
    made = client.schedule_post(page_id=page, message=f"{name} {number}", scheduled_at=at)
    return made.scheduled_post.id


def sample(stack: Composed, path: str = PHOTO) -> bytes:
    """Returns the bytes of a file to upload: PHOTO or VIDEO."""
    answer = requests.get(
        read_env(stack.run)["SIMULATOR_URL"] + path,
        headers={"Host": "media.posthaste.test"},
        timeout=CALL_SECONDS,
    )
    answer.raise_for_status()
    return answer.content


def belongings(client: Posthaste) -> dict[str, Any]:
    """Returns the account's pages, posts and files, each file with its bytes."""
    media = list(client.iterate_media())
    return {
        "pages": list(client.iterate_pages()),
        "scheduled": list(client.iterate_scheduled_posts()),
        "published": list(client.iterate_published_posts()),
        "media": media,
        "files": {row.media_id: download(row.url) for row in media},
    }


def download(url: str) -> bytes:
    answer = requests.get(url, timeout=CALL_SECONDS)
    answer.raise_for_status()
    return answer.content


def has_a_way_out(stack: Composed, container: str) -> bool:
    """Tells whether a process in the container can reach this machine's name server."""
    reach = "import socket; socket.create_connection(('10.0.2.3', 53), 5)"
    return stack.engine.docker("exec", container, "python", "-IS", "-c", reach, check=False).returncode == 0
