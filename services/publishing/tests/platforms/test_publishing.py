"""Publishing on every platform, against the simulator."""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from publishing.platforms.base import (
    Checkpoint,
    Content,
    MediaSource,
    NotPublished,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
    Refusal,
    StillUnknown,
)
from publishing.platforms.http_client import poll

from .simulated import Killer, Page

MIB = 2**20
MEDIA = "http://media.posthaste.test/media"
PERMALINKS = {
    "FB": "https://www.facebook.com/", "IG": "https://www.instagram.com/",
    "LN": "https://www.linkedin.com/feed/update/urn:li:", "TW": "https://x.com/",
    "YT": "https://www.youtube.com/watch?v=",
}  # fmt: skip
#: Texts with everything that a platform encodes, counts or rewrites.
TEXTS = {
    "LN": "Größer & besser (8am) *now* 🍞 #fresh #a_b <at> @home [1] {x} | ~ \\ example.com/a_b",
    "TW": "Größer & besser <8am> 🍞 see example.com or https://example.org/bread?a=1&b=2 @all",
}
#: The files of each kind of post, by platform; those in `BY_URL` are fetched by the platform, others are sent.
FILES = {
    "FB text": (), "FB photo": ("photo-1080x1080.jpg",), "FB video": ("video-5s.mp4",),
    "FB album": ("photo-300x200.png", "photo-400x200.jpg", "photo-500x200.jpg"),
    "IG photo": ("photo-1080x1080.jpg",), "IG reel": ("video-5s.mp4",),
    "IG carousel": ("photo-800x800.jpg", "video-5s.mp4", "photo-900x900.jpg"),
    "LN text": (), "LN photo": ("photo-300x200.png",), "LN video": (9 * MIB,),
    "LN photos": ("photo-300x200.png", "photo-400x200.jpg", "photo-500x200.gif"),
    "TW text": (), "TW photo": ("photo-300x200.png",), "TW gif": ("photo-64x64.gif",), "TW video": ("video-5s.mp4",),
    "TW photos": ("photo-300x200.png", "photo-400x200.jpg", "photo-500x200.webp", "photo-600x200.jpg"),
    "TT video": (16 * MIB,), "TT clip": ("video-5s.mp4",), "TT photos": ("photo-500x500.jpg", "photo-600x600.jpg"),
    "YT video": (700 * 1024,),
}  # fmt: skip
BY_URL = ("FB", "IG", "TT photos")


def kinds(*starts: str, without: tuple[str, ...] = ()) -> Any:
    """Parametrises a test with the kinds of post whose names begin with one of these texts."""
    names = [name for name in FILES if name.startswith(starts or tuple(FILES)) and name not in without]
    return pytest.mark.parametrize("kind", names)


@pytest.fixture
def content(file: Callable[[str], MediaSource], film: Callable[..., MediaSource]) -> Callable[[str], Content]:
    """`content(kind)` makes the content of a post of this kind."""

    def source(kind: str, name: str | int) -> MediaSource:
        if isinstance(name, int):
            return film(name)
        if kind.startswith(BY_URL):
            return MediaSource("video" if name.endswith("mp4") else "photo", f"{MEDIA}/{name}")
        return file(name)

    def make(kind: str) -> Content:
        message = TEXTS.get(kind[:2], "Fresh bread at eight, größer than ever 🍞")
        return Content(message, tuple(source(kind, name) for name in FILES[kind]))

    return make


@pytest.fixture
def page(page_on: Callable[[str], Page], kind: str) -> Page:
    return page_on(kind[:2])


def post_id(page: Page, post: dict[str, Any]) -> str:
    """Returns the id that a connector gives to a post that it has just made."""
    return str(post["settings"]["publish_id"] if page.platform == "TT" else post["id"])


def refusal_of(page: Page, content: Content) -> PlatformRefusal:
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(content)
    return refusal.value


def lose(page: Page, content: Content, mode: str = "drop_after_accept") -> None:
    """Publishes and loses the answer. The platform has made the post, except with the modes `server_error` and
    `hang`.
    """
    page.fault("publish", mode)
    with pytest.raises(OutcomeUnknown):
        page.publish(content)


