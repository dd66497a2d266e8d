"""Posts with uploaded files: publishing and media as processes, a real storage, and the simulator in place of the
platforms.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
import requests
from PIL import Image

from contracts import media as contract
from contracts import publishing as api
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from contracts.record import Nothing


def picture(kind: str, side: int = 600) -> bytes:
    file = BytesIO()
    Image.effect_noise((side, side), 60).convert("RGB").save(file, kind)
    return file.getvalue()


class Uploads:
    """The media service, called as the gateway does."""

    def __init__(self, service: Any, caller: Callable[[], Caller]) -> None:
        self.service, self.caller = service, caller

    def add(self, data: bytes, mime_type: str = "image/jpeg") -> str:
        begin = contract.BeginUpload(
            filename=f"a.{mime_type.partition('/')[2]}", mime_type=mime_type, size_bytes=len(data)
        )
        ticket = self.service.begin_upload(self.caller(), begin)
        requests.put(ticket.url, data=data, headers=ticket.headers, timeout=10).raise_for_status()
        commit = contract.CommitUpload(upload_id=ticket.upload_id, size_bytes=len(data))
        return str(self.service.commit_upload(self.caller(), commit, timeout_seconds=30).media_id)

    def delete(self, media_id: str) -> str:
        """Deletes a file. Returns `deleted` or the error code."""
        try:
            self.service.delete_media(self.caller(), contract.MediaId(id=media_id))
        except ApiError as error:
            return error.code
        return "deleted"

    def used_bytes(self) -> int:
        return int(self.service.get_storage(self.caller(), Nothing()).quota.used_bytes)

    def until_used(self, size_bytes: int) -> None:
        end = time.monotonic() + 10
        while self.used_bytes() != size_bytes:
            assert time.monotonic() < end, self.used_bytes()
            time.sleep(0.05)


@pytest.fixture
def uploads(publishing: Any, running_service: Callable[..., Any], bucket: dict[str, str]) -> Uploads:
    return Uploads(running_service("media", env=bucket), publishing.caller)


def schedule(publishing: Any, page: api.Page, *media_ids: str) -> api.ScheduledPost:
    request = api.SchedulePost(
        page_id=page.id,
        scheduled_at=datetime.now(UTC) + timedelta(hours=1),
        message="later",
        media_ids=media_ids,
    )
    return publishing.service.schedule_post(publishing.caller(), request)


def test_an_upload_goes_out_as_bytes_and_stops_counting(
    publishing: Any, uploads: Uploads, simulator: Any
) -> None:
    data, page = picture("JPEG"), publishing.page()
    media_id = uploads.add(data)
    assert uploads.used_bytes() == len(data)
    result = publishing.publish(page, message="look", media_ids=(media_id,))
    assert [item.type for item in result.media] == ["photo"]
    [post] = simulator.posts(page.account_id)
    assert [item["bytes"] for item in post["media"]] == [len(data)]
    uploads.until_used(0)
    assert uploads.delete(media_id) == "deleted"


def test_a_webp_reaches_facebook_as_a_jpeg(publishing: Any, uploads: Uploads, simulator: Any) -> None:
    data, page = picture("WEBP"), publishing.page()
    publishing.publish(
        page,
        message="look",
        media_ids=(uploads.add(data, "image/webp"), uploads.add(picture("PNG"), "image/png")),
    )
    [post] = simulator.posts(page.account_id)
    assert [item["type"] for item in post["media"]] == ["photo", "photo"]
    assert post["media"][0]["bytes"] != len(data)


def test_a_cancelled_post_lets_go_before_its_answer(publishing: Any, uploads: Uploads) -> None:
    media_id, page = uploads.add(picture("JPEG")), publishing.page()
    post = schedule(publishing, page, media_id)
    assert uploads.delete(media_id) == "MEDIA_IN_USE"
    publishing.service.cancel_post(publishing.caller(), api.PostId(id=post.id))
    assert uploads.delete(media_id) == "deleted"


def test_a_due_post_is_sent_with_its_upload_although_media_was_killed(
    publishing: Any, uploads: Uploads, simulator: Any
) -> None:
    data, page = picture("JPEG"), publishing.page()
    post = schedule(publishing, page, uploads.add(data))
    uploads.service.kill()
    with pytest.raises(ApiError) as refusal:
        schedule(publishing, publishing.page(brand="brd_b"), "med_any")
    assert refusal.value.code == "SERVICE_UNAVAILABLE"
    uploads.service.restart()
    publishing.service.bring_post_due(operator(), api.PostId(id=post.id))
    publishing.until_published(post.id, seconds=100)  # at its second attempt if media was not back yet
    assert simulator.posts(page.account_id)[0]["media"][0]["bytes"] == len(data)
    uploads.until_used(0)


def test_an_unknown_upload_is_not_found(publishing: Any, uploads: Uploads) -> None:
    with pytest.raises(ApiError) as refusal:
        publishing.publish(publishing.page(), message="look", media_ids=("med_unknown",))
    assert (refusal.value.code, refusal.value.extras) == ("NOT_FOUND", {"field": "media_ids"})
