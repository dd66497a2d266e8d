"""The service as a process, and the simulator in place of the platforms."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import requests
from cryptography.fernet import Fernet
from msgspec.structs import replace

from chassis.ids import new_id
from contracts import publishing as api
from contracts.caller import Caller, operator
from contracts.errors import ApiError

ACCOUNT = "usr_a"


class Simulator:
    """The simulator's control API."""

    def __init__(self, url: str) -> None:
        self.url = url

    def post(self, path: str, **body: Any) -> Any:
        answer = requests.post(f"{self.url}/_sim/{path}", json=body, timeout=10)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def get(self, path: str) -> Any:
        return requests.get(f"{self.url}/_sim/{path}", timeout=10).json()

    def posts(self, account_id: str) -> list[dict[str, Any]]:
        answer = requests.get(f"{self.url}/_sim/posts", params={"account_id": account_id}, timeout=10)
        return list(answer.json()["posts"])

    def fault(self, operation: str, mode: str, times: int = 1, platform: str = "FB", **options: Any) -> None:
        self.post("faults", platform=platform, operation=operation, mode=mode, times=times, **options)


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        **os.environ,
        "OUTBOUND_HOST_MAP": f"media.posthaste.test=127.0.0.1:{port}",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    process = subprocess.Popen([sys.executable, "-m", "simulator", "--port", str(port)], env=env)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            try:
                requests.get(f"{url}/_sim/health", timeout=1)
                break
            except requests.RequestException:
                time.sleep(0.05)
        yield Simulator(url)
    finally:
        process.terminate()
        process.wait(30)


class Publishing:
    """The running service, with functions for frequent calls."""

    def __init__(self, service: Any, simulator: Simulator) -> None:
        self.service = service
        self.simulator = simulator

    def caller(self, operation_id: str | None = None) -> Caller:
        return Caller(account_id=ACCOUNT, user_id=ACCOUNT, operation_id=operation_id or new_id("op"))

    def page(self, platform: str = "FB", brand: str = "brd_a") -> api.Page:
        account = self.simulator.post("accounts", platform=platform)
        request = api.LinkPage(
            owner_account_id=ACCOUNT,
            brand_id=brand,
            brand_name="Brand",
            platform=platform,
            remote_account_id=account["account_id"],
            access_token=account["access_token"],
            name=account["name"],
        )
        return self.service.link_page(operator(), request)

    def publish(
        self, page: api.Page, operation_id: str | None = None, try_number: int = 1, **fields: Any
    ) -> api.PublishResult:
        fields.setdefault("message", "hello")
        request = api.PublishPost(page_id=page.id, **fields)
        caller = replace(self.caller(operation_id), try_number=try_number)
        return self.service.publish_post(caller, request, timeout_seconds=60.0)

    def show(self, post_id: str) -> api.ScheduledPost:
        return self.service.get_scheduled_post(self.caller(), api.PostId(id=post_id))

    def until(self, post_id: str, status: str, seconds: float = 30.0) -> api.ScheduledPost:
        """Waits until the post has this status, and returns the post."""
        end = time.monotonic() + seconds
        while (post := self.show(post_id)).status != status:
            assert time.monotonic() < end, post
            time.sleep(0.1)
        return post

    def until_published(self, post_id: str, seconds: float = 30.0) -> api.ScheduledPost:
        """Waits until the post is published. Makes its next attempt due at once, which otherwise usually waits a
        minute.
        """
        end = time.monotonic() + seconds
        while (post := self.show(post_id)).status != "published":
            assert time.monotonic() < end, post
            if post.next_attempt_at is not None:
                with suppress(ApiError):  # it has just been claimed
                    self.service.bring_post_due(operator(), api.PostId(id=post_id))
            time.sleep(0.1)
        return post


@pytest.fixture
def settings() -> dict[str, str]:
    """Further environment variables of the service. Tests override this fixture."""
    return {}


@pytest.fixture
def publishing(
    running_service: Callable[..., Any], simulator: Simulator, settings: dict[str, str]
) -> Iterator[Publishing]:
    host = simulator.url.removeprefix("http://")
    service = running_service(
        "publishing",
        env={
            "CREDENTIAL_KEYS": Fernet.generate_key().decode(),
            "FACEBOOK_API_URL": f"{simulator.url}/graph.facebook.com",
            "INSTAGRAM_API_URL": f"{simulator.url}/graph.facebook.com",
            "OUTBOUND_HOST_MAP": f"media.posthaste.test={host}",
            "RECONCILE_FIRST_SECONDS": "1",
            "RECONCILE_SETTLE_SECONDS": "8",
            "LEASE_SECONDS": "6",
            "COMMENT_POLLS": "86400=2",
            "COMMENT_POLLS_PUSHED": "86400=2",
            "META_APP_SECRET": "app-secret",
            "META_VERIFY_TOKEN": "verify-me",
            **settings,
        },
    )
    yield Publishing(service, simulator)
    simulator.post("reset")


@pytest.fixture
def media_service(running_service: Callable[..., Any], bucket: dict[str, str]) -> Any:
    """The media service beside the publishing service."""
    return running_service("media", env=bucket)