@kinds()
def test_a_post_goes_out_with_its_content(kind: str, page: Page, content: Callable[[str], Content]) -> None:
    posted = content(kind)
    published = page.publish(posted)
    [post] = page.posts
    assert (published.remote_id, post["text"]) == (post_id(page, post), posted.message)
    assert [item["type"] for item in post["media"]] == [source.type for source in posted.media]
    if not kind.startswith(BY_URL):
        assert [item["bytes"] for item in post["media"]] == [source.length_bytes for source in posted.media]
    assert (published.permalink or "").startswith(PERMALINKS.get(kind[:2], ""))
    if published.published_at is not None:
        assert abs(published.published_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert (published.published_at is None) == (kind[:2] in ("LN", "TW", "TT"))


@kinds("FB", "IG", "LN", "TW")
def test_an_answer_that_never_came_is_looked_up_and_found(
    kind: str, page: Page, content: Callable[[str], Content]
) -> None:
    lose(page, content(kind))
    [post] = page.posts

    def look() -> Any:
        outcome = page.look_up(content(kind))
        return None if isinstance(outcome, StillUnknown) else outcome

    found = poll(page.settings, look)
    assert isinstance(found, Published)
    assert found.remote_id == post["id"]
    assert None not in (found.permalink, found.published_at)


@pytest.mark.parametrize("mode", ["server_error", "hang"])
@kinds("FB", "LN text", "LN photos", "TW text", "TW photos")
def test_a_call_that_was_lost_on_its_way_is_unknown_and_then_not_found(
    kind: str, mode: str, page: Page, content: Callable[[str], Content]
) -> None:
    page.change(read_timeout_seconds=0.5)
    lose(page, content(kind), mode)
    if kind == "FB video":  # Facebook lists a video when it is ready; a day is waited for that
        page.began_at -= timedelta(hours=25)
    assert page.look_up(content(kind)) == NotPublished(settled=False)
    page.publish(content(kind))
    assert len(page.posts) == 1


META = ("368/1346003", "190/463")
#: Codes of a rejection and of an expired token, and of a rate limit.
CODES = {
    "FB": (*META, "32"), "IG": (*META, "80002"), "TW": ("403", "401", "429"),
    "LN": ("UNPROCESSABLE_ENTITY", "EXPIRED_ACCESS_TOKEN", "TOO_MANY_REQUESTS"),
    "TT": ("spam_risk", "access_token_invalid", "rate_limit_exceeded"),
    "YT": ("invalidVideoMetadata", "authError", "rateLimitExceeded"),
}  # fmt: skip
MODES = {"reject": Refusal.REJECTED, "expired": Refusal.EXPIRED, "rate_limit": Refusal.RATE_LIMITED}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("kind", "operation"),
    [
        *((kind, "publish") for kind in FILES if kind[:2] == "FB"), ("IG photo", "publish"), ("IG photo", "upload"),
        ("LN text", "publish"), ("TW text", "publish"), ("TT clip", "publish"), ("TT clip", "upload"),
        ("TT photos", "publish"), ("YT video", "publish"), ("YT video", "upload"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_kind_it_is_and_nothing_was_sent(
    kind: str, operation: str, mode: str, page: Page, content: Callable[[str], Content]
) -> None:
    page.fault(operation, mode)
    refusal = refusal_of(page, content(kind))
    code = CODES[kind[:2]][list(MODES).index(mode)]
    assert (refusal.kind, refusal.code) == (MODES[mode], code)
    assert refusal.retryable == (mode == "rate_limit")
    if kind[:2] != "YT":
        assert (refusal.wait_seconds is not None) == (mode == "rate_limit")
    assert page.posts == []
    if kind[:2] in ("LN", "TW", "TT"):
        assert page.look_up(content(kind)) == NotPublished(settled=True)
    page.publish(content(kind))
    assert len(page.posts) == 1


@pytest.mark.parametrize("mode", ["server_error", "hang", "drop_after_accept"])
@kinds("FB album", "IG", "LN photos", "LN video", "TW photos", "TW video", "TT clip", "YT")
def test_what_could_not_be_staged_is_not_published_and_can_be_tried_again(
    kind: str, mode: str, page: Page, content: Callable[[str], Content]
) -> None:
    if mode == "hang":
        page.change(read_timeout_seconds=0.5)
    page.fault("upload", mode)
    assert refusal_of(page, content(kind)).kind is Refusal.TRANSIENT
    assert page.look_up(content(kind)) == NotPublished(settled=True)
    page.publish(content(kind))
    assert len(page.posts) == 1


@kinds("FB album", "IG photo", "LN text", "TW text", "TT video", "YT")
def test_nothing_is_sent_when_the_checkpoint_cannot_be_stored(
    kind: str, page: Page, content: Callable[[str], Content]
) -> None:
    def fail(values: dict[str, Any]) -> None:
        raise RuntimeError("lease lost")

    with pytest.raises(RuntimeError):
        page.connector.publish(page.account, content(kind), Checkpoint(store=fail))
    assert page.posts == []


@kinds("LN photo", "TW photo", without=("LN photos", "TW photos"))
def test_two_equal_pictures_are_told_apart(kind: str, page: Page, content: Callable[[str], Content]) -> None:
    page.publish(content(kind))
    page.stored = {}
    lose(page, content(kind), "server_error")
    assert page.look_up(content(kind)) == NotPublished(settled=False)


@kinds("LN text", "TW text")
def test_a_post_that_belongs_to_another_attempt_is_not_taken_for_this_one(
    kind: str, page: Page, content: Callable[[str], Content]
) -> None:
    first = page.publish(content(kind))
    assert isinstance(page.look_up(content(kind)), Published)
    assert page.look_up(content(kind), first.remote_id) == NotPublished(settled=False)


@kinds("LN photo", "TW photo", without=("LN photos", "TW photos"))
def test_a_file_of_unknown_length_is_not_sent(
    kind: str, page: Page, content: Callable[[str], Content]
) -> None:
    unknown = MediaSource("photo", "https://a.example/a.jpg", content_type="image/jpeg")
    refusal = refusal_of(page, replace(content(kind), media=(unknown,)))
    assert (refusal.kind, refusal.code) == (Refusal.REJECTED, "MEDIA_LENGTH_UNKNOWN")
    assert page.posts == []


@pytest.mark.parametrize(
    ("kind", "peak_bytes", "changes"),
    [
        ("FB video", 48 * MIB, {}),
        ("LN video", 8 * MIB, {}),
        ("TW video", 16 * MIB, {}),
        ("TT video", 48 * MIB, {"chunk_bytes": 16 * MIB}),
        ("YT video", 48 * MIB, {"chunk_bytes": 8 * MIB}),
    ],
    ids=["FB", "LN", "TW", "TT", "YT"],
)
def test_a_video_of_250_mb_arrives_and_is_never_in_memory(
    peak_bytes: int, changes: dict[str, Any], page: Page, film: Callable[..., MediaSource]
) -> None:
    # Tracing is slow, and the simulator looks through the whole film before it answers.
    page.change(read_timeout_seconds=20.0, **changes)
    tracemalloc.start()
    try:
        page.publish(Content("Long", (film(250 * MIB),)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert page.posts[0]["media"] == [{"type": "video", "bytes": 250 * MIB}]
    assert peak < peak_bytes


@pytest.mark.parametrize("when", ["before", "after"])
@kinds("LN text", "LN photos", "LN video", "TW text", "TW photos", "TW video", "TT video", "YT")
def test_a_publish_killed_at_any_call_comes_out_once(
    kind: str, when: str, page_on: Callable[[str], Page], content: Callable[[str], Content], killer: Killer
) -> None:
    was_killed, number = True, 0
    while was_killed:
        number += 1
        page = page_on(kind[:2])
        if kind[:2] == "TW":
            page.change(segment_bytes=128 * 1024)
        published, was_killed = killer.publish(page, content(kind), number, when)
        assert [post_id(page, post) for post in page.posts] == [published.remote_id]
    assert number > (1 if FILES[kind] == () else 5)


@kinds("LN text", "TW text")
def test_a_hundred_dropped_answers_make_a_hundred_posts(kind: str, page: Page) -> None:
    page.fault("publish", "drop_after_accept", times=100)
    found = set()
    for number in range(100):
        page.stored, posted = {}, Content(f"number {number}")
        with pytest.raises(OutcomeUnknown):
            page.publish(posted)
        outcome = page.look_up(posted)
        assert isinstance(outcome, Published)
        found.add(outcome.remote_id)
    assert found == {post["id"] for post in page.posts}
    assert len(found) == 100
