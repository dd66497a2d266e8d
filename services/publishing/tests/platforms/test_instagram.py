"""Instagram, against the simulator."""

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
)
from publishing.platforms.instagram.connector import InstagramConnector
from publishing.platforms.meta.settings import MetaSettings

MEDIA = "http://media.posthaste.test/media"


def _content(*names: str) -> Content:
    kinds = {"mp4": "video", "jpg": "photo", "png": "photo"}
    media = tuple(MediaSource(kinds[name.split(".")[-1]], f"{MEDIA}/{name}") for name in names)
    return Content("Fresh bread 🍞 #bread", media)


PHOTO = _content("photo-1080x1080.jpg")
REEL = _content("video-5s.mp4")
CAROUSEL = _content("photo-800x800.jpg", "video-5s.mp4", "photo-900x900.jpg")
KINDS = pytest.mark.parametrize("content", [PHOTO, REEL, CAROUSEL], ids=["photo", "reel", "carousel"])


@pytest.fixture
def user(attempts: Callable[[str], Any]) -> Any:
    return attempts("IG")


@KINDS
def test_a_post_goes_out_with_id_permalink_and_time(content: Content, user: Any, simulator: Any) -> None:
    published = user.publish(content)
    [post] = simulator.posts(user.account)
    assert (published.remote_id, post["text"]) == (post["id"], content.message)
    assert [item["type"] for item in post["media"]] == [source.type for source in content.media]
    assert published.permalink.startswith("https://www.instagram.com/")
    assert abs(published.published_at - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("content", "asked"),
    [
        (PHOTO, {"alt_text": "a loaf", "share_to_feed": True, "other": 1}),
        (REEL, {"share_to_feed": False, "thumb_offset": 0, "cover_url": "https://example.com/c.jpg"}),
    ],
)
def test_settings_are_handed_on_where_they_mean_something(
    content: Content, asked: dict[str, Any], user: Any, simulator: Any
) -> None:
    user.publish(replace(content, settings=asked))
    taken = simulator.posts(user.account)[0]["settings"]
    if content is PHOTO:
        assert (taken["alt_text"], "share_to_feed" in taken) == ("a loaf", False)
    else:
        assert (taken["share_to_feed"], taken["thumb_offset"]) == ("false", "0")


@KINDS
def test_an_answer_that_never_came_is_looked_up_and_found(
    content: Content, user: Any, simulator: Any
) -> None:
    simulator.fault(user.account, "publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        user.publish(content)
    [post] = simulator.posts(user.account)
    found = user.look_up(content)
    assert isinstance(found, Published)
    assert (found.remote_id, found.permalink is not None) == (post["id"], True)


def test_a_container_that_is_out_is_never_published_again(user: Any, simulator: Any) -> None:
    simulator.fault(user.account, "publish", "drop_after_accept")
    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            user.publish(PHOTO)
    assert len(simulator.posts(user.account)) == 1


@pytest.mark.parametrize("mode", ["server_error", "hang"])
def test_a_call_that_failed_in_the_dark_is_tried_again_with_the_same_container(
    mode: str, user: Any, simulator: Any, settings: MetaSettings
) -> None:
    user.connector = InstagramConnector(replace(settings, read_timeout_seconds=0.5))
    simulator.fault(user.account, "publish", mode)
    with pytest.raises(OutcomeUnknown):
        user.publish(PHOTO)
    container_id = user.stored["container_id"]
    assert user.look_up(PHOTO) == NotPublished(settled=False)
    user.publish(PHOTO)
    [post] = simulator.posts(user.account)
    assert post["settings"]["creation_id"] == container_id


def test_a_container_of_other_content_is_not_published(user: Any, simulator: Any) -> None:
    simulator.fault(user.account, "publish", "rate_limit")
    with pytest.raises(PlatformRefusal):
        user.publish(PHOTO)
    user.publish(replace(PHOTO, message="edited"))
    assert [post["text"] for post in simulator.posts(user.account)] == ["edited"]


@pytest.mark.parametrize(
    ("mode", "kind", "code"),
    [
        ("reject", Refusal.REJECTED, "368/1346003"),
        ("rate_limit", Refusal.RATE_LIMITED, "80002"),
        ("expired", Refusal.EXPIRED, "190/463"),
    ],
)
@pytest.mark.parametrize("operation", ["publish", "upload"])
def test_a_refusal_says_what_kind_it_is(
    operation: str, mode: str, kind: Refusal, code: str, user: Any, simulator: Any
) -> None:
    simulator.fault(user.account, operation, mode)
    with pytest.raises(PlatformRefusal) as refusal:
        user.publish(PHOTO)
    assert (refusal.value.kind, refusal.value.code) == (kind, code)
    assert simulator.posts(user.account) == []


@pytest.mark.parametrize("mode", ["server_error", "hang", "drop_after_accept"])
@KINDS
def test_a_container_that_could_not_be_made_can_be_tried_again(
    content: Content, mode: str, user: Any, simulator: Any, settings: MetaSettings
) -> None:
    user.connector = InstagramConnector(replace(settings, read_timeout_seconds=0.5))
    simulator.fault(user.account, "upload", mode)
    with pytest.raises(PlatformRefusal) as refusal:
        user.publish(content)
    assert refusal.value.kind is Refusal.TRANSIENT
    assert user.look_up(content) == NotPublished(settled=True)
    user.publish(content)
    assert len(simulator.posts(user.account)) == 1


@KINDS
def test_media_that_fail_in_processing_are_rejected_and_staged_anew(
    content: Content, user: Any, simulator: Any
) -> None:
    simulator.fault(user.account, "status", "reject")
    with pytest.raises(PlatformRefusal) as refusal:
        user.publish(content)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "2207082")
    user.publish(content)
    assert len(simulator.posts(user.account)) == 1


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("photo-800x800.png", "36001/2207005"),
        ("photo-300x800.jpg", "36003/2207009"),
        ("text-as.jpg", "36001/2207005"),
    ],
)
def test_a_photo_that_instagram_does_not_take_is_rejected(name: str, code: str, user: Any) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        user.publish(_content(name))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, code)


