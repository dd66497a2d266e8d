"""Files that our AI made are labelled on every platform that has such a label, whatever the post's settings say."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from publishing.platforms.base import Content, MediaSource

from .simulated import Page

HOST = "http://media.posthaste.test/media"
PHOTO = MediaSource("photo", f"{HOST}/photo-800x800.jpg")
REEL = MediaSource("video", f"{HOST}/video-5s.mp4")


@pytest.fixture(
    params=["FB pieces", "FB address", "IG photo", "IG reel", "IG carousel", "TT", "TT photo", "TW", "YT"]
)
def case(request: pytest.FixtureRequest, film: Callable[..., MediaSource]) -> Any:
    """The platform, the files, the name of the label's setting, and its value on the platform."""
    label = "is_ai_generated"
    return {
        "FB pieces": ("FB", (film(1_000_000),), label, "true"),
        "FB address": ("FB", (REEL,), label, "true"),
        "IG photo": ("IG", (PHOTO,), label, "true"),
        "IG reel": ("IG", (REEL,), label, "true"),
        "IG carousel": ("IG", (PHOTO, REEL), label, "true"),
        "TT": ("TT", (film(1_000_000),), "is_aigc", True),
        "TT photo": ("TT", (PHOTO,), "is_aigc", True),
        "TW": ("TW", (film(1_000_000),), "made_with_ai", True),
        "YT": ("YT", (film(1_000_000),), "contains_synthetic_media", True),
    }[request.param]


def label_of(page: Page, content: Content, name: str) -> Any:
    page.publish(content)
    return page.posts[-1]["settings"].get(name)


def test_media_of_our_ai_are_marked_whatever_the_settings_say(
    case: Any, page_on: Callable[[str], Page]
) -> None:
    platform, files, name, marked = case
    made = (replace(files[0], is_ai_made=True), *files[1:])
    for number, settings in enumerate(({}, {name: False})):
        page = page_on(platform)
        assert label_of(page, Content(f"made {number}", made, settings), name) == marked


def test_other_media_are_marked_if_the_client_asks_for_it(case: Any, page_on: Callable[[str], Page]) -> None:
    platform, files, name, marked = case
    assert label_of(page_on(platform), Content("asked", files, {name: True}), name) == marked
    assert not label_of(page_on(platform), Content("plain", files), name)
