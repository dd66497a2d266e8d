"""YouTube, against the simulator."""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
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
from publishing.platforms.youtube.connector import YouTubeConnector
from publishing.platforms.youtube.settings import YouTubeSettings

KIB = 1024
MESSAGE = "Fresh bread 🍞\nBaked this morning & still warm"


@pytest.fixture
def content(film: Any) -> Content:
    """A video of three pieces."""
    return Content(MESSAGE, (film(700 * KIB),))


@pytest.fixture
def settings_of_youtube(simulator: Any) -> YouTubeSettings:
    return YouTubeSettings(
        api_url=simulator.url,
        upload_url=simulator.url,
        read_timeout_seconds=2.0,
        chunk_bytes=256 * KIB,
        resume_seconds=0.01,
        poll_seconds=0.05,
        poll_limit_seconds=10.0,
    )


@pytest.fixture
def channel(attempts: Callable[[str], Any], settings_of_youtube: YouTubeSettings) -> Any:
    made = attempts("YT")
    made.connector = YouTubeConnector(settings_of_youtube)
    return made


def test_a_video_goes_out_with_id_permalink_and_time(channel: Any, content: Content, simulator: Any) -> None:
    published = channel.publish(content)
    [post] = simulator.posts(channel.account)
    assert (published.remote_id, post["text"]) == (post["id"], MESSAGE)
    assert post["media"] == [{"type": "video", "bytes": 700 * KIB}]
    assert post["settings"]["title"] == "Fresh bread 🍞"
    assert published.permalink == f"https://www.youtube.com/watch?v={post['id']}"
    assert abs(published.published_at - datetime.now(UTC)) < timedelta(minutes=1)


def test_settings_are_handed_on(channel: Any, content: Content, simulator: Any) -> None:
    asked = {
        "title": "Bread",
        "privacy": "unlisted",
        "tags": ["sour dough"],
        "made_for_kids": True,
        "category_id": "26",
    }
    channel.publish(replace(content, message="", settings=asked))
    taken = simulator.posts(channel.account)[0]["settings"]
    assert {name: taken[name] for name in asked} == asked


def test_only_one_video_of_known_length_is_taken(channel: Any, clip: bytes) -> None:
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
    channel: Any,
    content: Content,
    simulator: Any,
    settings_of_youtube: YouTubeSettings,
) -> None:
    channel.connector = YouTubeConnector(
        replace(settings_of_youtube, connect_timeout_seconds=0.5, read_timeout_seconds=0.5)
    )
    if operation == "upload":
        # The session's own call is the first; the piece after it breaks.
        channel.stored = begun(channel, content, simulator)
    simulator.fault(channel.account, operation, mode)
    published = channel.publish(content)
    assert [post["id"] for post in simulator.posts(channel.account)] == [published.remote_id]


def begun(channel: Any, content: Content, simulator: Any) -> dict[str, Any]:
    """The checkpoint of an attempt whose first piece was refused for the time being."""
    simulator.fault(channel.account, "publish", "rate_limit")
    with pytest.raises(PlatformRefusal):
        channel.publish(content)
    assert channel.stored["session"]
    return dict(channel.stored)


def test_an_attempt_goes_on_where_the_last_one_ended(channel: Any, content: Content, simulator: Any) -> None:
    session = begun(channel, content, simulator)["session"]
    assert channel.look_up(content) == NotPublished(settled=False)
    simulator.fault(channel.account, "upload", "reject")
    published = channel.publish(content)
    assert channel.stored["session"] == session
    assert [post["id"] for post in simulator.posts(channel.account)] == [published.remote_id]
    assert simulator.call("GET", "faults")["faults"], "no session was begun and no earlier piece sent again"
    simulator.call("DELETE", "faults")


def test_a_session_that_has_run_out_is_begun_anew(channel: Any, content: Content, simulator: Any) -> None:
    begun(channel, content, simulator)
    channel.stored["session"] += "x"
    assert channel.look_up(content) == NotPublished(settled=False)
    channel.publish(content)
    assert len(simulator.posts(channel.account)) == 1


def test_a_session_of_other_content_is_left_alone(channel: Any, content: Content, simulator: Any) -> None:
    session = begun(channel, content, simulator)["session"]
    channel.publish(replace(content, message="edited"))
    assert channel.stored["session"] != session
    assert [post["text"] for post in simulator.posts(channel.account)] == ["edited"]


def test_an_answer_that_never_came_is_looked_up_by_its_session(
    channel: Any, content: Content, simulator: Any
) -> None:
    simulator.fault(channel.account, "publish", "drop_after_accept")
    simulator.fault(channel.account, "status", "server_error", times=4)
    with pytest.raises(OutcomeUnknown):
        channel.publish(content)
    [post] = simulator.posts(channel.account)
    found = channel.look_up(content)
    assert isinstance(found, Published)
    assert found.remote_id == post["id"]
    assert channel.publish(content).remote_id == post["id"], "the session itself makes one video only"


def test_a_lost_session_is_looked_up_among_the_uploads(
    channel: Any, content: Content, simulator: Any
) -> None:
    simulator.fault(channel.account, "publish", "drop_after_accept")
    simulator.fault(channel.account, "status", "server_error", times=4)
    with pytest.raises(OutcomeUnknown):
        channel.publish(content)
    channel.stored["session"] += "x"
    [post] = simulator.posts(channel.account)
    found = channel.look_up(content)
    assert isinstance(found, Published)
    assert (found.remote_id, found.published_at is not None) == (post["id"], True)
    assert channel.look_up(content, post["id"]) == NotPublished(settled=False)
    assert channel.look_up(replace(content, message="Other")) == NotPublished(settled=False)


