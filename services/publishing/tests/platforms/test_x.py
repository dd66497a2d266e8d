"""X, against the simulator."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests

from publishing.platforms.base import (
    Account,
    Content,
    MediaSource,
    OpenComment,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
    Refusal,
)

from .simulated import Killed, Page, Simulator

MIB = 2**20
TEXT = Content("Größer & besser <8am> 🍞 see example.com or https://example.org/bread?a=1&b=2 @all")


@pytest.fixture
def page(page_on: Callable[[str], Page]) -> Page:
    return page_on("TW")


@pytest.fixture
def contents(file: Callable[[str], MediaSource]) -> dict[str, Content]:
    photos = ("photo-300x200.png", "photo-400x200.jpg", "photo-500x200.webp", "photo-600x200.jpg")
    return {
        "photos": Content("Pictures", tuple(map(file, photos))),
        "video": Content("Moving", (file("video-5s.mp4"),)),
    }


def test_a_used_up_window_says_how_long_to_wait(page: Page) -> None:
    page.fault("publish", "rate_limit")
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(TEXT)
    assert 50 < refusal.value.wait_seconds <= 61


def test_the_apps_empty_purse_is_told_as_what_it_is_and_no_page_expires(
    page: Page, simulator: Simulator
) -> None:
    simulator.call("POST", "x/credits", left=0)
    try:
        with pytest.raises(PlatformRefusal) as refusal:
            page.publish(TEXT)
    finally:
        simulator.call("POST", "x/credits")
    assert (refusal.value.kind, refusal.value.code) == (Refusal.PERMISSION, "credits-depleted")


def test_the_same_words_twice_are_refused_for_good(page: Page) -> None:
    page.publish(TEXT)
    page.stored = {}
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(TEXT)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "duplicate")
    assert refusal.value.message == "You are not allowed to create a Tweet with duplicate content."


def test_a_duplicate_after_an_unknown_outcome_means_that_the_first_call_went_through(page: Page) -> None:
    page.fault("publish", "drop_after_accept")
    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            page.publish(TEXT)
    assert len(page.posts) == 1
    assert isinstance(page.look_up(TEXT), Published)


def test_an_upload_is_resumed_where_it_stopped(
    page: Page, film: Callable[..., MediaSource], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = Content("Long", (film(20 * MIB),))
    calls, stage = [], page.connector._calls.stage

    def dying(account: Account, path: str, data: Any = None) -> Any:
        calls.append(path.rpartition("/")[2])
        if len(calls) == 13:
            raise Killed
        return stage(account, path, data)

    monkeypatch.setattr(page.connector._calls, "stage", dying)
    with pytest.raises(Killed):
        page.publish(content)
    page.publish(content)
    # Eleven segments were sent before the kill; the last checkpoint is after the eighth.
    assert calls == ["initialize", *["append"] * 12, *["append"] * 12, "finalize"]
    assert page.posts[0]["media"][0]["bytes"] == 20 * MIB


@pytest.mark.parametrize("mode", ["server_error", "drop_after_accept"])
def test_a_segment_without_an_answer_is_sent_again_within_the_attempt(
    mode: str, page: Page, film: Callable[..., MediaSource], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = Content("Long", (film(3 * MIB),))
    stage = page.connector._calls.stage

    def breaking(account: Account, path: str, data: Any = None) -> Any:
        answer = stage(account, path, data)
        if path.endswith("/initialize"):
            page.fault("upload", mode, times=2)
        return answer

    monkeypatch.setattr(page.connector._calls, "stage", breaking)
    page.publish(content)
    assert [post["media"][0]["bytes"] for post in page.posts] == [3 * MIB]


def test_a_film_still_in_work_is_waited_for_by_the_next_attempt(
    contents: dict[str, Content],
    page: Page,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page.change(poll_limit_seconds=0.0)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(contents["video"])
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "NOT_READY")
    page.change(poll_limit_seconds=10.0)
    monkeypatch.setattr(page.connector._calls, "stage", None)
    page.publish(contents["video"])
    assert len(page.posts) == 1


@pytest.mark.parametrize("name", ["video-141s-64x64.mp4", "video-1s.webm"])
def test_a_film_that_x_cannot_use_is_rejected_with_its_words(
    name: str, page: Page, file: Callable[[str], MediaSource]
) -> None:
    source = replace(file(name), content_type="video/mp4")
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(Content("x", (source,)))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "InvalidMedia")


@pytest.mark.parametrize("change", [{"until": 0.0}, {"state": "processing", "id": "181"}])
def test_an_upload_that_x_has_forgotten_is_made_anew(
    change: dict[str, Any], contents: dict[str, Content], page: Page
) -> None:
    page.fault("publish", "rate_limit")
    with pytest.raises(PlatformRefusal):
        page.publish(contents["video"])
    page.stored["media"][0] |= change
    before = page.stored["media"][0]["id"]
    page.publish(contents["video"])
    assert page.stored["media"][0]["id"] != before
    assert len(page.posts) == 1


def test_what_the_client_asked_for_besides_goes_along(contents: dict[str, Content], page: Page) -> None:
    settings = {"reply_settings": "following", "alt_texts": ["Brot", "", "Brötchen"], "unknown": 1}
    page.publish(replace(contents["photos"], settings=settings))
    [post] = page.posts
    assert post["settings"]["reply_settings"] == "following"
    assert [item.get("alt_text") for item in post["media"]] == ["Brot", None, "Brötchen", None]


def test_comments_older_than_a_week_are_out_of_xs_reach(page: Page, simulator: Simulator) -> None:
    simulator.call("POST", "clock", shift_seconds=-8 * 86_400)
    try:
        remote_id = page.publish(TEXT).remote_id
        page.visit(remote_id, "old")
    finally:
        simulator.call("POST", "clock", shift_seconds=0)
    assert page.comments(remote_id, since=page.began_at - timedelta(days=30)) == ()


def test_the_accounts_picture_is_a_large_one(page: Page) -> None:
    picture = page.connector.profile(page.account).picture
    assert requests.get(picture, timeout=5).headers["Content-Type"] == "image/jpeg"
    assert "_400x400" in picture


def test_a_reply_that_x_does_not_allow_is_rejected_with_its_words(page: Page, simulator: Simulator) -> None:
    remote_id = page.publish(TEXT).remote_id
    stranger = simulator.account("TW")
    with pytest.raises(PlatformRefusal) as refusal:
        page.connector.reply(stranger, remote_id, "Buy mine")
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "reply-restricted")
    assert refusal.value.message.startswith("You can only reply to or quote posts where you are mentioned")


@pytest.mark.parametrize("first", ["tweet.fields", "post.fields"])
@pytest.mark.parametrize("served", ["tweet.fields", "post.fields"])
def test_whichever_names_x_has_for_fields_are_found_out_and_remembered(
    page_on: Callable[[str], Page], simulator: Simulator, first: str, served: str
) -> None:
    page = page_on("TW")
    page.change(fields_parameter=first)
    root = page.publish(TEXT).remote_id
    simulator.call("POST", "metrics", platform="TW", post_id=root, likes=5, shares=2)
    visit_id = page.visit(root, "Fine")
    simulator.call("POST", "x/fields", name=served)
    try:
        counts = page.connector.engagement(page.account, root)
        [comment] = page.comments(root)
        found = page.look_up(TEXT)
        assert page.connector._calls._fields_parameter == served
    finally:
        simulator.call("POST", "x/fields")
    assert (counts.likes, counts.comments, counts.shares) == (5, 1, 2)
    assert (comment.id, comment.parent_id, comment.author_name) == (visit_id, None, "Ann Ade")
    assert isinstance(found, Published)
    assert found.remote_id == root


@pytest.mark.parametrize("served", ["tweet.fields", "post.fields"])
def test_what_a_reply_answers_is_read_by_either_name(page: Page, simulator: Simulator, served: str) -> None:
    root = page.publish(TEXT).remote_id
    visit_id = page.visit(root, "Fine")
    began_at = datetime.now(UTC)
    reply_id = page.connector.reply(page.account, visit_id, "Thank you")
    simulator.call("POST", "x/fields", name=served)
    try:
        comments = page.comments(root)
        found = page.connector.find_reply(OpenComment(page.account, visit_id, "Thank you", began_at))
    finally:
        simulator.call("POST", "x/fields")
    assert {one.id: one.parent_id for one in comments} == {visit_id: None, reply_id: visit_id}
    assert found == reply_id


def test_a_bad_request_that_is_not_about_names_is_told_as_it_is(page: Page) -> None:
    root = page.publish(TEXT).remote_id
    with pytest.raises(PlatformRefusal) as refusal:
        page.comments(root.replace("1", "x"))
    assert refusal.value.code == "invalid-request"
    assert page.connector._calls._fields_parameter == "tweet.fields"


def test_labels_of_a_post_are_sent(page: Page) -> None:
    page.publish(Content("Drawn by a machine", settings={"made_with_ai": True, "paid_partnership": True}))
    [post] = page.posts
    assert (post["settings"]["made_with_ai"], post["settings"]["paid_partnership"]) == (True, True)


def test_a_long_post_goes_out_for_an_account_with_premium_and_is_found_again(
    page: Page, simulator: Simulator
) -> None:
    long = Content("Bread and cakes. " * 60)
    assert page.connector.profile(page.account).message_limit == 280
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(long)
    assert refusal.value.kind is Refusal.REJECTED
    simulator.call("POST", "x/premium", account_id=page.account.remote_account_id)
    assert page.connector.profile(page.account).message_limit == 25_000
    page.fault("publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(long)
    assert isinstance(page.look_up(long), Published)
