"""Instagram, against the simulator."""

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

from .simulated import Page

MEDIA = "http://media.posthaste.test/media"


@pytest.fixture
def user(page_on: Callable[[str], Page]) -> Page:
    return page_on("IG")


@pytest.fixture
def twin(user: Page) -> Page:
    """Another post of the same page."""
    return user.other()


def _content(*names: str) -> Content:
    kinds = {"mp4": "video", "jpg": "photo", "png": "photo"}
    media = tuple(MediaSource(kinds[name.split(".")[-1]], f"{MEDIA}/{name}") for name in names)
    return Content("Fresh bread 🍞 #bread", media)


PHOTO = _content("photo-1080x1080.jpg")
REEL = _content("video-5s.mp4")
CAROUSEL = _content("photo-800x800.jpg", "video-5s.mp4", "photo-900x900.jpg")
KINDS = pytest.mark.parametrize("content", [PHOTO, REEL, CAROUSEL], ids=["photo", "reel", "carousel"])


@pytest.mark.parametrize(
    ("content", "asked"),
    [
        (PHOTO, {"alt_text": "a loaf", "share_to_feed": True, "other": 1}),
        (REEL, {"share_to_feed": False, "thumb_offset": 0, "cover_url": "https://example.com/c.jpg"}),
    ],
)
def test_settings_are_handed_on_where_they_mean_something(
    content: Content, asked: dict[str, Any], user: Page
) -> None:
    user.publish(replace(content, settings=asked))
    taken = user.posts[0]["settings"]
    if content is PHOTO:
        assert (taken["alt_text"], "share_to_feed" in taken) == ("a loaf", False)
    else:
        assert (taken["share_to_feed"], taken["thumb_offset"]) == ("false", "0")


def test_a_container_that_is_out_is_never_published_again(user: Page) -> None:
    user.fault("publish", "drop_after_accept")
    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            user.publish(PHOTO)
    assert len(user.posts) == 1


@pytest.mark.parametrize("mode", ["server_error", "hang"])
def test_a_call_that_failed_in_the_dark_is_tried_again_with_the_same_container(mode: str, user: Page) -> None:
    user.change(read_timeout_seconds=0.5)
    user.fault("publish", mode)
    with pytest.raises(OutcomeUnknown):
        user.publish(PHOTO)
    container_id = user.stored["container_id"]
    assert user.look_up(PHOTO) == NotPublished(settled=False)
    user.publish(PHOTO)
    [post] = user.posts
    assert post["settings"]["creation_id"] == container_id


def test_a_container_of_other_content_is_not_published(user: Page) -> None:
    user.fault("publish", "rate_limit")
    with pytest.raises(PlatformRefusal):
        user.publish(PHOTO)
    user.publish(replace(PHOTO, message="edited"))
    assert [post["text"] for post in user.posts] == ["edited"]


@KINDS
def test_media_that_fail_in_processing_are_rejected_and_staged_anew(content: Content, user: Page) -> None:
    user.fault("status", "reject")
    with pytest.raises(PlatformRefusal) as refusal:
        user.publish(content)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "2207085")
    user.publish(content)
    assert len(user.posts) == 1


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("photo-800x800.png", "36001/2207005"),
        ("photo-300x800.jpg", "36003/2207009"),
        ("text-as.jpg", "36001/2207005"),
    ],
)
def test_a_photo_that_instagram_does_not_take_is_rejected(name: str, code: str, user: Page) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        user.publish(_content(name))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, code)


def test_a_photo_that_could_not_be_fetched_is_worth_another_try(user: Page) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        user.publish(Content("x", (MediaSource("photo", "http://127.0.0.1:9/a.jpg"),)))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "9004/2207052")


def test_a_container_that_is_not_ready_in_time_is_used_by_the_next_attempt(user: Page) -> None:
    user.change(poll_limit_seconds=0.0)
    with pytest.raises(PlatformRefusal) as refusal:
        user.publish(REEL)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "NOT_READY")
    container_id = user.stored["container_id"]
    user.change(poll_limit_seconds=10.0)
    user.publish(REEL)
    assert user.posts[0]["settings"]["creation_id"] == container_id


def test_children_that_are_not_ready_in_time_are_used_by_the_next_attempt(user: Page) -> None:
    user.change(poll_limit_seconds=0.0)
    with pytest.raises(PlatformRefusal) as refusal:
        user.publish(CAROUSEL)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "NOT_READY")
    children = user.stored["children"]
    assert user.look_up(CAROUSEL) == NotPublished(settled=True)
    user.change(poll_limit_seconds=10.0)
    user.publish(CAROUSEL)
    assert user.posts[0]["settings"]["children"] == ",".join(children)


def test_a_child_the_platform_has_lost_is_replaced_and_the_others_are_kept(user: Page) -> None:
    user.change(poll_limit_seconds=0.0)
    with pytest.raises(PlatformRefusal):
        user.publish(CAROUSEL)
    first, _, last = user.stored["children"]
    user.stored["children"] = [first, "17900000000000000", last]
    user.change(poll_limit_seconds=10.0)
    user.publish(CAROUSEL)
    [post] = user.posts
    assert [item["type"] for item in post["media"]] == ["photo", "video", "photo"]
    used = post["settings"]["children"].split(",")
    assert (used[0], used[1] == "17900000000000000", used[2]) == (first, False, last)