def test_nothing_was_sent_before_the_session_was_stored(
    channel: Any, content: Content, simulator: Any
) -> None:
    for mode in ("server_error", "drop_after_accept", "hang"):
        simulator.fault(channel.account, "upload", mode)
        with pytest.raises(PlatformRefusal) as refusal:
            channel.publish(content)
        assert refusal.value.kind is Refusal.TRANSIENT
        assert channel.look_up(content) == NotPublished(settled=True)


@pytest.mark.parametrize(
    ("mode", "kind", "code"),
    [
        ("reject", Refusal.REJECTED, "invalidVideoMetadata"),
        ("rate_limit", Refusal.RATE_LIMITED, "rateLimitExceeded"),
        ("expired", Refusal.EXPIRED, "authError"),
    ],
)
@pytest.mark.parametrize("operation", ["publish", "upload"])
def test_a_refusal_says_what_kind_it_is(
    operation: str, mode: str, kind: Refusal, code: str, channel: Any, content: Content, simulator: Any
) -> None:
    simulator.fault(channel.account, operation, mode)
    with pytest.raises(PlatformRefusal) as refusal:
        channel.publish(content)
    assert (refusal.value.kind, refusal.value.code) == (kind, code)
    assert simulator.posts(channel.account) == []


def test_a_day_without_quota_is_waited_for(channel: Any, content: Content, simulator: Any) -> None:
    small = replace(content, media=(replace(content.media[0], opener=None, body=b"\0" * 10, size_bytes=10),))
    account = channel.account
    video = {"snippet": {"title": "t", "categoryId": "22"}, "status": {}}
    for _ in range(100):
        channel.connector._api.begin_upload(account, video, 10, "video/mp4")
    with pytest.raises(PlatformRefusal) as refusal:
        channel.publish(small)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.RATE_LIMITED, "quotaExceeded")
    assert 0 < refusal.value.wait_seconds <= 25 * 3600


def test_a_video_that_youtube_gives_up_is_rejected_and_uploaded_anew(
    channel: Any, content: Content, simulator: Any
) -> None:
    simulator.fault(channel.account, "status", "reject")
    with pytest.raises(PlatformRefusal) as refusal:
        channel.publish(content)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "rejected/duplicate")
    found = channel.look_up(content)
    assert isinstance(found, NotPublished)
    assert (found.settled, found.refusal.code) == (True, "rejected/duplicate")
    channel.publish(content)
    assert len(simulator.posts(channel.account)) == 1


def test_what_is_no_film_fails_in_processing(channel: Any) -> None:
    text = MediaSource("video", "https://a.example/a.mp4", body=b"hello", content_type="video/mp4")
    with pytest.raises(PlatformRefusal) as refusal:
        channel.publish(Content("x", (text,)))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "failed/invalidFile")


def test_a_video_that_is_still_worked_on_is_out(
    channel: Any, content: Content, settings_of_youtube: YouTubeSettings, simulator: Any
) -> None:
    channel.connector = YouTubeConnector(replace(settings_of_youtube, poll_limit_seconds=0.0))
    assert channel.publish(content).remote_id == simulator.posts(channel.account)[0]["id"]
    assert isinstance(channel.look_up(content), Published)


def test_a_session_that_lies_elsewhere_gets_neither_file_nor_token(
    channel: Any, content: Content, settings_of_youtube: YouTubeSettings
) -> None:
    there = settings_of_youtube.upload_url.replace("127.0.0.1", "localhost")
    channel.connector = YouTubeConnector(replace(settings_of_youtube, upload_url=there))
    channel.connector._api._uploads = channel.connector._api._uploads.replace("localhost", "127.0.0.1")
    with pytest.raises(PlatformRefusal) as refusal:
        channel.publish(content)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "STRANGE_SESSION")


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_publish_killed_at_any_call_comes_out_once(
    when: str, channel: Any, content: Content, simulator: Any, attempts: Callable[[str], Any], killer: Any
) -> None:
    was_killed, number = True, 0
    while was_killed:
        number += 1
        one = attempts("YT")
        one.connector = channel.connector
        published, was_killed = killer.publish(one, content, number, when)
        assert [post["id"] for post in simulator.posts(one.account)] == [published.remote_id]
    assert number > 5


def test_a_hundred_dropped_answers_and_kills_make_a_hundred_videos(
    channel: Any, clip: bytes, simulator: Any, killer: Any, settings_of_youtube: YouTubeSettings
) -> None:
    channel.connector = YouTubeConnector(replace(settings_of_youtube, poll_limit_seconds=0.0))
    made, accounts = [], []
    for number in range(100):
        if number % 50 == 0:  # a killed beginning uses up one of a channel's hundred uploads
            channel.account = simulator.account("YT")
            accounts.append(channel.account)
            simulator.fault(channel.account, "publish", "drop_after_accept", times=50)
        channel.stored = {}
        one = Content(f"Loaf {number}", (MediaSource("video", f"https://a.example/{number}.mp4", body=clip),))
        published, _ = killer.publish(channel, one, number % 6 + 1, "after")
        made.append(published.remote_id)
    assert sorted(post["id"] for account in accounts for post in simulator.posts(account)) == sorted(made)
    assert len(set(made)) == 100


def test_a_video_of_250_mb_is_never_in_memory(
    channel: Any, film: Any, simulator: Any, settings_of_youtube: YouTubeSettings
) -> None:
    size = 250 * KIB * KIB
    channel.connector = YouTubeConnector(replace(settings_of_youtube, chunk_bytes=8 * KIB * KIB))
    tracemalloc.start()
    try:
        channel.publish(Content("Long", (film(size),)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 48 * KIB * KIB
    assert simulator.posts(channel.account)[0]["media"][0]["bytes"] == size
