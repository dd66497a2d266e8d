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
from publishing.platforms.http_client import poll

from .simulated import Page, Simulator

MEDIA = "http://media.posthaste.test/media"
#: So old is an attempt when what is not there counts as never sent (RECONCILE_SETTLE_SECONDS).
SETTLED = timedelta(seconds=90)
TEXT = Content("Fresh bread at eight, größer than ever 🍞")


@pytest.fixture
def page(page_on: Callable[[str], Page]) -> Page:
    return page_on("FB")


@pytest.fixture
def twin(page: Page) -> Page:
    """Another post of the same page."""
    return page.other()


def _photos(*names: str) -> Content:
    return Content("With pictures", tuple(MediaSource("photo", f"{MEDIA}/{name}") for name in names))


PHOTO = _photos("photo-1080x1080.jpg")
ALBUM = _photos("photo-300x200.png", "photo-400x200.jpg", "photo-500x200.jpg")
VIDEO = Content("Moving", (MediaSource("video", f"{MEDIA}/video-5s.mp4"),))
KINDS = pytest.mark.parametrize(
    "content", [TEXT, PHOTO, ALBUM, VIDEO], ids=["text", "photo", "album", "video"]
)


def test_photos_keep_their_order_and_bytes_may_be_handed_over(page: Page, simulator: Simulator) -> None:
    page.publish(_photos("photo-200x200-1mb.jpg", "photo-200x200-3mb.jpg", "photo-200x200-2mb.jpg"))
    sizes = [round(item["bytes"] / 2**20) for item in page.posts[0]["media"]]
    assert sizes == [1, 3, 2]
    body = simulator.media("photo-200x200.jpg")[0]
    page.publish(Content("bytes", (MediaSource("photo", body=body, content_type="image/jpeg"),)))
    assert page.posts[1]["media"][0]["bytes"] == len(body)


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
    message: str, asked: dict[str, str], link: str | None, page: Page
) -> None:
    page.publish(Content(message, settings=asked))
    assert page.posts[0]["settings"].get("link") == link


def test_a_film_that_may_be_in_processing_is_not_sent_again(page: Page) -> None:
    page.fault("publish", "server_error")
    with pytest.raises(OutcomeUnknown):
        page.publish(VIDEO)
    for hours in (0, 23):
        page.began_at = datetime.now(UTC) - SETTLED - timedelta(hours=hours)
        assert page.look_up(VIDEO) == StillUnknown()


