"""A connector whose permission to send ends makes nothing visible, at whatever moment the permission ends."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from publishing.platforms.base import Content, MediaSource
from publishing.platforms.http_client import permission

from .simulated import Page, Simulator

MEDIA = "http://media.posthaste.test/media"
PHOTO = MediaSource("photo", f"{MEDIA}/photo-1080x1080.jpg", content_type="image/jpeg")


class Gone(Exception):
    """Stands for the service's error that the claim may have lapsed."""


class Permission:
    """Permits this many calls and refuses all later ones."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Gone


@pytest.fixture
def media(simulator: Simulator, film: Callable[..., MediaSource]) -> dict[str, tuple[MediaSource, ...]]:
    body, _ = simulator.media("photo-1080x1080.jpg")
    return {
        "text": (),
        "photo by address": (PHOTO,),
        "photo": (replace(PHOTO, body=body, size_bytes=len(body)),),
        "album": (PHOTO, PHOTO),
        "film by address": (MediaSource("video", f"{MEDIA}/video-5s.mp4"),),
        "film": (film(600 * 1024),),
    }


@pytest.mark.parametrize("times", [0, 1])
@pytest.mark.parametrize(
    ("platform", "kind"),
    [
        *(("FB", kind) for kind in ("text", "photo by address", "photo", "album", "film by address", "film")),
        *(("IG", kind) for kind in ("photo by address", "album")),
        ("LN", "text"),
        ("TW", "text"),
        *(("TT", kind) for kind in ("photo by address", "film")),
        ("YT", "film"),
    ],
)
def test_without_permission_nothing_becomes_visible(
    page_on: Callable[[str], Page],
    media: dict[str, tuple[MediaSource, ...]],
    platform: str,
    kind: str,
    times: int,
) -> None:
    """The permission ends before the call, or when the call has begun and its body is not complete."""
    attempt = page_on(platform)
    with permission(Permission(times)), pytest.raises(Gone):
        attempt.publish(Content("Fresh bread", media[kind]))
    assert attempt.posts == []
    assert attempt.publish(Content("Fresh bread", media[kind])).remote_id
    assert len(attempt.posts) == 1


@pytest.mark.parametrize("say", ["comment", "reply"])
def test_without_permission_nothing_is_said_under_a_post(page_on: Callable[[str], Page], say: str) -> None:
    attempt = page_on("FB")
    remote_id = attempt.publish(Content("Fresh bread")).remote_id
    with permission(Permission(1)), pytest.raises(Gone):
        getattr(attempt.connector, say)(attempt.account, remote_id, "first!")
    assert attempt.posts[0]["comments"] == []
