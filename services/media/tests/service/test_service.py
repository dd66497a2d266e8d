"""The service on a real bus and a real storage, for behaviour that store tests cannot show."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from media_kit import samples
from media_kit.running_media import RunningMedia
from msgspec import structs
from urllib3.exceptions import ProtocolError

from contracts import media as api
from contracts.caller import operator
from contracts.errors import ApiError
from contracts.events import PostMedia
from contracts.record import Nothing


def test_an_image_is_returned_unchanged_in_whole_and_in_ranges(storage: RunningMedia) -> None:
    data = samples.picture()
    media = storage.upload(data, "My Ünïcode photo.JPG", "image/jpeg")
    assert (media.width, media.height, media.type, media.tier) == (40, 30, "photo", "elite")
    assert media.url.endswith("/My-Unicode-photo.jpg")
    whole = storage.fetch(media)
    assert whole.data == data
    assert whole.headers["Content-Type"] == "image/jpeg"
    part = storage.fetch(media, Range="bytes=3-9")
    assert part.data == data[3:10]
    assert part.headers["Content-Range"] == f"bytes 3-9/{len(data)}"


def test_list_and_quota_include_the_upload(storage: RunningMedia) -> None:
    caller = storage.caller("usr_list")
    media = storage.upload(samples.picture(), "a.jpg", "image/jpeg", caller)
    listed = storage.service.list_media(caller, api.ListMedia())
    assert [it.media_id for it in listed.media] == [media.media_id]
    assert listed.quota == media.quota == storage.service.get_storage(caller, Nothing()).quota
    shown = storage.service.get_media(caller, api.MediaId(id=media.media_id))
    made = {"thumbnail_url": None}  # it may be made between the two calls
    assert structs.replace(shown, **made) == structs.replace(listed.media[0], **made)


def test_a_refusal_crosses_the_bus_with_its_details(storage: RunningMedia) -> None:
    free = storage.caller("usr_free", tier="free")
    for _ in range(4):
        request = api.BeginUpload(filename="a.png", mime_type="image/png", size_bytes=25 * 2**20)
        storage.service.begin_upload(free, request)
    with pytest.raises(ApiError, match="QUOTA_EXCEEDED") as caught:
        storage.upload(samples.picture(), "a.jpg", "image/jpeg", free)
    assert caught.value.extras["quota"]["remaining_bytes"] == 0


def test_a_deleted_files_address_ends_at_once_and_its_object_soon(storage: RunningMedia) -> None:
    caller = storage.caller()
    media = storage.upload(samples.picture(), "a.jpg", "image/jpeg", caller)
    address = storage.service.get_files(caller, api.GetFiles(media_ids=(media.media_id,))).files[0].source_url
    assert storage.http.request("GET", address).status == 200
    assert storage.service.delete_media(caller, api.MediaId(id=media.media_id)).success
    with pytest.raises(ApiError, match="NOT_FOUND"):
        storage.fetch(media)
    storage.until(lambda: is_gone(storage, address))


def is_gone(storage: RunningMedia, address: str):
    try:
        return storage.http.request("GET", address).status == 404
    except ProtocolError:  # deleted while it was read
        return False


def test_other_calls_are_served_while_a_hostile_video_uses_its_time(storage: RunningMedia) -> None:
    data = samples.recording(extra=samples.element(0xEC) * 300_000)
    codes = []

    def upload() -> None:
        try:
            storage.upload(data, "a.webm", "video/webm")
        except ApiError as error:
            codes.append(error.code)

    busy = threading.Thread(target=upload)
    busy.start()
    slowest = 0.0
    while busy.is_alive():
        began = time.monotonic()
        storage.service.get_storage(storage.caller(), Nothing())
        slowest = max(slowest, time.monotonic() - began)
    busy.join()
    assert slowest < 2.0


def test_the_posts_event_arrives_over_the_bus(storage: RunningMedia) -> None:
    caller = storage.caller()
    media = storage.upload(samples.picture(), "a.jpg", "image/jpeg", caller)
    storage.service.attach_media(
        caller, api.AttachMedia(post_id="pst_bus", media_ids=(media.media_id,), revision=1)
    )
    storage.tell(PostMedia(post_id="pst_bus", media_ids=(media.media_id,), state="released", revision=2))
    storage.until(
        lambda: not storage.service.get_media(caller, api.MediaId(id=media.media_id)).scheduled_post_id
    )


def test_an_upload_cut_off_by_kill_9_leaves_neither_object_nor_reservation(
    running_service: Callable[..., Any],
    bucket: dict[str, str],
    gateway_of: Callable[[Any], RunningMedia],
    tmp_path: Path,
) -> None:
    endless = tmp_path / "ffmpeg"
    endless.write_text("#!/bin/sh\nwhile :; do :; done\n")
    endless.chmod(0o755)
    storage = gateway_of(running_service("media", env=bucket | {"FFMPEG": str(endless)}))
    caller, data = storage.caller(), samples.recording()
    ticket = storage.begin(data, "a.webm", "video/webm", caller)
    request = api.CommitUpload(upload_id=ticket.upload_id, size_bytes=len(data))
    looking = storage.service.bus.service("media").commit_upload.start(caller, request, timeout_seconds=2.0)
    storage.until(lambda: storage.ask("SELECT 1 FROM uploads WHERE lease_until > clock_timestamp()"))
    storage.service.kill()
    storage.run("UPDATE clock_shift SET shift = interval '16 minutes'")
    storage.run("UPDATE uploads SET lease_until = clock_timestamp()")  # the lease has passed
    storage.service.restart()
    storage.until(lambda: not storage.ask("SELECT 1 FROM uploads UNION ALL SELECT 1 FROM removals"))
    assert storage.service.get_storage(caller, Nothing()).quota.used_bytes == 0
    assert storage.http.request("GET", storage.object_address(ticket)).status == 404
    with pytest.raises(ApiError):
        looking.result()


def test_the_operator_sees_what_confines_the_decoder(storage: RunningMedia) -> None:
    report = storage.service.get_sandbox(operator(), Nothing())
    assert (report.landlock_abi == 0) == ("landlock" in report.missing)
    assert report.seccomp == ("seccomp" not in report.missing)
    assert not report.required
    with pytest.raises(ApiError, match="MISSING_SCOPE"):
        storage.service.get_sandbox(storage.caller(), Nothing())
