"""Facebook Pages, against the simulator."""

from collections.abc import Callable
from contextlib import suppress
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
from publishing.platforms.facebook.connector import FacebookConnector
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.wire import poll

MEDIA = "http://media.posthaste.test/media"
#: So old is an attempt when what is not there counts as never sent (RECONCILE_SETTLE_SECONDS).
SETTLED = timedelta(seconds=90)
TEXT = Content("Fresh bread at eight, größer than ever 🍞")


def _photos(*names: str) -> Content:
    return Content("With pictures", tuple(MediaSource("photo", f"{MEDIA}/{name}") for name in names))


PHOTO = _photos("photo-1080x1080.jpg")
ALBUM = _photos("photo-300x200.png", "photo-400x200.jpg", "photo-500x200.jpg")
VIDEO = Content("Moving", (MediaSource("video", f"{MEDIA}/video-5s.mp4"),))
KINDS = pytest.mark.parametrize(
    "content", [TEXT, PHOTO, ALBUM, VIDEO], ids=["text", "photo", "album", "video"]
)


@pytest.fixture
def page(attempts: Callable[[str], Any]) -> Any:
    return attempts("FB")


@KINDS
def test_a_post_goes_out_with_id_permalink_and_time(content: Content, page: Any, simulator: Any) -> None:
    published = page.publish(content)
    [post] = simulator.posts(page.account)
    assert (published.remote_id, post["text"]) == (post["id"], content.message)
    assert [item["type"] for item in post["media"]] == [source.type for source in content.media]
    assert published.permalink.startswith("https://www.facebook.com/")
    assert abs(published.published_at - datetime.now(UTC)) < timedelta(minutes=1)


def test_photos_keep_their_order_and_bytes_may_be_handed_over(page: Any, simulator: Any) -> None:
    page.publish(_photos("photo-200x200-1mb.jpg", "photo-200x200-3mb.jpg", "photo-200x200-2mb.jpg"))
    sizes = [round(item["bytes"] / 2**20) for item in simulator.posts(page.account)[0]["media"]]
    assert sizes == [1, 3, 2]
    body = simulator._session.get(f"{simulator.url}/media/photo-200x200.jpg", timeout=5).content
    page.publish(Content("bytes", (MediaSource("photo", body=body, content_type="image/jpeg"),)))
    assert simulator.posts(page.account)[1]["media"][0]["bytes"] == len(body)


@pytest.mark.parametrize(
    ("message", "asked", "link"),
    [
        ("see below", {"link": "https://example.com/a"}, "https://example.com/a"),
        ("see (https://example.com/b?x=1).", {}, "https://example.com/b?x=1"),
        ("https://example.com/b", {"link": "https://example.com/a"}, "https://example.com/a"),
        ("nothing", {}, None),
    ],
)
def test_the_link_is_the_one_asked_for_or_the_first_in_the_text(
    message: str, asked: dict[str, str], link: str | None, page: Any, simulator: Any
) -> None:
    page.publish(Content(message, settings=asked))
    assert simulator.posts(page.account)[0]["settings"].get("link") == link


