"""The main paths over the bus, with the real media service, a real bucket and providers over HTTP. Some tests kill
processes.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from ai_kit.running_ai import Ai
from ai_kit.simulator import Simulator
from msgspec.structs import replace

from ai.rules import caption_text
from chassis.ids import new_id
from contracts import ai as api
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.media import MediaId
from contracts.record import Nothing

PHOTO = "http://media.posthaste.test/media/photo-1080x1080.jpg"
TEXT = "http://media.posthaste.test/_sim/faults"


def refused(call: Any, *args: Any, **options: Any) -> ApiError:
    with pytest.raises(ApiError) as refusal:
        call(*args, **options)
    return refusal.value


def test_an_image_is_generated_stored_and_shown(ai: Ai, simulator: Simulator) -> None:
    caller = ai.caller()
    result = ai.image(caller=caller, aspect_ratio="16:9")
    assert (result.job.status, result.credits.charged, result.credits.remaining) == ("completed", 10, 2_390)
    assert (result.media.mime_type, result.media.width > result.media.height) == ("image/png", True)
    assert ai.image(caller=caller, aspect_ratio="16:9").job == result.job
    assert len(simulator.works("image")) == 1
    shown = ai.job(result.job.job_id).media
    # media draws the thumbnail beside this, before or after the job is read
    assert replace(shown, thumbnail_url=None) == replace(result.media, thumbnail_url=None)
    newest = ai.service.list_jobs(ai.caller(), api.ListJobs())
    assert [job.job_id for job in newest.jobs] == [result.job.job_id]


def test_an_own_image_and_one_by_url_are_edited(ai: Ai, simulator: Simulator) -> None:
    made = ai.image()
    assert ai.edit(media_id=made.job.media_id).job.status == "completed"
    assert ai.edit(image_url=PHOTO, model="pro").media.mime_type == "image/jpeg"
    ai.image(reference_image_urls=(PHOTO,), reference_media_ids=(made.job.media_id,))
    assert [work["references"] for work in simulator.works("edit")] == [1, 1, 2]
    assert ai.left() == 2_360


@pytest.mark.parametrize(
    "url", [TEXT, "http://media.posthaste.test/nothing-there.jpg", "http://127.0.0.1:1/a.png"]
)
def test_a_reference_that_is_not_an_image_is_refused_before_any_charge(ai: Ai, url: str) -> None:
    assert refused(ai.image, reference_image_urls=(url,)).code == "INVALID_REFERENCE_MEDIA"
    assert refused(ai.edit, image_url=url).code == "INVALID_REFERENCE_MEDIA"
    assert refused(ai.video, image_url=url).code == "INVALID_REFERENCE_MEDIA"
    assert ai.left() == 2_400


@pytest.mark.parametrize("mode", ["reject", "server_error", "drop_after_accept"])
def test_a_provider_that_fails_costs_nothing(ai: Ai, simulator: Simulator, mode: str) -> None:
    simulator.fault("image", mode)
    error = refused(ai.image)
    assert error.code == "AI_GENERATION_FAILED"
    assert (ai.left(), ai.job(error.extras["job_id"]).job.status) == (2_400, "failed")


def test_a_video_is_generated_in_the_background(ai: Ai) -> None:
    accepted = ai.video(aspect_ratio="9:16")
    assert (accepted.job.status, accepted.credits.charged) == ("processing", 90)
    result = ai.ended(accepted.job.job_id)
    assert (result.job.status, result.media.mime_type, result.media.type) == (
        "completed",
        "video/mp4",
        "video",
    )
    assert (result.job.url, ai.left()) == (result.media.url, 2_310)


def test_an_image_is_animated(ai: Ai, simulator: Simulator) -> None:
    accepted = ai.video(image_url=PHOTO)
    assert accepted.job.params.image_to_video
    assert ai.ended(accepted.job.job_id).job.status == "completed"
    assert [work["references"] for work in simulator.works("video")] == [1]


@pytest.mark.parametrize("operation", ["video", "status"])
def test_a_video_that_is_declined_is_refunded(ai: Ai, simulator: Simulator, operation: str) -> None:
    simulator.fault(operation, "reject")
    result = ai.ended(ai.video().job.job_id)
    assert (result.job.status, result.job.credits_charged, result.media) == ("failed", 0, None)
    assert result.job.error
    assert ai.left() == 2_400


@pytest.mark.parametrize("operation", ["status", "download"])
def test_a_video_survives_failed_polls_and_downloads(ai: Ai, simulator: Simulator, operation: str) -> None:
    simulator.fault(operation, "server_error", times=2)
    simulator.fault(operation, "drop_after_accept")
    assert ai.ended(ai.video().job.job_id).job.status == "completed"
    assert len(simulator.works("video")) == 1


@pytest.mark.parametrize("words", [10, 60, 300])
def test_a_caption_has_about_the_requested_number_of_words(ai: Ai, words: int) -> None:
    caller = ai.caller()
    caption = ai.caption(words, caller)
    assert caption_text.fits(caption.text, words)
    assert (caption.words_requested, ai.left()) == (words, 2_399)
    assert ai.caption(words, caller).text == caption.text
    assert ai.left() == 2_399


def test_two_hundred_at_once_with_credits_for_fifty_make_fifty(ai: Ai, simulator: Simulator) -> None:
    ai.grant(470, "free")  # and the plan's 30

    def make(_: int) -> str:
        caller = ai.caller(tier="free")
        for number in range(1, 30):
            try:
                return str(ai.image(caller=replace(caller, try_number=number)).job.status)
            except ApiError as error:
                code = error.code
                if code not in ("SERVICE_UNAVAILABLE", "IDEMPOTENCY_IN_PROGRESS"):  # the machine is busy
                    break
                time.sleep(error.extras["retry_after_seconds"])
        return code

    with ThreadPoolExecutor(200) as pool:
        outcomes = list(pool.map(make, range(200)))
    assert sorted(set(outcomes)) == ["INSUFFICIENT_CREDITS", "completed"]
    assert (outcomes.count("completed"), len(simulator.works("image")), ai.left("free")) == (50, 50, 0)


def test_a_slow_provider_does_not_delay_other_calls(ai: Ai, simulator: Simulator) -> None:
    simulator.fault("video", "hang", times=3)
    hanging = [ai.video() for _ in range(3)]
    time.sleep(0.5)
    assert ai.ended(ai.video().job.job_id).job.status == "completed"
    simulator.call("DELETE", "faults")
    for accepted in hanging:
        ai.ended(accepted.job.job_id)


@pytest.mark.parametrize("wait_seconds", [0.0, 0.3, 0.8, 1.3, 1.6, 2.0])
def test_a_video_is_completed_or_refunded_wherever_the_process_is_killed(
    ai: Ai, simulator: Simulator, wait_seconds: float
) -> None:
    jobs = [ai.video().job.job_id for _ in range(3)]
    time.sleep(wait_seconds)
    ai.service.kill()
    ai.service.restart()
    states = [ai.ended(job_id).job for job_id in jobs]
    completed = [job for job in states if job.status == "completed"]
    assert ai.left() == 2_400 - 90 * len(completed)
    for job in completed:
        assert ai.media.get_media(ai.caller(), MediaId(id=job.media_id)).size_bytes == job.size_bytes


def test_images_in_progress_at_a_kill_are_completed_or_refunded(ai: Ai, simulator: Simulator) -> None:
    operations = [new_id("op") for _ in range(8)]
    simulator.fault("image", "slow", times=4)

    def make(operation: str) -> str:
        try:
            return ai.image(caller=ai.caller(operation), wait_seconds=10.0).job.status
        except ApiError as error:
            return error.code

    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(make, operation) for operation in operations]
        time.sleep(1.0)
        ai.service.kill()
        cut_off = [call.result() for call in running].count("SERVICE_UNAVAILABLE")
    ai.service.restart()
    assert cut_off >= 4
    for job in ai.service.list_jobs(ai.caller(), api.ListJobs()).jobs:
        ai.ended(job.job_id)
    outcomes = [make(operation) for operation in operations]
    assert set(outcomes) <= {"completed", "AI_GENERATION_FAILED"}
    assert ai.left() == 2_400 - 10 * outcomes.count("completed")


def test_without_a_key_nothing_is_charged(running_service: Any) -> None:
    service = running_service("ai")
    caller = Caller(account_id="usr_b", user_id="usr_b", tier="elite", operation_id=new_id("op"))
    for call, request in (
        (service.generate_image, api.GenerateImage(prompt="x")),
        (service.generate_video, api.GenerateVideo(prompt="x")),
        (service.write_caption, api.WriteCaption(brand_id="b", brand_name="B", instruction="x")),
    ):
        assert refused(call, caller, request).code == "AI_NOT_CONFIGURED"
    assert service.get_credits(caller, Nothing()).credits.available == 2_400
