"""Posts that were published after the backup that was restored: the platform has them, but their checkpoints are
older.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from publishing.platforms.base import (
    Checkpoint,
    Content,
    MediaSource,
    NotPublished,
    Published,
    StillUnknown,
)

from .simulated import Page

MEDIA = "http://media.posthaste.test/media"
RESTORED = {"restored": "2026-01-02T03:04:05.678901+00:00"}
#: By platform and what is posted there.
FILES = {
    "FB text": (),
    "FB photo": ("photo-400x400.jpg",),
    "FB album": ("photo-400x200.jpg", "photo-500x200.jpg"),
    "FB video": ("video-5s.mp4",),
    "IG photo": ("photo-800x800.jpg",),
    "IG reel": ("video-5s.mp4",),
    "IG carousel": ("photo-800x800.jpg", "photo-900x900.jpg"),
    "TW text": (),
    "TW photos": ("photo-400x200.jpg", "photo-600x200.jpg"),
    "TW video": ("video-5s.mp4",),
    "LN text": (),
    "LN photo": ("photo-400x200.jpg",),
    "LN photos": ("photo-400x200.jpg", "photo-500x200.jpg"),
    "LN video": ("video-5s.mp4",),
    "YT video": ("video-5s.mp4",),
}
KINDS = pytest.mark.parametrize("kind", FILES)


@pytest.fixture
def page(page_on: Callable[[str], Page]) -> Callable[[str], Page]:
    """`page(platform)` makes a page whose post is attempted after a restore."""

    def make(platform: str) -> Page:
        made = page_on(platform)
        made.stored = RESTORED
        return made

    return make


@pytest.fixture
def content(file: Callable[[str], MediaSource]) -> Callable[..., Content]:
    def source(name: str, has_bytes: bool) -> MediaSource:
        found = file(name)
        return found if has_bytes else MediaSource(found.type, f"{MEDIA}/{name}")

    def make(kind: str, message: str = "Fresh bread at eight") -> Content:
        # Instagram fetches files itself.
        return Content(message, tuple(source(name, kind[:2] != "IG") for name in FILES[kind]))

    return make


def untyped(content: Content) -> Content:
    """Returns the content with files of unknown type, as a look-up has it if nobody had fetched them before the
    backup.
    """
    return replace(content, media=tuple(MediaSource("photo", source.url) for source in content.media))


@KINDS
def test_what_is_there_is_found_without_its_checkpoint(
    kind: str, page: Callable[[str], Page], content: Callable[..., Content]
) -> None:
    ours, posted = page(kind[:2]), content(kind)
    published = ours.publish(posted)
    ours.stored = RESTORED
    found = ours.look_up(untyped(posted))
    assert isinstance(found, Published)
    assert found.remote_id == published.remote_id
    assert len(ours.posts) == 1


@KINDS
def test_what_is_not_there_is_not_found_among_others(
    kind: str, page: Callable[[str], Page], content: Callable[..., Content]
) -> None:
    ours = page(kind[:2])
    assert ours.look_up(content(kind)) == NotPublished(settled=False), "asked, and not taken from nothing"
    ours.publish(content(kind, "Something else"))
    ours.stored = RESTORED
    assert ours.look_up(content(kind)) == NotPublished(settled=False)


@KINDS
def test_a_post_that_is_another_ones_is_not_taken(
    kind: str, page: Callable[[str], Page], content: Callable[..., Content]
) -> None:
    ours = page(kind[:2])
    other = ours.publish(content(kind))
    ours.stored = RESTORED
    assert ours.look_up(content(kind), other.remote_id) == NotPublished(settled=False)


@pytest.mark.parametrize(
    ("kind", "older"),
    [
        ("FB video", {"session": {"video_id": "1"}}),
        ("TW photos", {"sent_at": 1_700_000_000, "media": [{"id": "1"}]}),
        ("LN photos", {"sent_at": 1_700_000_000, "media": [{"urn": "urn:li:image:1"}]}),
    ],
    ids=str,
)
def test_a_checkpoint_of_an_earlier_attempt_does_not_hide_what_is_there(
    kind: str, older: dict[str, Any], page: Callable[[str], Page], content: Callable[..., Content]
) -> None:
    ours, posted = page(kind[:2]), content(kind)
    published = ours.publish(posted)
    ours.stored = older
    assert isinstance(ours.look_up(posted), NotPublished)
    ours.stored = older | RESTORED
    found = ours.look_up(posted)
    assert isinstance(found, Published)
    assert found.remote_id == published.remote_id


def test_the_first_word_of_another_attempt_ends_it() -> None:
    stored: list[dict[str, Any]] = []
    checkpoint = Checkpoint(RESTORED | {"content": "mark"}, stored.append)
    assert checkpoint.restored_at == datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
    checkpoint.save(sent_at=1)
    assert checkpoint.restored_at is None
    assert stored == [{"content": "mark", "sent_at": 1}]


def test_a_video_that_facebook_may_still_have_in_processing_is_not_sent_again(
    page: Callable[[str], Page], content: Callable[..., Content]
) -> None:
    ours = page("FB")
    ours.stored = {"restored": datetime.now(UTC).isoformat()}
    assert ours.look_up(content("FB video")) == StillUnknown()
    assert ours.look_up(content("FB photo")) == NotPublished(settled=False)


def test_what_cannot_be_looked_for_is_never_sent_again(
    page: Callable[[str], Page], content: Callable[..., Content]
) -> None:
    creator, posted = page("TT"), content("YT video")
    creator.publish(posted)
    creator.stored = RESTORED
    assert creator.look_up(posted) == StillUnknown()
    assert len(creator.posts) == 1
