"""YouTube's comments, counts and channel, against the simulator."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from publishing.platforms.base import Content, MediaSource, OutcomeUnknown, PlatformRefusal, Refusal
from publishing.platforms.limits import check_content
from publishing.platforms.youtube.connector import YouTubeConnector
from publishing.platforms.youtube.settings import YouTubeSettings


@pytest.fixture
def channel(attempts: Callable[[str], Any], simulator: Any) -> Any:
    made = attempts("YT")
    made.connector = YouTubeConnector(
        YouTubeSettings(
            api_url=simulator.url, upload_url=simulator.url, read_timeout_seconds=1.0, poll_limit_seconds=0.0
        )
    )
    return made


@pytest.fixture
def video_id(channel: Any, simulator: Any) -> str:
    clip = simulator._session.get(f"{simulator.url}/media/video-5s.mp4", timeout=10).content
    source = MediaSource("video", "https://a.example/a.mp4", body=clip, content_type="video/mp4")
    return str(channel.publish(Content("Fresh bread", (source,))).remote_id)


@pytest.fixture
def visit(simulator: Any, video_id: str) -> Callable[..., str]:
    """A visitor comments; the comment's id."""

    def make(text: str, parent_id: str | None = None) -> str:
        body = {
            "platform": "YT",
            "post_id": video_id,
            "from": "Vera Visitor",
            "text": text,
            "parent_id": parent_id,
        }
        return str(simulator.call("POST", "comments", **body)["id"])

    return make


def test_comments_come_newest_first_with_all_their_replies_in_plain_text(
    channel: Any, video_id: str, visit: Callable[..., str]
) -> None:
    first = visit("Tom & Jerry\nlike it")
    replies = [visit(f"reply {number}", first) for number in range(5)]
    second = visit("Me too")
    found = channel.connector.list_comments(channel.account, video_id).comments
    assert [one.id for one in found][:1] == [second]
    assert {one.id for one in found} == {first, second, *replies}
    shown = next(one for one in found if one.id == first)
    assert (shown.text, shown.author_name, shown.reply_count) == ("Tom & Jerry\nlike it", "Vera Visitor", 5)
    assert {one.parent_id for one in found if one.id in replies} == {first}


def test_a_page_ends_with_a_cursor_and_since_leaves_out_the_old(
    channel: Any, video_id: str, visit: Callable[..., str], simulator: Any
) -> None:
    ids = []
    try:
        for number in range(3):
            simulator.call("POST", "clock", shift_seconds=number)
            ids.append(visit(f"number {number}"))
    finally:
        simulator.call("POST", "clock", shift_seconds=0)
    read = channel.connector.list_comments
    page = read(channel.account, video_id, limit=2)
    rest = read(channel.account, video_id, limit=2, cursor=page.next_cursor)
    assert [one.id for one in (*page.comments, *rest.comments)] == ids[::-1]
    assert rest.next_cursor is None
    assert read(channel.account, video_id, since=page.comments[1].created_at).comments == page.comments[:1]


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_page_holds_no_more_than_asked_for_and_the_pages_hold_all_once(
    limit: int, channel: Any, video_id: str, visit: Callable[..., str]
) -> None:
    first, second = visit("How long does it keep?"), visit("Me too")
    made = {first, second, *(visit(f"reply {number}", first) for number in range(3)), visit("Last", second)}
    sizes, seen, cursor = [], [], None
    while True:
        page = channel.connector.list_comments(channel.account, video_id, limit=limit, cursor=cursor)
        sizes.append(len(page.comments))
        seen += [one.id for one in page.comments]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sizes[0] == limit >= max(sizes)
    assert (len(seen), set(seen)) == (6, made)


@pytest.mark.parametrize("cursor", ["CAA1", "WyIiLCIwIiwiIiwiIl0", "WyIiLCIxIiwiIl0", "ü"])
def test_a_cursor_of_nobodys_is_refused_for_good(cursor: str, channel: Any, video_id: str) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        channel.connector.list_comments(channel.account, video_id, cursor=cursor)
    assert refusal.value.kind is Refusal.REJECTED