@KINDS
def test_an_answer_that_never_came_is_looked_up_and_found(
    content: Content, page: Any, simulator: Any, settings: MetaSettings
) -> None:
    simulator.fault(page.account, "publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(content)
    [post] = simulator.posts(page.account)
    page.began_at -= SETTLED
    outcomes = []

    def look() -> Any:
        outcomes.append(page.look_up(content))
        return None if isinstance(outcomes[-1], StillUnknown) else outcomes[-1]

    found = poll(settings, look)
    assert isinstance(found, Published)
    assert (found.remote_id, found.permalink is not None) == (post["id"], True)


@pytest.mark.parametrize("mode", ["server_error", "hang"])
@KINDS
def test_a_call_that_failed_in_the_dark_is_unknown_and_then_not_found(
    content: Content, mode: str, page: Any, simulator: Any, settings: MetaSettings
) -> None:
    page.connector = FacebookConnector(replace(settings, read_timeout_seconds=0.5))
    simulator.fault(page.account, "publish", mode)
    with pytest.raises(OutcomeUnknown):
        page.publish(content)
    # Facebook lists a film when it is ready.
    page.began_at -= timedelta(hours=2) if content is VIDEO else SETTLED
    assert page.look_up(content) == NotPublished(settled=False)
    page.publish(content)
    assert len(simulator.posts(page.account)) == 1


def test_a_film_that_may_be_in_processing_is_not_sent_again(page: Any, simulator: Any) -> None:
    simulator.fault(page.account, "publish", "server_error")
    with pytest.raises(OutcomeUnknown):
        page.publish(VIDEO)
    page.began_at -= SETTLED
    assert page.look_up(VIDEO) == StillUnknown()


def test_nor_is_one_that_was_on_its_way_in_pieces_before(
    page: Any, simulator: Any, film: Callable[..., MediaSource]
) -> None:
    simulator.fault(page.account, "publish", "rate_limit")
    with pytest.raises(PlatformRefusal):
        page.publish(replace(VIDEO, media=(film(10_000),)))
    assert "session" in page.stored
    simulator.fault(page.account, "publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(VIDEO)
    page.began_at -= SETTLED
    assert not isinstance(page.look_up(VIDEO), NotPublished)


def test_a_film_that_was_refused_leaves_no_doubt_to_the_next_attempt(
    page: Any, simulator: Any, film: Callable[..., MediaSource]
) -> None:
    simulator.fault(page.account, "publish", "rate_limit")
    with pytest.raises(PlatformRefusal):
        page.publish(VIDEO)
    simulator.fault(page.account, "upload", "rate_limit")
    with pytest.raises(PlatformRefusal):
        page.publish(replace(VIDEO, media=(film(10_000),)))
    assert page.look_up(VIDEO) == NotPublished(settled=False)


@KINDS
@pytest.mark.parametrize(
    ("mode", "kind", "code"),
    [
        ("reject", Refusal.REJECTED, "368/1346003"),
        ("rate_limit", Refusal.RATE_LIMITED, "32"),
        ("expired", Refusal.EXPIRED, "190/463"),
    ],
)
def test_a_refusal_says_what_kind_it_is(
    content: Content, mode: str, kind: Refusal, code: str, page: Any, simulator: Any
) -> None:
    simulator.fault(page.account, "publish", mode)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(content)
    assert (refusal.value.kind, refusal.value.code) == (kind, code)
    assert refusal.value.retryable == (kind is Refusal.RATE_LIMITED)
    assert simulator.posts(page.account) == []


@pytest.mark.parametrize("mode", ["server_error", "hang", "drop_after_accept"])
def test_a_photo_that_could_not_be_staged_can_be_tried_again(
    mode: str, page: Any, simulator: Any, settings: MetaSettings
) -> None:
    page.connector = FacebookConnector(replace(settings, read_timeout_seconds=0.5))
    simulator.fault(page.account, "upload", mode)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(ALBUM)
    assert refusal.value.kind is Refusal.TRANSIENT
    assert page.look_up(ALBUM) == NotPublished(settled=True)
    page.publish(ALBUM)
    assert len(simulator.posts(page.account)) == 1


def test_a_bad_photo_is_rejected(page: Any) -> None:
    for content in (_photos("text-as.jpg"), _photos("photo-200x200.jpg", "text-as.jpg")):
        with pytest.raises(PlatformRefusal) as refusal:
            page.publish(content)
        assert refusal.value.kind is Refusal.REJECTED


def test_staged_photos_are_used_again_for_the_same_content_only(page: Any, simulator: Any) -> None:
    simulator.fault(page.account, "publish", "rate_limit", times=2)
    staged = []
    for content in (ALBUM, ALBUM, replace(ALBUM, message="edited")):
        with suppress(PlatformRefusal):
            page.publish(content)
        staged.append(page.stored["photo_ids"])
    assert staged[0] == staged[1] != staged[2]
    assert simulator.posts(page.account)[0]["text"] == "edited"


def test_photos_that_are_posted_already_mean_an_earlier_call_went_through(page: Any, simulator: Any) -> None:
    simulator.fault(page.account, "publish", "drop_after_accept")
    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            page.publish(ALBUM)
    assert len(simulator.posts(page.account)) == 1
    assert isinstance(page.look_up(ALBUM), Published)


def test_nothing_is_sent_when_the_checkpoint_cannot_be_stored(page: Any, simulator: Any) -> None:
    def fail(values: dict[str, Any]) -> None:
        raise RuntimeError("lease lost")

    with pytest.raises(RuntimeError):
        page.connector.publish(page.account, ALBUM, Checkpoint(store=fail))
    assert simulator.posts(page.account) == []


def test_two_equal_texts_are_told_apart_by_what_is_known(page: Any, simulator: Any) -> None:
    first = page.publish(TEXT)
    simulator.fault(page.account, "publish", "server_error")
    with pytest.raises(OutcomeUnknown):
        page.publish(TEXT)
    assert page.look_up(TEXT, first.remote_id) == NotPublished(settled=False)
    simulator.fault(page.account, "publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(TEXT)
    found = page.look_up(TEXT, first.remote_id)
    assert isinstance(found, Published)
    assert found.remote_id == simulator.posts(page.account)[1]["id"]


@pytest.fixture
def twin(page: Any) -> Any:
    """Another post of the same page."""
    return type(page)(page.connector, page.account)


@pytest.mark.parametrize("message", ["With pictures", ""])
@pytest.mark.parametrize("which", ["photo", "album"])
def test_of_two_posts_with_one_text_and_other_pictures_each_finds_its_own(
    which: str, message: str, page: Any, twin: Any, simulator: Any
) -> None:
    names = ["photo-300x200.png", "photo-400x200.jpg", "photo-500x200.jpg", "photo-600x200.jpg"]
    lost, kept = (names[:1], names[1:2]) if which == "photo" else (names[:2], names[2:])
    first, second = (replace(_photos(*chosen), message=message) for chosen in (lost, kept))
    for attempt, content, mode in ((page, first, "server_error"), (twin, second, "drop_after_accept")):
        simulator.fault(page.account, "publish", mode)
        with pytest.raises(OutcomeUnknown):
            attempt.publish(content)
    assert page.look_up(first) == NotPublished(settled=False), "the post on the page is the second one's"
    found = twin.look_up(second)
    assert isinstance(found, Published)
    assert (found.remote_id, found.guess) == (simulator.posts(page.account)[0]["id"], None)
    page.publish(first)
    assert [len(post["media"]) for post in simulator.posts(page.account)] == [len(kept), len(lost)]


def test_a_photo_of_the_release_before_is_found_by_its_looks_and_said_to_be_a_guess(
    page: Any, twin: Any
) -> None:
    ours = page.publish(PHOTO)
    page.stored = {}
    twin.publish(PHOTO)
    found = page.look_up(PHOTO)
    assert isinstance(found, Published)
    assert (found.remote_id, len(found.guess.candidates)) == (ours.remote_id, 2)


def test_where_facebook_names_no_photos_a_post_is_found_by_its_looks(
    page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = page.publish(PHOTO)
    rows = list(page.connector._graph.rows(
        page.account, page.account.remote_account_id, "published_posts",
        fields="id,message,created_time,attachments{type,media_type,target}",
    ))  # fmt: skip
    for row in rows:
        row["attachments"]["data"][0].pop("target")
    monkeypatch.setattr(page.connector._graph, "rows", lambda *args, **params: iter(rows))
    found = page.look_up(PHOTO)
    assert (found.remote_id, len(found.guess.candidates)) == (published.remote_id, 1)


def test_photos_that_an_earlier_call_may_have_posted_are_never_deleted(page: Any, simulator: Any) -> None:
    simulator.fault(page.account, "publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(PHOTO)
    [photo_id] = page.stored["photo_ids"]
    simulator.fault(page.account, "publish", "reject")
    with pytest.raises(PlatformRefusal):
        page.publish(PHOTO)
    shown = page.connector._graph.read(page.account, photo_id, fields="id,page_story_id")
    assert shown["page_story_id"] == simulator.posts(page.account)[0]["id"]


@KINDS
def test_a_post_of_another_kind_or_text_is_not_taken_for_ours(content: Content, page: Any) -> None:
    for other in (TEXT, PHOTO, ALBUM, VIDEO):
        if other is not content:
            page.publish(replace(other, message=content.message))
    page.stored = {"photo_ids": ["1", "2", "3"]} if content is ALBUM else {}
    assert page.look_up(content) == NotPublished(settled=False)
    page.stored = {}
    page.publish(replace(content, message="another text"))
    page.stored = {"photo_ids": ["1", "2", "3"]} if content is ALBUM else {}
    assert page.look_up(content) == NotPublished(settled=False)


def test_a_post_from_long_before_the_attempt_is_not_taken_for_ours(page: Any, simulator: Any) -> None:
    simulator.call("POST", "clock", shift_seconds=-3600)
    try:
        page.publish(TEXT)
    finally:
        simulator.call("POST", "clock", shift_seconds=0)
    assert page.look_up(TEXT) == NotPublished(settled=False)


def test_a_post_is_found_behind_a_hundred_others(page: Any, simulator: Any) -> None:
    simulator.fault(page.account, "publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(TEXT)
    for number in range(120):
        page.publish(Content(f"post {number}"))
    found = page.look_up(TEXT)
    assert isinstance(found, Published)
    assert found.remote_id == simulator.posts(page.account)[0]["id"]


def test_a_post_is_found_beside_a_shared_link_whose_target_has_no_id(page: Any, simulator: Any) -> None:
    simulator.fault(page.account, "publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(PHOTO)
    page.connector.publish(page.account, Content("see https://example.com/a"), Checkpoint())
    found = page.look_up(PHOTO)
    assert isinstance(found, Published)
    assert found.remote_id == simulator.posts(page.account)[0]["id"]


def test_a_look_that_fails_is_no_answer(page: Any, simulator: Any) -> None:
    simulator.fault(page.account, "status", "server_error")
    with pytest.raises(PlatformRefusal) as refusal:
        page.look_up(TEXT)
    assert refusal.value.kind is Refusal.TRANSIENT


def test_details_that_cannot_be_read_do_not_hide_that_a_post_is_out(page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    simulator.fault(page.account, "status", "server_error")
    assert page.connector._described(page.account, remote_id) == Published(remote_id)


def test_a_video_that_fails_in_processing_is_rejected_with_its_reason(page: Any, simulator: Any) -> None:
    simulator.fault(page.account, "status", "reject")
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(VIDEO)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "1363030")
    outcome = page.look_up(VIDEO)
    assert isinstance(outcome, NotPublished)
    assert outcome.settled
    page.publish(VIDEO)
    assert len(simulator.posts(page.account)) == 1


def test_a_video_that_takes_too_long_is_unknown_until_it_is_ready(
    page: Any, simulator: Any, settings: MetaSettings
) -> None:
    patient = page.connector
    page.connector = FacebookConnector(replace(settings, poll_limit_seconds=0.0))
    with pytest.raises(OutcomeUnknown):
        page.publish(VIDEO)
    outcomes = []

    def look() -> Any:
        outcomes.append(patient.look_up(page.account, VIDEO, Checkpoint(page.stored), began_at=page.began_at))
        return None if isinstance(outcomes[-1], StillUnknown) else outcomes[-1]

    found = poll(settings, look)
    assert isinstance(outcomes[0], StillUnknown)
    assert found.remote_id == simulator.posts(page.account)[0]["id"]


def test_polling_a_video_outlives_errors_of_the_poll(page: Any, simulator: Any) -> None:
    simulator.fault(page.account, "status", "server_error", times=3)
    assert page.publish(VIDEO).remote_id == simulator.posts(page.account)[0]["id"]
    simulator.fault(page.account, "status", "expired", times=3)
    with pytest.raises(OutcomeUnknown):
        page.publish(VIDEO)


def test_comments_are_made_found_answered_and_read(page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    first = page.connector.comment(page.account, remote_id, "first!")
    visitor_id = simulator.call(
        "POST", "comments", platform="FB", post_id=remote_id, **{"from": "Ann"}, text="Nice"
    )["id"]
    reply = page.connector.reply(page.account, visitor_id, "Thank you")
    comments = page.connector.list_comments(page.account, remote_id).comments
    assert [(one.id, one.text, one.parent_id) for one in comments] == [
        (reply.id, "Thank you", visitor_id), (visitor_id, "Nice", None), (first.id, "first!", None),
    ]  # fmt: skip
    assert (comments[1].author_name, comments[1].reply_count) == ("Ann", 1)
    assert comments[0].author_id == page.account.remote_account_id
    later = comments[1].created_at + timedelta(seconds=5)
    assert page.connector.list_comments(page.account, remote_id, since=later).comments == ()


def test_comments_come_page_by_page(page: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    made = [page.connector.comment(page.account, remote_id, f"{number}").id for number in range(5)]
    seen, cursor = [], None
    while True:
        answer = page.connector.list_comments(page.account, remote_id, limit=2, cursor=cursor)
        seen += [one.id for one in answer.comments]
        cursor = answer.next_cursor
        if cursor is None:
            break
    assert seen == made[::-1]


def test_a_comment_whose_answer_never_came_is_found(page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    find = page.connector.find_comment
    assert find(page.account, remote_id, "first!", began_at=page.began_at) is None
    simulator.fault(page.account, "comment", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.connector.comment(page.account, remote_id, "first!")
    simulator.call("POST", "comments", platform="FB", post_id=remote_id, **{"from": "Ann"}, text="first!")
    found = find(page.account, remote_id, "first!", began_at=page.began_at)
    assert found.id == simulator.posts(page.account)[0]["comments"][0]["id"]
    assert find(page.account, remote_id, "first!", began_at=page.began_at, known_ids={found.id}) is None


def test_a_reply_whose_answer_never_came_is_found_also_within_a_thread(page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    visitor = {"platform": "FB", "post_id": remote_id, "from": "Ann", "text": "?"}
    top_id = simulator.call("POST", "comments", **visitor)["id"]
    nested_id = simulator.call("POST", "comments", **visitor, parent_id=top_id)["id"]
    for comment_id in (top_id, nested_id):
        text = f"answer to {comment_id}"
        simulator.fault(page.account, "reply", "drop_after_accept")
        with pytest.raises(OutcomeUnknown):
            page.connector.reply(page.account, comment_id, text)
        found = page.connector.find_reply(page.account, comment_id, text, began_at=page.began_at)
        assert found is not None
        assert found.parent_id == comment_id


def test_counts_are_read(page: Any, simulator: Any) -> None:
    published = page.publish(TEXT)
    counts = page.connector.engagement(page.account, published.remote_id)
    assert (counts.likes, counts.comments, counts.shares) == (0, 0, 0)
    numbers = {"likes": 7, "comments": 3, "shares": 2}
    simulator.call("POST", "metrics", platform="FB", post_id=published.remote_id, **numbers)
    counts = page.connector.engagement(page.account, published.remote_id)
    assert (counts.likes, counts.comments, counts.shares) == (7, 3, 2)
    assert (counts.permalink, counts.published_at) == (published.permalink, published.published_at)


def test_a_post_that_is_gone_is_a_refusal(page: Any) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        page.connector.engagement(page.account, f"{page.account.remote_account_id}_1")
    assert (refusal.value.kind, refusal.value.code) == (Refusal.PERMISSION, "100/33")


def test_the_page_is_read(page: Any, simulator: Any) -> None:
    [shown] = [row for row in simulator.accounts() if row["account_id"] == page.account.remote_account_id]
    profile = page.connector.profile(page.account)
    assert (profile.name, profile.username, profile.followers) == (
        shown["name"],
        shown["username"],
        shown["followers"],
    )
    assert profile.picture.endswith(".jpg")
