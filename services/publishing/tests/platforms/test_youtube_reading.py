"""YouTube's comments, counts and channel, against the simulator."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from publishing.platforms.base import (
    Content,
    MediaSource,
    OpenComment,
    OutcomeUnknown,
    PlatformRefusal,
    Refusal,
)
from publishing.platforms.limits import check_content

from .simulated import Page, Simulator


@pytest.fixture
def channel(page_on: Callable[[str], Page]) -> Page:
    return page_on("YT")


@pytest.fixture
def video_id(channel: Page, clip: bytes) -> str:
    source = MediaSource("video", "https://a.example/a.mp4", body=clip, content_type="video/mp4")
    return str(channel.publish(Content("Fresh bread", (source,))).remote_id)


def test_comments_come_newest_first_with_all_their_replies_in_plain_text(
    channel: Page, video_id: str
) -> None:
    first = channel.visit(video_id, "Tom & Jerry\nlike it")
    replies = [channel.visit(video_id, f"reply {number}", first) for number in range(5)]
    second = channel.visit(video_id, "Me too")
    found = channel.comments(video_id)
    assert [one.id for one in found][:1] == [second]
    assert {one.id for one in found} == {first, second, *replies}
    shown = next(one for one in found if one.id == first)
    assert (shown.text, shown.author_name, shown.reply_count) == ("Tom & Jerry\nlike it", "Ann Ade", 5)
    assert {one.parent_id for one in found if one.id in replies} == {first}


def test_a_full_page_ends_with_a_cursor_and_since_leaves_out_the_old(
    channel: Page, video_id: str, simulator: Simulator
) -> None:
    ids = []
    try:
        for number in range(3):
            simulator.call("POST", "clock", shift_seconds=number)
            ids.append(channel.visit(video_id, f"number {number}"))
    finally:
        simulator.call("POST", "clock", shift_seconds=0)
    assert channel.comment_pages(video_id, 2) == [ids[:0:-1], ids[:1]]
    found = channel.comments(video_id)
    assert channel.comments(video_id, since=found[1].created_at) == found[:1]


def test_a_token_that_is_not_known_is_expired(channel: Page) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        channel.connector.profile(replace(channel.account, access_token="ya29.none"))
    assert refusal.value.kind is Refusal.EXPIRED


@pytest.mark.parametrize("is_reply", [False, True])
def test_an_answer_lands_under_the_comment_that_began_the_thread(
    is_reply: bool, channel: Page, video_id: str
) -> None:
    first = channel.visit(video_id, "How long does it keep?")
    answered = channel.visit(video_id, "Same question", first) if is_reply else first
    made = channel.connector.reply(channel.account, answered, "Three days.")
    [post] = channel.posts
    kept = next(one for one in post["comments"] if one["id"] == made)
    assert (kept["parent_id"], kept["text"]) == (first, "Three days.")


def test_a_first_comment_is_made_and_found(channel: Page, video_id: str) -> None:
    connector, account, began_at = channel.connector, channel.account, datetime.now(UTC)
    made = connector.comment(account, video_id, "Recipe below")
    channel.visit(video_id, "Recipe below")
    assert channel.find("comment", video_id, "Recipe below") == made
    assert channel.find("comment", video_id, "Recipe below", made) is None
    later = began_at + timedelta(hours=1)
    assert connector.find_comment(OpenComment(account, video_id, "Another", later)) is None


def test_a_failure_in_the_middle_of_a_comment_leaves_it_open(channel: Page, video_id: str) -> None:
    channel.fault("comment", "server_error")
    with pytest.raises(OutcomeUnknown):
        channel.connector.comment(channel.account, video_id, "Thank you")


def test_a_comment_that_is_gone_cannot_be_answered(channel: Page) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        channel.connector.reply(channel.account, "Ugx0", "Hello?")
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "commentNotFound")


def test_comments_that_are_closed_are_a_matter_of_permission(channel: Page, clip: bytes) -> None:
    source = MediaSource("video", "https://a.example/kids.mp4", body=clip, content_type="video/mp4")
    video = channel.publish(Content("For kids", (source,), {"made_for_kids": True}))
    with pytest.raises(PlatformRefusal) as refusal:
        channel.connector.comment(channel.account, video.remote_id, "Hello")
    assert (refusal.value.kind, refusal.value.code) == (Refusal.PERMISSION, "commentsDisabled")
    assert channel.connector.engagement(channel.account, video.remote_id).comments == 0


def test_a_first_comment_is_counted_in_characters() -> None:
    assert check_content("YT", "text", ["video"], "é" * 8_000) == []
    assert len(check_content("YT", "text", ["video"], "é" * 8_001)) == 1