def test_children_of_other_content_are_not_used(user: Page) -> None:
    user.change(poll_limit_seconds=0.0)
    with pytest.raises(PlatformRefusal):
        user.publish(CAROUSEL)
    stale = set(user.stored["children"])
    user.change(poll_limit_seconds=10.0)
    user.publish(_content("photo-900x900.jpg", "photo-800x800.jpg"))
    [post] = user.posts
    assert [item["type"] for item in post["media"]] == ["photo", "photo"]
    assert not stale & set(post["settings"]["children"].split(","))
    user.publish(PHOTO)
    assert set(user.stored) == {"content", "container_id"}


def test_a_container_the_platform_has_lost_is_replaced(user: Page) -> None:
    user.fault("publish", "rate_limit")
    with pytest.raises(PlatformRefusal):
        user.publish(PHOTO)
    user.stored["container_id"] = "17900000000000000"
    assert user.look_up(PHOTO) == NotPublished(settled=False)
    user.publish(PHOTO)
    assert len(user.posts) == 1


def test_polling_outlives_errors_of_the_poll(user: Page) -> None:
    user.fault("status", "server_error", times=2)
    assert user.publish(PHOTO).remote_id == user.posts[0]["id"]


def test_two_equal_posts_are_told_apart_by_what_is_known(user: Page) -> None:
    first = user.publish(PHOTO)
    user.stored = {}
    user.fault("publish", "server_error")
    with pytest.raises(OutcomeUnknown):
        user.publish(PHOTO)
    assert user.look_up(PHOTO, first.remote_id) == NotPublished(settled=False)
    second = user.publish(PHOTO)
    assert isinstance(user.look_up(PHOTO, first.remote_id), Published)
    assert second.remote_id != first.remote_id


OTHER = _content("photo-900x900.jpg")


@pytest.mark.parametrize("message", [PHOTO.message, ""])
def test_the_post_of_an_equal_caption_is_not_taken_while_the_container_is_not_published(
    message: str, user: Page, twin: Page
) -> None:
    first, second = (replace(content, message=message) for content in (PHOTO, OTHER))
    for attempt, content, mode in ((user, first, "server_error"), (twin, second, "drop_after_accept")):
        user.fault("publish", mode)
        with pytest.raises(OutcomeUnknown):
            attempt.publish(content)
    assert user.look_up(first) == NotPublished(settled=False), "the post there is the second one's"
    found = twin.look_up(second)
    assert isinstance(found, Published)
    assert (found.remote_id, len(found.guess.candidates)) == (user.posts[0]["id"], 1)
    user.publish(first)
    assert len(user.posts) == 2


def test_which_of_two_published_containers_a_post_came_from_is_a_guess(user: Page, twin: Page) -> None:
    for attempt, content in ((user, PHOTO), (twin, OTHER)):
        user.fault("publish", "drop_after_accept")
        with pytest.raises(OutcomeUnknown):
            attempt.publish(content)
    found = user.look_up(PHOTO)
    assert (found.remote_id, len(found.guess.candidates)) == (user.posts[0]["id"], 2)
    last = twin.look_up(OTHER, found.remote_id)
    assert (last.remote_id, len(last.guess.candidates)) == (user.posts[1]["id"], 1)


def test_a_published_container_whose_caption_was_changed_is_found_by_its_kind(user: Page) -> None:
    user.fault("publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        user.publish(PHOTO)
    found = user.look_up(replace(PHOTO, message="as it was meant"))
    assert (len(found.guess.candidates), found.guess.by_text) == (1, False)


def test_a_post_of_another_kind_or_caption_is_not_taken_for_ours(user: Page) -> None:
    user.fault("publish", "server_error")
    with pytest.raises(OutcomeUnknown):
        user.publish(PHOTO)
    stored, user.stored = user.stored, {}
    user.publish(REEL)
    user.stored = {}
    user.publish(replace(PHOTO, message="another"))
    user.stored = stored
    assert user.look_up(PHOTO) == NotPublished(settled=False)


def test_a_text_alone_is_refused_unsent(user: Page) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        user.publish(Content("text"))
    assert refusal.value.kind is Refusal.REJECTED


def test_answers_that_instagrams_list_leaves_out_are_asked_for(
    user: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    def row(number: int) -> dict[str, Any]:
        return {"id": f"{number}", "text": "x", "timestamp": f"2026-11-20T12:00:{number:02d}+0000"}

    shown = {"data": [row(1)], "paging": {"next": "https://elsewhere"}}
    asked = []

    def rows(account: Any, node: str, edge: str, **_: Any) -> Any:
        asked.append((node, edge))
        return iter([row(1), row(2), row(3)])

    graph = user.connector._graph
    monkeypatch.setattr(graph, "read", lambda *_, **__: {"data": [row(0) | {"replies": shown}]})
    monkeypatch.setattr(graph, "rows", rows)
    comments = user.comments("1")
    assert [one.id for one in comments] == ["3", "2", "1", "0"]
    assert (comments[-1].reply_count, asked) == (3, [("0", "replies")])