@pytest.mark.parametrize("is_reply", [False, True])
def test_an_answer_lands_under_the_comment_that_began_the_thread(
    is_reply: bool, channel: Any, video_id: str, visit: Callable[..., str], simulator: Any
) -> None:
    first = visit("How long does it keep?")
    answered = visit("Same question", first) if is_reply else first
    made = channel.connector.reply(channel.account, answered, "Three days.")
    [post] = simulator.posts(channel.account)
    kept = next(one for one in post["comments"] if one["id"] == made.id)
    assert (kept["parent_id"], kept["text"], made.parent_id) == (first, "Three days.", answered)


def test_a_first_comment_is_made_and_found(channel: Any, video_id: str, visit: Callable[..., str]) -> None:
    connector, account, began_at = channel.connector, channel.account, datetime.now(UTC)
    made = connector.comment(account, video_id, "Recipe below")
    visit("Recipe below")
    found = connector.find_comment(account, video_id, "Recipe below", began_at=began_at)
    assert found.id == made.id
    assert (
        connector.find_comment(account, video_id, "Recipe below", began_at=began_at, known_ids=[made.id])
        is None
    )
    later = began_at + timedelta(hours=1)
    assert connector.find_comment(account, video_id, "Another", began_at=later) is None


@pytest.mark.parametrize("operation", ["comment", "reply"])
def test_an_answer_that_never_came_is_found(
    operation: str, channel: Any, video_id: str, visit: Callable[..., str], simulator: Any
) -> None:
    connector, account, began_at = channel.connector, channel.account, datetime.now(UTC)
    under = video_id if operation == "comment" else visit("Hello", visit("Hi"))
    simulator.fault(account, operation, "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        getattr(connector, operation)(account, under, "Thank you")
    found = getattr(connector, f"find_{operation}")(account, under, "Thank you", began_at=began_at)
    assert found.parent_id == under
    assert getattr(connector, f"find_{operation}")(
        account, under, "Thank you", began_at=began_at, known_ids=[found.id]
    ) is None  # fmt: skip


def test_a_failure_in_the_middle_of_a_comment_leaves_it_open(
    channel: Any, video_id: str, simulator: Any
) -> None:
    simulator.fault(channel.account, "comment", "server_error")
    with pytest.raises(OutcomeUnknown):
        channel.connector.comment(channel.account, video_id, "Thank you")


def test_a_comment_that_is_gone_cannot_be_answered(channel: Any) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        channel.connector.reply(channel.account, "Ugx0", "Hello?")
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "commentNotFound")


def test_comments_that_are_closed_are_a_matter_of_permission(channel: Any, simulator: Any) -> None:
    clip = simulator._session.get(f"{simulator.url}/media/video-5s.mp4", timeout=10).content
    source = MediaSource("video", "https://a.example/kids.mp4", body=clip, content_type="video/mp4")
    video = channel.publish(Content("For kids", (source,), {"made_for_kids": True}))
    with pytest.raises(PlatformRefusal) as refusal:
        channel.connector.comment(channel.account, video.remote_id, "Hello")
    assert (refusal.value.kind, refusal.value.code) == (Refusal.PERMISSION, "commentsDisabled")
    assert channel.connector.engagement(channel.account, video.remote_id).comments == 0


def test_counts_and_channel(channel: Any, video_id: str, simulator: Any) -> None:
    simulator.call("POST", "metrics", platform="YT", post_id=video_id, likes=7, comments=3, shares=2)
    counts = channel.connector.engagement(channel.account, video_id)
    assert (counts.likes, counts.comments, counts.shares) == (7, 3, None)
    [known] = [row for row in simulator.accounts() if row["account_id"] == channel.account.remote_account_id]
    profile = channel.connector.profile(channel.account)
    assert (profile.name, profile.username, profile.followers) == (
        known["name"], known["username"], known["followers"],
    )  # fmt: skip
    with pytest.raises(PlatformRefusal) as refusal:
        channel.connector.profile(replace(channel.account, access_token="ya29.none"))
    assert refusal.value.kind is Refusal.EXPIRED


def test_a_first_comment_is_counted_in_characters() -> None:
    assert check_content("YT", "text", ["video"], "é" * 8_000) == []
    assert len(check_content("YT", "text", ["video"], "é" * 8_001)) == 1
