"""YouTube, against the simulator."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from publishing.platforms.base import (
    Content,
    MediaSource,
    NotPublished,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
    Refusal,
)

from .simulated import Killer, Page, Simulator

KIB = 1024
MESSAGE = "Fresh bread 🍞\nBaked this morning & still warm"


@pytest.fixture
def channel(page_on: Callable[[str], Page]) -> Page:
    return page_on("YT")


@pytest.fixture
def content(film: Callable[..., MediaSource]) -> Content:
    """A video of three pieces."""
    return Content(MESSAGE, (film(700 * KIB),))


def test_settings_are_handed_on(channel: Page, content: Content) -> None:
    asked = {
        "title": "Bread",
        "privacy": "unlisted",
        "tags": ["sour dough"],
        "made_for_kids": True,
        "category_id": "26",
        "contains_synthetic_media": True,
        "notify_subscribers": False,
    }
    channel.publish(replace(content, message="", settings=asked))
    taken = channel.posts[0]["settings"]
    assert {name: taken[name] for name in asked} == asked


def test_only_one_video_of_known_length_is_taken(channel: Page, clip: bytes) -> None:
    photo, endless = (
        MediaSource("photo", "https://a.example/b.jpg"),
        MediaSource("video", "https://a.example/b.mp4"),
    )
    for media, code in (((), "NO_VIDEO"), ((photo,), "NO_VIDEO"), ((endless,), "MEDIA_LENGTH_UNKNOWN")):
        with pytest.raises(PlatformRefusal) as refusal:
            channel.publish(Content("x", media))
        assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, code)


@pytest.mark.parametrize("mode", ["drop_after_accept", "server_error", "hang"])
@pytest.mark.parametrize("operation", ["publish", "upload"])
def test_a_break_is_mended_within_the_attempt(
    operation: str,
    mode: str,
    channel: Page,
    content: Content,
) -> None:
    channel.change(connect_timeout_seconds=0.5, read_timeout_seconds=0.5)
    if operation == "upload":
        # The session's own call is the first; the piece after it breaks.
        channel.stored = begun(channel, content)
    channel.fault(operation, mode)
    published = channel.publish(content)
    assert [post["id"] for post in channel.posts] == [published.remote_id]


def begun(channel: Page, content: Content) -> dict[str, Any]:
    """Makes an attempt whose first piece is refused because of a rate limit, and returns its checkpoint."""
    channel.fault("publish", "rate_limit")
    with pytest.raises(PlatformRefusal):
        channel.publish(content)
    assert channel.stored["session"]
    return dict(channel.stored)


def test_an_attempt_goes_on_where_the_last_one_ended(
    channel: Page, content: Content, simulator: Simulator
) -> None:
    session = begun(channel, content)["session"]
    assert channel.look_up(content) == NotPublished(settled=False)
    channel.fault("upload", "reject")
    published = channel.publish(content)
    assert channel.stored["session"] == session
    assert [post["id"] for post in channel.posts] == [published.remote_id]
    assert simulator.call("GET", "faults")["faults"], "no session was begun and no earlier piece sent again"
    simulator.call("DELETE", "faults")


def test_a_session_that_has_run_out_is_begun_anew(channel: Page, content: Content) -> None:
    begun(channel, content)
    channel.stored["session"] += "x"
    assert channel.look_up(content) == NotPublished(settled=False)
    channel.publish(content)
    assert len(channel.posts) == 1


def test_a_session_of_other_content_is_left_alone(channel: Page, content: Content) -> None:
    session = begun(channel, content)["session"]
    channel.publish(replace(content, message="edited"))
    assert channel.stored["session"] != session
    assert [post["text"] for post in channel.posts] == ["edited"]


def test_an_answer_that_never_came_is_looked_up_by_its_session(channel: Page, content: Content) -> None:
    channel.fault("publish", "drop_after_accept")
    channel.fault("status", "server_error", times=4)
    with pytest.raises(OutcomeUnknown):
        channel.publish(content)
    [post] = channel.posts
    found = channel.look_up(content)
    assert isinstance(found, Published)
    assert found.remote_id == post["id"]
    assert channel.publish(content).remote_id == post["id"], "the session itself makes one video only"


def test_a_lost_session_is_looked_up_among_the_uploads(channel: Page, content: Content) -> None:
    channel.fault("publish", "drop_after_accept")
    channel.fault("status", "server_error", times=4)
    with pytest.raises(OutcomeUnknown):
        channel.publish(content)
    channel.stored["session"] += "x"
    [post] = channel.posts
    found = channel.look_up(content)
    assert isinstance(found, Published)
    assert (found.remote_id, found.published_at is not None) == (post["id"], True)
    assert channel.look_up(content, post["id"]) == NotPublished(settled=False)
    assert channel.look_up(replace(content, message="Other")) == NotPublished(settled=False)


def test_a_day_without_quota_is_waited_for(channel: Page, content: Content) -> None:
    small = replace(content, media=(replace(content.media[0], opener=None, body=b"\0" * 10, size_bytes=10),))
    account = channel.account
    video = {"snippet": {"title": "t", "categoryId": "22"}, "status": {}}
    for _ in range(100):
        channel.connector._api.begin_upload(account, video, 10, "video/mp4")
    with pytest.raises(PlatformRefusal) as refusal:
        channel.publish(small)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.RATE_LIMITED, "quotaExceeded")
    assert 0 < refusal.value.wait_seconds <= 25 * 3600


def test_a_video_that_youtube_gives_up_is_rejected_and_uploaded_anew(channel: Page, content: Content) -> None:
    channel.fault("status", "reject")
    with pytest.raises(PlatformRefusal) as refusal:
        channel.publish(content)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "rejected/duplicate")
    found = channel.look_up(content)
    assert isinstance(found, NotPublished)
    assert (found.settled, found.refusal.code) == (True, "rejected/duplicate")
    channel.publish(content)
    assert len(channel.posts) == 1


def test_what_is_no_film_fails_in_processing(channel: Page) -> None:
    text = MediaSource("video", "https://a.example/a.mp4", body=b"hello", content_type="video/mp4")
    with pytest.raises(PlatformRefusal) as refusal:
        channel.publish(Content("x", (text,)))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "failed/invalidFile")


def test_a_video_that_is_still_worked_on_is_out(channel: Page, content: Content) -> None:
    channel.change(poll_limit_seconds=0.0)
    assert channel.publish(content).remote_id == channel.posts[0]["id"]
    assert isinstance(channel.look_up(content), Published)


def test_a_session_that_lies_elsewhere_gets_neither_file_nor_token(channel: Page, content: Content) -> None:
    there = channel.settings.upload_url.replace("127.0.0.1", "localhost")
    channel.change(upload_url=there)
    channel.connector._api._uploads = channel.connector._api._uploads.replace("localhost", "127.0.0.1")
    with pytest.raises(PlatformRefusal) as refusal:
        channel.publish(content)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "STRANGE_SESSION")


def test_a_hundred_dropped_answers_and_kills_make_a_hundred_videos(
    channel: Page, clip: bytes, simulator: Simulator, killer: Killer
) -> None:
    channel.change(poll_limit_seconds=0.0)
    made, accounts = [], []
    for number in range(100):
        if number % 50 == 0:  # a killed beginning uses up one of a channel's hundred uploads
            channel.account = simulator.account("YT")
            accounts.append(channel.account)
            channel.fault("publish", "drop_after_accept", times=50)
        channel.stored = {}
        one = Content(f"Loaf {number}", (MediaSource("video", f"https://a.example/{number}.mp4", body=clip),))
        published, _ = killer.publish(channel, one, number % 6 + 1, "after")
        made.append(published.remote_id)
    assert sorted(post["id"] for account in accounts for post in simulator.posts(account)) == sorted(made)
    assert len(set(made)) == 100
