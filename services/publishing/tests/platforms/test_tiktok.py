"""TikTok, against the simulator. Its app is audited unless a test says otherwise."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from publishing.platforms.base import (
    CommentQuery,
    Content,
    MediaSource,
    NotPublished,
    OpenComment,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
    Refusal,
    StillUnknown,
)

from .simulated import Killer, Page, Simulator

MIB = 2**20
MEDIA = "http://media.posthaste.test/media"
PUBLIC = {"privacy_level": "PUBLIC_TO_EVERYONE"}


@pytest.fixture
def creator(page_on: Callable[[str], Page]) -> Page:
    page = page_on("TT")
    page.change(connect_timeout_seconds=0.5, read_timeout_seconds=0.5)
    return page


@pytest.fixture
def content(film: Callable[..., MediaSource]) -> Content:
    """A video of three chunks."""
    return Content("Fresh bread 🍞 #bread", (film(16 * MIB),))


@pytest.fixture
def small(clip: bytes) -> Content:
    """A video of one chunk."""
    source = MediaSource("video", "https://files.example/small.mp4", body=clip, content_type="video/mp4")
    return Content("Fresh bread", (source,))


PHOTOS = Content(
    "Three loaves\nfor you",
    tuple(MediaSource("photo", f"{MEDIA}/photo-{side}x{side}.jpg") for side in (500, 600, 700)),
)


def publish_ids(creator: Page) -> list[str]:
    return [post["settings"]["publish_id"] for post in creator.posts]


def test_a_video_goes_out_in_chunks_and_is_private_unless_asked_otherwise(
    creator: Page, content: Content
) -> None:
    published = creator.publish(content)
    [post] = creator.posts
    assert post["text"] == content.message
    assert post["media"] == [{"type": "video", "bytes": 16 * MIB}]
    assert post["settings"]["privacy_level"] == "SELF_ONLY"
    assert published == Published(post["settings"]["publish_id"]), (
        "a private post never gets an id of its own"
    )


def test_a_public_post_has_its_id_and_address_once_tiktok_has_looked_it_over(
    creator: Page, small: Content, simulator: Simulator
) -> None:
    public = replace(small, settings=PUBLIC)
    published = creator.publish(public)
    [post] = creator.posts
    publish_id = post["settings"]["publish_id"]
    if published.remote_id != post["id"]:  # on a slow machine TikTok's look is over by now
        assert published == Published(publish_id, is_named_later=True)
    until = datetime.now(UTC) + timedelta(seconds=30)
    while (found := creator.look_up(public)).remote_id != post["id"]:
        assert datetime.now(UTC) < until
    assert found.permalink == f"https://www.tiktok.com/@{creator.account.username}/video/{post['id']}"
    assert creator.connector.named(creator.account, publish_id) == found
    simulator.call("POST", "metrics", platform="TT", post_id=post["id"], likes=5, comments=2, shares=1)
    for remote_id in (post["id"], publish_id):
        counts = creator.connector.engagement(creator.account, remote_id)
        assert (counts.likes, counts.comments, counts.shares, counts.permalink) == (5, 2, 1, found.permalink)


def test_photos_go_out_by_their_addresses(creator: Page) -> None:
    creator.publish(replace(PHOTOS, settings={"photo_cover_index": 1, "auto_add_music": True}))
    [post] = creator.posts
    assert [item["type"] for item in post["media"]] == ["photo"] * 3
    assert (post["text"], post["settings"]["title"]) == (PHOTOS.message, "Three loaves")
    assert (post["settings"]["photo_cover_index"], post["settings"]["auto_add_music"]) == (1, True)


def test_settings_are_passed_on_and_what_the_creator_may_not_is_switched_off(
    creator: Page, small: Content
) -> None:
    creator.publish(
        replace(small, settings={"disable_comment": True, "is_aigc": True, "brand_new": {"x": 1}})
    )
    taken = creator.posts[0]["settings"]
    assert (taken["disable_comment"], taken["is_aigc"], taken["brand_new"]) == (True, True, {"x": 1})
    assert (taken["disable_stitch"], "disable_duet" in taken) == (True, False)


def test_what_the_creator_may_not_is_found_before_anything_is_begun(
    creator: Page, film: Callable[..., MediaSource], small: Content
) -> None:
    endless = Content("x", (MediaSource("video", "https://a.example/b.mp4"),))
    of_followers = replace(small, settings={"privacy_level": "FOLLOWER_OF_CREATOR"})
    public, long = replace(small, settings=PUBLIC), Content("x", (film(6 * MIB, duration_seconds=601.0),))
    for is_audited, asked, code in (
        (True, of_followers, "privacy_level_option_mismatch"),
        (False, public, "unaudited_client_can_only_post_to_private_accounts"),
        (True, long, "duration_check_failed"),
        (True, endless, "MEDIA_LENGTH_UNKNOWN"),
        (True, Content("x"), "NO_MEDIA"),
        (True, Content("x", (MediaSource("photo", body=b"x"),)), "NO_URL"),
    ):
        creator.change(is_audited=is_audited)
        with pytest.raises(PlatformRefusal) as refusal:
            creator.publish(asked)
        assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, code)
        assert creator.look_up(asked) == NotPublished(settled=True)
    assert creator.posts == []


@pytest.mark.usefixtures("quick_link")
@pytest.mark.parametrize("mode", ["drop_after_accept", "hang"])
@pytest.mark.parametrize("operation", ["publish", "upload"])
def test_a_break_is_mended_within_the_attempt(
    operation: str, mode: str, creator: Page, content: Content, killer: Killer
) -> None:
    if operation == "upload":
        creator.stored = begun(creator, content, killer)
    creator.fault(operation, mode)
    published = creator.publish(content)
    assert publish_ids(creator) == [published.remote_id]


def begun(creator: Page, content: Content, killer: Killer) -> dict[str, Any]:
    """Kills an attempt after its first chunk, and returns its checkpoint."""
    assert killer.kill(creator, content, 3, "after") is None
    assert creator.stored["publish_id"]
    return dict(creator.stored)


def test_an_attempt_goes_on_where_the_last_one_ended(creator: Page, content: Content, killer: Killer) -> None:
    publish_id = begun(creator, content, killer)["publish_id"]
    assert creator.look_up(content) == NotPublished(settled=False)
    published = creator.publish(content)
    assert published.remote_id == publish_id
    assert publish_ids(creator) == [publish_id]


def test_an_upload_whose_address_is_no_longer_good_is_begun_anew(
    creator: Page, content: Content, killer: Killer
) -> None:
    first = begun(creator, content, killer)
    creator.stored["upload_url"] += "x"
    assert creator.publish(content).remote_id != first["publish_id"]
    creator.stored = first | {"begun_at": (datetime.now(UTC) - timedelta(hours=1)).isoformat()}
    creator.publish(content)
    assert first["publish_id"] not in publish_ids(creator)
    creator.stored = first | {
        "begun_at": (datetime.now(UTC) - timedelta(hours=1)).isoformat(),
        "last_at": "x",
    }
    with pytest.raises(OutcomeUnknown):
        creator.publish(content)


def test_an_upload_of_other_content_is_left_alone(creator: Page, content: Content, killer: Killer) -> None:
    begun(creator, content, killer)
    creator.publish(replace(content, message="edited"))
    assert [post["text"] for post in creator.posts] == ["edited"]


@pytest.mark.parametrize("mode", ["server_error", "drop_after_accept", "hang"])
def test_photos_without_an_answer_stay_unknown_for_good(mode: str, creator: Page) -> None:
    creator.fault("publish", mode)
    with pytest.raises(OutcomeUnknown):
        creator.publish(PHOTOS)
    assert creator.look_up(PHOTOS) == StillUnknown()


def test_too_many_calls_wait_for_the_next_minute(creator: Page, small: Content) -> None:
    creator.fault("publish", "rate_limit")
    with pytest.raises(PlatformRefusal) as refusal:
        creator.publish(small)
    assert refusal.value.wait_seconds == 60.0


def test_a_post_that_tiktok_gives_up_is_rejected_and_begun_anew(creator: Page, small: Content) -> None:
    creator.fault("status", "reject")
    with pytest.raises(PlatformRefusal) as refusal:
        creator.publish(small)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "frame_rate_check_failed")
    found = creator.look_up(small)
    assert isinstance(found, NotPublished)
    assert (found.settled, found.refusal.code) == (True, "frame_rate_check_failed")
    creator.publish(small)
    assert len(creator.posts) == 1


def test_what_tiktok_does_not_take_fails_in_processing(creator: Page) -> None:
    text = MediaSource("video", "https://a.example/a.mp4", body=b"hello", content_type="video/mp4")
    gone, png = (MediaSource("photo", f"{MEDIA}/{name}") for name in ("404.jpg", "photo-500x500.png"))
    for source, kind, code in (
        (text, Refusal.REJECTED, "file_format_check_failed"),
        (gone, Refusal.TRANSIENT, "photo_pull_failed"),
        (png, Refusal.REJECTED, "file_format_check_failed"),
    ):
        creator.stored = {}
        with pytest.raises(PlatformRefusal) as refusal:
            creator.publish(Content("x", (source,)))
        assert (refusal.value.kind, refusal.value.code) == (kind, code)


def test_a_token_that_ends_while_tiktok_works_leaves_the_outcome_open(
    creator: Page, small: Content, simulator: Simulator, killer: Killer
) -> None:
    creator.change(poll_limit_seconds=0.3)
    creator.fault("status", "expired", times=20)
    with pytest.raises(OutcomeUnknown):
        creator.publish(small)
    simulator.call("DELETE", "faults")
    found = killer.settle(creator, small)
    assert found == Published(publish_ids(creator)[0])
    assert creator.publish(small) == found


def test_a_post_that_takes_too_long_is_looked_up(creator: Page, small: Content) -> None:
    creator.change(poll_limit_seconds=0.0)
    with pytest.raises(OutcomeUnknown):
        creator.publish(small)
    assert isinstance(creator.look_up(small), (StillUnknown, Published))


@pytest.mark.parametrize("when", ["before", "after"])
def test_photos_killed_at_their_one_call_are_never_sent_again(
    when: str, creator: Page, killer: Killer
) -> None:
    assert killer.kill(creator, PHOTOS, 2, when) is None
    assert creator.look_up(PHOTOS) == StillUnknown()
    until = datetime.now(UTC) + timedelta(seconds=5)
    while when == "after" and not creator.posts:
        assert datetime.now(UTC) < until, "the photos are fetched after the answer"
    assert len(creator.posts) == (when == "after")


def test_a_hundred_dropped_answers_and_kills_make_a_hundred_videos(
    creator: Page, clip: bytes, killer: Killer
) -> None:
    creator.change(poll_limit_seconds=0.0)
    creator.fault("publish", "drop_after_accept", times=100)
    begun_ones = []
    for number in range(100):
        source = MediaSource("video", f"https://a.example/{number}.mp4", body=clip, content_type="video/mp4")
        one, loaf = copy(creator), Content(f"Loaf {number}", (source,))
        one.stored = {}
        killer.kill(one, loaf, number % 6 + 1, "after")
        begun_ones.append((one, loaf))
    made = [killer.settle(one, loaf).remote_id for one, loaf in begun_ones]
    assert sorted(publish_ids(creator)) == sorted(made)
    assert len(set(made)) == 100


def test_there_are_no_comments_and_no_counts_of_a_private_post(creator: Page, small: Content) -> None:
    connector, account, now = creator.connector, creator.account, datetime.now(UTC)
    for ask in (
        lambda: connector.comment(account, "1", "x"),
        lambda: connector.reply(account, "1", "x"),
        lambda: connector.find_comment(OpenComment(account, "1", "x", now)),
        lambda: connector.find_reply(OpenComment(account, "1", "x", now)),
        lambda: connector.list_comments(account, CommentQuery("1")),
    ):
        with pytest.raises(PlatformRefusal) as refusal:
            ask()
        assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "UNSUPPORTED_PLATFORM")
    published = creator.publish(small)
    with pytest.raises(PlatformRefusal) as refusal:
        connector.engagement(account, published.remote_id)
    assert refusal.value.code == "NOT_PUBLIC"
