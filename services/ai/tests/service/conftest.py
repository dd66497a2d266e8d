"""The service as a process, with the real media service and a bucket; the simulator plays the providers."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
import requests

from chassis.ids import new_id
from contracts import ai as api
from contracts.caller import Caller, operator
from contracts.record import Nothing

START_SECONDS = 20.0


class Simulator:
    """Its control API."""

    def __init__(self, url: str) -> None:
        self.url = url

    def call(self, method: str, path: str, **body: Any) -> Any:
        answer = requests.request(method, f"{self.url}/_sim/{path}", json=body or None, timeout=10)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def fault(self, operation: str, mode: str, times: int = 1, platform: str = "gemini") -> None:
        self.call("POST", "faults", platform=platform, operation=operation, mode=mode, times=times)

    def made(self, operation: str) -> list[dict[str, Any]]:
        return [work for work in self.call("GET", "ai")["works"] if work["operation"] == operation]


@pytest.fixture(scope="module")
def simulator_process() -> Iterator[Simulator]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        **os.environ,
        "OUTBOUND_HOST_MAP": f"media.posthaste.test=127.0.0.1:{port}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "SIMULATOR_FILM_SECONDS": "1",
    }
    process = subprocess.Popen([sys.executable, "-m", "simulator", "--port", str(port)], env=env)
    running = Simulator(f"http://127.0.0.1:{port}")
    until = time.monotonic() + START_SECONDS
    try:
        while True:
            try:
                running.call("GET", "faults")
                break
            except requests.RequestException:
                assert time.monotonic() < until, "the simulator did not start"
                time.sleep(0.05)
        yield running
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def simulator(simulator_process: Simulator) -> Iterator[Simulator]:
    yield simulator_process
    simulator_process.call("POST", "reset")


class Ai:
    """The running service and short ways to call it, for an account of this test's own."""

    def __init__(self, service: Any, media: Any) -> None:
        self.service, self.media = service, media
        self.account = new_id("usr")

    def caller(self, operation_id: str | None = None, tier: str = "elite", **fields: Any) -> Caller:
        return Caller(
            account_id=self.account,
            user_id=self.account,
            tier=tier,
            operation_id=operation_id or new_id("op"),
            **fields,
        )

    def image(
        self,
        prompt: str = "A red boat",
        caller: Caller | None = None,
        wait_seconds: float = 90.0,
        **fields: Any,
    ) -> api.AiResult:
        request = api.GenerateImage(prompt=prompt, **fields)
        return self.service.generate_image(caller or self.caller(), request, timeout_seconds=wait_seconds)

    def edit(self, **fields: Any) -> api.AiResult:
        request = api.EditImage(prompt="Make it blue", **fields)
        return self.service.edit_image(self.caller(), request, timeout_seconds=90.0)

    def video(self, prompt: str = "Waves", **fields: Any) -> api.AiResult:
        return self.service.generate_video(self.caller(), api.GenerateVideo(prompt=prompt, **fields))

    def caption(self, words: int, caller: Caller | None = None) -> api.Caption:
        request = api.WriteCaption(
            brand_id="brd_a", brand_name="Boats", instruction="Write about summer", words=words
        )
        return self.service.write_caption(caller or self.caller(), request, timeout_seconds=60.0)

    def job(self, job_id: str) -> api.AiResult:
        return self.service.get_job(self.caller(), api.JobId(id=job_id))

    def left(self, tier: str = "elite") -> int:
        return self.service.get_credits(self.caller(tier=tier), Nothing()).credits.available

    def grant(self, amount: int, tier: str) -> None:
        request = api.GrantCredits(account_id=self.account, tier=tier, amount=amount)
        self.service.grant_credits(msgspec.structs.replace(operator(), operation_id=new_id("op")), request)

    def ended(self, job_id: str, seconds: float = 60.0) -> api.AiResult:
        """The job once it is no longer on its way."""
        end = time.monotonic() + seconds
        while (result := self.job(job_id)).job.status == "processing":
            assert time.monotonic() < end, result
            time.sleep(0.2)
        return result


def environment(simulator: Simulator, **more: str) -> dict[str, str]:
    return {
        "GEMINI_API_KEY": "local-gemini-key",
        "GEMINI_API_URL": simulator.url,
        "OPENAI_API_KEY": "local-openai-key",
        "OPENAI_API_URL": simulator.url,
        "AI_CAPTION_PROVIDER": "openai",
        "OUTBOUND_HOST_MAP": f"media.posthaste.test={simulator.url.removeprefix('http://')}",
        "AI_POLL_SECONDS": "0.3",
        "AI_LEASE_SECONDS": "8",  # renewed every 2 s, also by a machine busy with other tests
        "MAX_WORKERS": "256",
        **more,
    }


@pytest.fixture(scope="module")
def services(
    shared_service: Callable[..., Any], shared_bucket: dict[str, str], simulator_process: Simulator
) -> tuple[Any, Any]:
    media = shared_service("media", env=shared_bucket)
    return shared_service("ai", env=environment(simulator_process)), media


@pytest.fixture
def ai(services: tuple[Any, Any], simulator: Simulator) -> Ai:
    return Ai(*services)


@pytest.fixture
def own_ai(
    running_service: Callable[..., Any], bucket: dict[str, str], simulator: Simulator
) -> Callable[..., Ai]:
    """`own_ai(AI_LEASE_SECONDS="5")` → processes of this test's own, with other settings."""
    media = running_service("media", env=bucket)
    return lambda **more: Ai(running_service("ai", env=environment(simulator, **more)), media)