def test_a_photo_that_could_not_be_fetched_is_worth_another_try(user: Any) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        user.publish(Content("x", (MediaSource("photo", "http://127.0.0.1:9/a.jpg"),)))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "9004/2207052")


def test_a_container_that_is_not_ready_in_time_is_used_by_the_next_attempt(
    user: Any, simulator: Any, settings: MetaSettings
) -> None:
    patient = user.connector
    user.connector = InstagramConnector(replace(settings, poll_limit_seconds=0.0))
    with pytest.raises(PlatformRefusal) as refusal:
        user.publish(REEL)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "NOT_READY")
    container_id = user.stored["container_id"]
    user.connector = patient
    user.publish(REEL)
    assert simulator.posts(user.account)[0]["settings"]["creation_id"] == container_id


def test_children_that_are_not_ready_in_time_are_used_by_the_next_attempt(
    user: Any, simulator: Any, settings: MetaSettings
) -> None:
    patient = user.connector
    user.connector = InstagramConnector(replace(settings, poll_limit_seconds=0.0))
    with pytest.raises(PlatformRefusal) as refusal:
        user.publish(CAROUSEL)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "NOT_READY")
    children = user.stored["children"]
    assert user.look_up(CAROUSEL) == NotPublished(settled=True)
    user.connector = patient
    user.publish(CAROUSEL)
    assert simulator.posts(user.account)[0]["settings"]["children"] == ",".join(children)


def test_a_child_the_platform_has_lost_is_replaced_and_the_others_are_kept(
    user: Any, simulator: Any, settings: MetaSettings
) -> None:
    patient = user.connector
    user.connector = InstagramConnector(replace(settings, poll_limit_seconds=0.0))
    with pytest.raises(PlatformRefusal):
        user.publish(CAROUSEL)
    first, _, last = user.stored["children"]
    user.stored["children"] = [first, "17900000000000000", last]
    user.connector = patient
    user.publish(CAROUSEL)
    [post] = simulator.posts(user.account)
    assert [item["type"] for item in post["media"]] == ["photo", "video", "photo"]
    used = post["settings"]["children"].split(",")
    assert (used[0], used[1] == "17900000000000000", used[2]) == (first, False, last)


