"""A client of the AI service, which runs in a real process."""

import time
from typing import Any

import msgspec

from ai_kit.simulator import Simulator
from chassis.ids import new_id
from contracts import ai as api
from contracts.caller import Caller, operator
from contracts.record import Nothing


class Ai:
    """Calls the running AI service for a new account."""

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
        """Waits until the job has ended, and returns it."""
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
        "AI_LEASE_SECONDS": "8",  # renewed every 2 s, even on a machine that is busy with other tests
        "MAX_WORKERS": "256",
        **more,
    }