def test_nor_is_one_that_was_on_its_way_in_pieces_before(
    page: Page, film: Callable[..., MediaSource]
) -> None:
    page.fault("publish", "rate_limit")
    with pytest.raises(PlatformRefusal):
        page.publish(replace(VIDEO, media=(film(10_000),)))
    assert "session" in page.stored
    page.fault("publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(VIDEO)
    page.began_at -= SETTLED
    assert not isinstance(page.look_up(VIDEO), NotPublished)


def test_a_film_that_was_refused_leaves_no_doubt_to_the_next_attempt(
    page: Page, film: Callable[..., MediaSource]
) -> None:
    page.fault("publish", "rate_limit")
    with pytest.raises(PlatformRefusal):
        page.publish(VIDEO)
    page.fault("upload", "rate_limit")
    with pytest.raises(PlatformRefusal):
        page.publish(replace(VIDEO, media=(film(10_000),)))
    assert page.look_up(VIDEO) == NotPublished(settled=False)


def test_a_bad_photo_is_rejected(page: Page) -> None:
    for content in (_photos("text-as.jpg"), _photos("photo-200x200.jpg", "text-as.jpg")):
        with pytest.raises(PlatformRefusal) as refusal:
            page.publish(content)
        assert refusal.value.kind is Refusal.REJECTED


def test_staged_photos_are_used_again_for_the_same_content_only(page: Page) -> None:
    page.fault("publish", "rate_limit", times=2)
    staged = []
    for content in (ALBUM, ALBUM, replace(ALBUM, message="edited")):
        with suppress(PlatformRefusal):
            page.publish(content)
        staged.append(page.stored["photo_ids"])
    assert staged[0] == staged[1] != staged[2]
    assert page.posts[0]["text"] == "edited"


def test_photos_that_are_posted_already_mean_an_earlier_call_went_through(page: Page) -> None:
    page.fault("publish", "drop_after_accept")
    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            page.publish(ALBUM)
    assert len(page.posts) == 1
    assert isinstance(page.look_up(ALBUM), Published)


def test_two_equal_texts_are_told_apart_by_what_is_known(page: Page) -> None:
    first = page.publish(TEXT)
    page.fault("publish", "server_error")
    with pytest.raises(OutcomeUnknown):
        page.publish(TEXT)
    assert page.look_up(TEXT, first.remote_id) == NotPublished(settled=False)
    page.fault("publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(TEXT)
    found = page.look_up(TEXT, first.remote_id)
    assert isinstance(found, Published)
    assert found.remote_id == page.posts[1]["id"]


@pytest.mark.parametrize("message", ["With pictures", ""])
@pytest.mark.parametrize("which", ["photo", "album"])
def test_of_two_posts_with_one_text_and_other_pictures_each_finds_its_own(
    which: str, message: str, page: Page, twin: Page
) -> None:
    names = ["photo-300x200.png", "photo-400x200.jpg", "photo-500x200.jpg", "photo-600x200.jpg"]
    lost, kept = (names[:1], names[1:2]) if which == "photo" else (names[:2], names[2:])
    first, second = (replace(_photos(*chosen), message=message) for chosen in (lost, kept))
    for attempt, content, mode in ((page, first, "server_error"), (twin, second, "drop_after_accept")):
        page.fault("publish", mode)
        with pytest.raises(OutcomeUnknown):
            attempt.publish(content)
    assert page.look_up(first) == NotPublished(settled=False), "the post on the page is the second one's"
    found = twin.look_up(second)
    assert isinstance(found, Published)
    assert (found.remote_id, found.guess) == (page.posts[0]["id"], None)
    page.publish(first)
    assert [len(post["media"]) for post in page.posts] == [len(kept), len(lost)]


def test_a_photo_that_was_sent_before_1_4_0_is_found_by_its_looks_and_said_to_be_a_guess(
    page: Page, twin: Page
) -> None:
    ours = page.publish(PHOTO)
    page.stored = {}
    twin.publish(PHOTO)
    found = page.look_up(PHOTO)
    assert isinstance(found, Published)
    assert (found.remote_id, len(found.guess.candidates)) == (ours.remote_id, 2)


def test_where_facebook_names_no_photos_a_post_is_found_by_its_looks(
    page: Page, monkeypatch: pytest.MonkeyPatch
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


def test_photos_that_an_earlier_call_may_have_posted_are_never_deleted(page: Page) -> None:
    page.fault("publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(PHOTO)
    [photo_id] = page.stored["photo_ids"]
    page.fault("publish", "reject")
    with pytest.raises(PlatformRefusal):
        page.publish(PHOTO)
    shown = page.connector._graph.read(page.account, photo_id, fields="id,page_story_id")
    assert shown["page_story_id"] == page.posts[0]["id"]


@KINDS
def test_a_post_of_another_kind_or_text_is_not_taken_for_ours(content: Content, page: Page) -> None:
    for other in (TEXT, PHOTO, ALBUM, VIDEO):
        if other is not content:
            page.publish(replace(other, message=content.message))
    page.stored = {"photo_ids": ["1", "2", "3"]} if content is ALBUM else {}
    assert page.look_up(content) == NotPublished(settled=False)
    page.stored = {}
    page.publish(replace(content, message="another text"))
    page.stored = {"photo_ids": ["1", "2", "3"]} if content is ALBUM else {}
    assert page.look_up(content) == NotPublished(settled=False)


def test_a_post_from_long_before_the_attempt_is_not_taken_for_ours(page: Page, simulator: Simulator) -> None:
    simulator.call("POST", "clock", shift_seconds=-3600)
    try:
        page.publish(TEXT)
    finally:
        simulator.call("POST", "clock", shift_seconds=0)
    assert page.look_up(TEXT) == NotPublished(settled=False)


def test_a_post_is_found_behind_a_hundred_others(page: Page) -> None:
    page.fault("publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(TEXT)
    for number in range(120):
        page.publish(Content(f"post {number}"))
    found = page.look_up(TEXT)
    assert isinstance(found, Published)
    assert found.remote_id == page.posts[0]["id"]


def test_a_post_is_found_beside_a_shared_link_whose_target_has_no_id(page: Page) -> None:
    page.fault("publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(PHOTO)
    page.connector.publish(page.account, Content("see https://example.com/a"), Checkpoint())
    found = page.look_up(PHOTO)
    assert isinstance(found, Published)
    assert found.remote_id == page.posts[0]["id"]


def test_a_look_that_fails_is_no_answer(page: Page) -> None:
    page.fault("status", "server_error")
    with pytest.raises(PlatformRefusal) as refusal:
        page.look_up(TEXT)
    assert refusal.value.kind is Refusal.TRANSIENT


def test_details_that_cannot_be_read_do_not_hide_that_a_post_is_out(page: Page) -> None:
    remote_id = page.publish(TEXT).remote_id
    page.fault("status", "server_error")
    assert page.connector._described(page.account, remote_id) == Published(remote_id)


def test_a_video_that_fails_in_processing_is_rejected_with_its_reason(page: Page) -> None:
    page.fault("status", "reject")
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(VIDEO)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "1363030")
    outcome = page.look_up(VIDEO)
    assert isinstance(outcome, NotPublished)
    assert outcome.settled
    page.publish(VIDEO)
    assert len(page.posts) == 1


def test_a_video_that_takes_too_long_is_unknown_until_it_is_ready(page: Page) -> None:
    page.change(poll_limit_seconds=0.0)
    with pytest.raises(OutcomeUnknown):
        page.publish(VIDEO)
    page.change(poll_limit_seconds=10.0)
    outcomes = []

    def look() -> Any:
        outcomes.append(page.look_up(VIDEO))
        return None if isinstance(outcomes[-1], StillUnknown) else outcomes[-1]

    found = poll(page.settings, look)
    assert isinstance(outcomes[0], StillUnknown)
    assert isinstance(found, Published)
    assert found.remote_id == page.posts[0]["id"]


def test_polling_a_video_outlives_errors_of_the_poll(page: Page) -> None:
    page.fault("status", "server_error", times=3)
    assert page.publish(VIDEO).remote_id == page.posts[0]["id"]
    page.fault("status", "expired", times=3)
    with pytest.raises(OutcomeUnknown):
        page.publish(VIDEO)


def test_a_post_that_is_gone_is_a_refusal(page: Page) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        page.connector.engagement(page.account, f"{page.account.remote_account_id}_1")
    assert (refusal.value.kind, refusal.value.code) == (Refusal.PERMISSION, "100/33")