def test_children_of_other_content_are_not_used(user: Any, simulator: Any, settings: MetaSettings) -> None:
    patient = user.connector
    user.connector = InstagramConnector(replace(settings, poll_limit_seconds=0.0))
    with pytest.raises(PlatformRefusal):
        user.publish(CAROUSEL)
    stale = set(user.stored["children"])
    user.connector = patient
    user.publish(_content("photo-900x900.jpg", "photo-800x800.jpg"))
    [post] = simulator.posts(user.account)
    assert [item["type"] for item in post["media"]] == ["photo", "photo"]
    assert not stale & set(post["settings"]["children"].split(","))
    user.publish(PHOTO)
    assert set(user.stored) == {"content", "container_id"}


def test_a_container_the_platform_has_lost_is_replaced(user: Any, simulator: Any) -> None:
    simulator.fault(user.account, "publish", "rate_limit")
    with pytest.raises(PlatformRefusal):
        user.publish(PHOTO)
    user.stored["container_id"] = "17900000000000000"
    assert user.look_up(PHOTO) == NotPublished(settled=False)
    user.publish(PHOTO)
    assert len(simulator.posts(user.account)) == 1


def test_polling_outlives_errors_of_the_poll(user: Any, simulator: Any) -> None:
    simulator.fault(user.account, "status", "server_error", times=2)
    assert user.publish(PHOTO).remote_id == simulator.posts(user.account)[0]["id"]


def test_nothing_is_published_when_the_checkpoint_cannot_be_stored(user: Any, simulator: Any) -> None:
    def fail(values: dict[str, Any]) -> None:
        raise RuntimeError("lease lost")

    with pytest.raises(RuntimeError):
        user.connector.publish(user.account, PHOTO, Checkpoint(store=fail))
    assert simulator.posts(user.account) == []


def test_two_equal_posts_are_told_apart_by_what_is_known(user: Any, simulator: Any) -> None:
    first = user.publish(PHOTO)
    user.stored = {}
    simulator.fault(user.account, "publish", "server_error")
    with pytest.raises(OutcomeUnknown):
        user.publish(PHOTO)
    assert user.look_up(PHOTO, first.remote_id) == NotPublished(settled=False)
    second = user.publish(PHOTO)
    assert isinstance(user.look_up(PHOTO, first.remote_id), Published)
    assert second.remote_id != first.remote_id


@pytest.fixture
def twin(user: Any) -> Any:
    """Another post of the same account."""
    return type(user)(user.connector, user.account)


OTHER = _content("photo-900x900.jpg")


@pytest.mark.parametrize("message", [PHOTO.message, ""])
def test_the_post_of_an_equal_caption_is_not_taken_while_the_container_is_not_published(
    message: str, user: Any, twin: Any, simulator: Any
) -> None:
    first, second = (replace(content, message=message) for content in (PHOTO, OTHER))
    for attempt, content, mode in ((user, first, "server_error"), (twin, second, "drop_after_accept")):
        simulator.fault(user.account, "publish", mode)
        with pytest.raises(OutcomeUnknown):
            attempt.publish(content)
    assert user.look_up(first) == NotPublished(settled=False), "the post there is the second one's"
    found = twin.look_up(second)
    assert isinstance(found, Published)
    assert (found.remote_id, len(found.guess.candidates)) == (simulator.posts(user.account)[0]["id"], 1)
    user.publish(first)
    assert len(simulator.posts(user.account)) == 2


def test_which_of_two_published_containers_a_post_came_from_is_a_guess(
    user: Any, twin: Any, simulator: Any
) -> None:
    for attempt, content in ((user, PHOTO), (twin, OTHER)):
        simulator.fault(user.account, "publish", "drop_after_accept")
        with pytest.raises(OutcomeUnknown):
            attempt.publish(content)
    found = user.look_up(PHOTO)
    assert (found.remote_id, len(found.guess.candidates)) == (simulator.posts(user.account)[0]["id"], 2)
    last = twin.look_up(OTHER, found.remote_id)
    assert (last.remote_id, len(last.guess.candidates)) == (simulator.posts(user.account)[1]["id"], 1)


def test_a_published_container_whose_caption_was_changed_is_found_by_its_kind(
    user: Any, simulator: Any
) -> None:
    simulator.fault(user.account, "publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        user.publish(PHOTO)
    found = user.look_up(replace(PHOTO, message="as it was meant"))
    assert (len(found.guess.candidates), found.guess.by_text) == (1, False)


def test_a_post_of_another_kind_or_caption_is_not_taken_for_ours(user: Any, simulator: Any) -> None:
    simulator.fault(user.account, "publish", "server_error")
    with pytest.raises(OutcomeUnknown):
        user.publish(PHOTO)
    stored, user.stored = user.stored, {}
    user.publish(REEL)
    user.stored = {}
    user.publish(replace(PHOTO, message="another"))
    user.stored = stored
    assert user.look_up(PHOTO) == NotPublished(settled=False)


def test_a_text_alone_is_refused_unsent(user: Any) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        user.publish(Content("text"))
    assert refusal.value.kind is Refusal.REJECTED


def test_comments_are_made_answered_and_read(user: Any, simulator: Any) -> None:
    remote_id = user.publish(PHOTO).remote_id
    first = user.connector.comment(user.account, remote_id, "first!")
    visitor = {"platform": "IG", "post_id": remote_id, "from": "ann", "text": "Nice"}
    visitor_id = simulator.call("POST", "comments", **visitor)["id"]
    reply = user.connector.reply(user.account, visitor_id, "Thank you")
    comments = {one.id: one for one in user.connector.list_comments(user.account, remote_id).comments}
    assert set(comments) == {first.id, visitor_id, reply.id}
    assert (comments[reply.id].parent_id, comments[reply.id].text) == (visitor_id, "Thank you")
    assert (comments[visitor_id].author_name, comments[visitor_id].reply_count) == ("ann", 1)
    assert comments[first.id].author_id == user.account.remote_account_id
    later = comments[reply.id].created_at + timedelta(seconds=5)
    assert user.connector.list_comments(user.account, remote_id, since=later).comments == ()


def test_comments_come_page_by_page(user: Any) -> None:
    remote_id = user.publish(PHOTO).remote_id
    made = {user.connector.comment(user.account, remote_id, f"{number}").id for number in range(5)}
    seen, cursor = [], None
    while True:
        answer = user.connector.list_comments(user.account, remote_id, limit=2, cursor=cursor)
        seen += [one.id for one in answer.comments]
        cursor = answer.next_cursor
        if cursor is None:
            break
    assert (len(seen), set(seen)) == (5, made)


def test_a_comment_or_reply_whose_answer_never_came_is_found(user: Any, simulator: Any) -> None:
    remote_id = user.publish(PHOTO).remote_id
    connector, account, began_at = user.connector, user.account, user.began_at
    assert connector.find_comment(account, remote_id, "first!", began_at=began_at) is None
    simulator.fault(account, "comment", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        connector.comment(account, remote_id, "first!")
    found = connector.find_comment(account, remote_id, "first!", began_at=began_at)
    assert found.id == simulator.posts(account)[0]["comments"][0]["id"]
    visitor = {"platform": "IG", "post_id": remote_id, "from": "ann", "text": "?"}
    top_id = simulator.call("POST", "comments", **visitor)["id"]
    nested_id = simulator.call("POST", "comments", **visitor, parent_id=top_id)["id"]
    for comment_id in (top_id, nested_id):
        simulator.fault(account, "reply", "drop_after_accept")
        with pytest.raises(OutcomeUnknown):
            connector.reply(account, comment_id, f"to {comment_id}")
        reply = connector.find_reply(account, comment_id, f"to {comment_id}", began_at=began_at)
        assert reply is not None
        assert reply.parent_id == comment_id


def test_counts_are_read(user: Any, simulator: Any) -> None:
    published = user.publish(PHOTO)
    numbers = {"likes": 7, "comments": 3, "shares": 2}
    simulator.call("POST", "metrics", platform="IG", post_id=published.remote_id, **numbers)
    counts = user.connector.engagement(user.account, published.remote_id)
    assert (counts.likes, counts.comments, counts.shares) == (7, 3, 2)
    assert (counts.permalink, counts.published_at) == (published.permalink, published.published_at)


def test_the_account_is_read(user: Any, simulator: Any) -> None:
    [shown] = [row for row in simulator.accounts() if row["account_id"] == user.account.remote_account_id]
    profile = user.connector.profile(user.account)
    assert (profile.name, profile.username, profile.followers) == (
        shown["name"],
        shown["username"],
        shown["followers"],
    )
