"""X, against the simulator."""

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from publishing.platforms.base import (
    Account,
    Checkpoint,
    Content,
    MediaSource,
    NotPublished,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
    Refusal,
)
from publishing.platforms.x.connector import XConnector
from publishing.platforms.x.settings import XSettings

MIB = 2**20
TEXT = Content("Größer & besser <8am> 🍞 see example.com or https://example.org/bread?a=1&b=2 @all")


@pytest.fixture
def page(attempts: Callable[[str], Any]) -> Any:
    return attempts("TW")


@pytest.fixture
def file(simulator: Any) -> Callable[[str], MediaSource]:
    """A sample file with its bytes."""

    def make(name: str) -> MediaSource:
        answer = simulator._session.get(f"{simulator.url}/media/{name}", timeout=5)
        kind = answer.headers["Content-Type"]
        return MediaSource(
            "video" if kind.startswith("video/") else "photo", url=f"https://a.example/{name}", body=answer.content,
            content_type=kind,
        )  # fmt: skip

    return make


@pytest.fixture
def contents(file: Callable[[str], MediaSource]) -> dict[str, Content]:
    photos = ("photo-300x200.png", "photo-400x200.jpg", "photo-500x200.webp", "photo-600x200.jpg")
    return {
        "text": TEXT,
        "photo": Content("A picture", (file(photos[0]),)),
        "photos": Content("Pictures", tuple(map(file, photos))),
        "gif": Content("", (file("photo-64x64.gif"),)),
        "video": Content("Moving", (file("video-5s.mp4"),)),
    }


KINDS = pytest.mark.parametrize("kind", ["text", "photo", "photos", "gif", "video"])


@KINDS
def test_a_post_goes_out_with_id_and_permalink(
    kind: str, contents: dict[str, Content], page: Any, simulator: Any
) -> None:
    content = contents[kind]
    published = page.publish(content)
    [post] = simulator.posts(page.account)
    assert (published.remote_id, post["text"]) == (post["id"], content.message)
    assert published.permalink == f"https://x.com/{page.account.username}/status/{post['id']}"
    assert [(item["type"], item["bytes"]) for item in post["media"]] == [
        (source.type, source.length_bytes) for source in content.media
    ]


@KINDS
def test_an_answer_that_never_came_is_looked_up_and_found(
    kind: str, contents: dict[str, Content], page: Any, simulator: Any
) -> None:
    simulator.fault(page.account, "publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(contents[kind])
    [post] = simulator.posts(page.account)
    found = page.look_up(contents[kind])
    assert isinstance(found, Published)
    assert (found.remote_id, found.published_at is not None) == (post["id"], True)


@pytest.mark.parametrize("mode", ["server_error", "hang"])
@pytest.mark.parametrize("kind", ["text", "photos"])
def test_a_call_that_failed_in_the_dark_is_unknown_and_then_not_found(
    kind: str, mode: str, contents: dict[str, Content], page: Any, simulator: Any, x_settings: XSettings
) -> None:
    page.connector = XConnector(replace(x_settings, read_timeout_seconds=0.5))
    simulator.fault(page.account, "publish", mode)
    with pytest.raises(OutcomeUnknown):
        page.publish(contents[kind])
    assert page.look_up(contents[kind]) == NotPublished(settled=False)
    page.publish(contents[kind])
    assert len(simulator.posts(page.account)) == 1


@pytest.mark.parametrize(
    ("mode", "kind", "code"),
    [
        ("reject", Refusal.REJECTED, "403"),
        ("rate_limit", Refusal.RATE_LIMITED, "429"),
        ("expired", Refusal.EXPIRED, "401"),
    ],
)
def test_a_refusal_says_what_kind_it_is_and_nothing_was_sent(
    mode: str, kind: Refusal, code: str, page: Any, simulator: Any
) -> None:
    simulator.fault(page.account, "publish", mode)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(TEXT)
    assert (refusal.value.kind, refusal.value.code) == (kind, code)
    assert simulator.posts(page.account) == []
    assert page.look_up(TEXT) == NotPublished(settled=True)


def test_a_used_up_window_says_how_long_to_wait(page: Any, simulator: Any) -> None:
    simulator.fault(page.account, "publish", "rate_limit")
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(TEXT)
    assert 50 < refusal.value.wait_seconds <= 61


def test_the_apps_empty_purse_is_told_as_what_it_is_and_no_page_expires(page: Any, simulator: Any) -> None:
    simulator.call("POST", "x/credits", left=0)
    try:
        with pytest.raises(PlatformRefusal) as refusal:
            page.publish(TEXT)
    finally:
        simulator.call("POST", "x/credits")
    assert (refusal.value.kind, refusal.value.code) == (Refusal.PERMISSION, "credits-depleted")


def test_the_same_words_twice_are_refused_for_good(page: Any, simulator: Any) -> None:
    page.publish(TEXT)
    page.stored = {}
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(TEXT)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "duplicate")
    assert refusal.value.message == "You are not allowed to create a Tweet with duplicate content."


def test_a_duplicate_after_an_unknown_outcome_means_that_the_first_call_went_through(
    page: Any, simulator: Any
) -> None:
    simulator.fault(page.account, "publish", "drop_after_accept")
    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            page.publish(TEXT)
    assert len(simulator.posts(page.account)) == 1
    assert isinstance(page.look_up(TEXT), Published)


def test_two_equal_pictures_are_told_apart(contents: dict[str, Content], page: Any, simulator: Any) -> None:
    page.publish(contents["photo"])
    page.stored = {}
    simulator.fault(page.account, "publish", "server_error")
    with pytest.raises(OutcomeUnknown):
        page.publish(contents["photo"])
    assert page.look_up(contents["photo"]) == NotPublished(settled=False)


def test_a_post_that_belongs_to_another_attempt_is_not_taken_for_this_one(page: Any, simulator: Any) -> None:
    first = page.publish(TEXT)
    assert isinstance(page.look_up(TEXT), Published)
    assert page.look_up(TEXT, first.remote_id) == NotPublished(settled=False)


@pytest.mark.parametrize("mode", ["server_error", "hang", "drop_after_accept"])
@pytest.mark.parametrize("kind", ["photos", "video"])
def test_files_that_could_not_be_sent_can_be_tried_again(
    kind: str, mode: str, contents: dict[str, Content], page: Any, simulator: Any, x_settings: XSettings
) -> None:
    page.connector = XConnector(replace(x_settings, read_timeout_seconds=0.5))
    simulator.fault(page.account, "upload", mode)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(contents[kind])
    assert refusal.value.kind is Refusal.TRANSIENT
    assert page.look_up(contents[kind]) == NotPublished(settled=True)
    page.publish(contents[kind])
    assert len(simulator.posts(page.account)) == 1


def padded(video: bytes, total_bytes: int, opened: list[int]) -> MediaSource:
    """A good film with an empty box behind it, made while it is read."""

    @contextmanager
    def read() -> Iterator[Iterator[bytes]]:
        opened.append(total_bytes)
        left = total_bytes - len(video)
        yield iter(_pieces(video, left))

    return MediaSource("video", "https://a.example/long.mp4", content_type="video/mp4", size_bytes=total_bytes,
                       opener=read)  # fmt: skip


def _pieces(video: bytes, left: int) -> Iterator[bytes]:
    yield video
    yield left.to_bytes(4, "big") + b"free"
    left -= 8
    while left:
        piece = min(left, 256 * 1024)
        yield bytes(piece)
        left -= piece


def test_a_film_of_250_mb_arrives_in_segments_and_is_never_in_memory(
    page: Any, simulator: Any, file: Callable[[str], MediaSource]
) -> None:
    source = padded(file("video-5s.mp4").body or b"", 250 * MIB, [])
    tracemalloc.start()
    try:
        page.publish(Content("Long", (source,)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert simulator.posts(page.account)[0]["media"] == [{"type": "video", "bytes": 250 * MIB}]
    assert peak < 16 * MIB


def test_a_file_of_unknown_length_is_not_begun_with(page: Any, simulator: Any) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(
            Content("x", (MediaSource("photo", "https://a.example/a.jpg", content_type="image/jpeg"),))
        )
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "MEDIA_LENGTH_UNKNOWN")
    assert simulator.posts(page.account) == []


class Killed(BaseException):
    """The process died here."""


def test_an_upload_is_gone_on_with_where_it_stopped(
    page: Any, simulator: Any, file: Callable[[str], MediaSource], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = Content("Long", (padded(file("video-5s.mp4").body or b"", 20 * MIB, []),))
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
    # Eleven went before the kill; the last eight-fold checkpoint is behind the eighth.
    assert calls == ["initialize", *["append"] * 12, *["append"] * 12, "finalize"]
    assert simulator.posts(page.account)[0]["media"][0]["bytes"] == 20 * MIB


@pytest.mark.parametrize("mode", ["server_error", "drop_after_accept"])
def test_a_segment_without_an_answer_is_sent_again_within_the_attempt(
    mode: str, page: Any, simulator: Any, file: Callable[[str], MediaSource], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = Content("Long", (padded(file("video-5s.mp4").body or b"", 3 * MIB, []),))
    stage = page.connector._calls.stage

    def breaking(account: Account, path: str, data: Any = None) -> Any:
        answer = stage(account, path, data)
        if path.endswith("/initialize"):
            simulator.fault(page.account, "upload", mode, times=2)
        return answer

    monkeypatch.setattr(page.connector._calls, "stage", breaking)
    page.publish(content)
    assert [post["media"][0]["bytes"] for post in simulator.posts(page.account)] == [3 * MIB]


def test_a_film_still_in_work_is_waited_for_by_the_next_attempt(
    contents: dict[str, Content],
    page: Any,
    simulator: Any,
    x_settings: XSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page.connector = XConnector(replace(x_settings, poll_limit_seconds=0.0))
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(contents["video"])
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "NOT_READY")
    page.connector = XConnector(x_settings)
    monkeypatch.setattr(page.connector._calls, "stage", None)
    page.publish(contents["video"])
    assert len(simulator.posts(page.account)) == 1


@pytest.mark.parametrize("name", ["video-141s-64x64.mp4", "video-1s.webm"])
def test_a_film_that_x_cannot_use_is_rejected_with_its_words(
    name: str, page: Any, file: Callable[[str], MediaSource]
) -> None:
    source = replace(file(name), content_type="video/mp4")
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(Content("x", (source,)))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "InvalidMedia")


@pytest.mark.parametrize("change", [{"until": 0.0}, {"state": "processing", "id": "181"}])
def test_an_upload_that_x_has_forgotten_is_made_anew(
    change: dict[str, Any], contents: dict[str, Content], page: Any, simulator: Any
) -> None:
    simulator.fault(page.account, "publish", "rate_limit")
    with pytest.raises(PlatformRefusal):
        page.publish(contents["video"])
    page.stored["media"][0] |= change
    before = page.stored["media"][0]["id"]
    page.publish(contents["video"])
    assert page.stored["media"][0]["id"] != before
    assert len(simulator.posts(page.account)) == 1


def test_what_the_client_asked_for_besides_goes_along(
    contents: dict[str, Content], page: Any, simulator: Any
) -> None:
    settings = {"reply_settings": "following", "alt_texts": ["Brot", "", "Brötchen"], "unknown": 1}
    page.publish(replace(contents["photos"], settings=settings))
    [post] = simulator.posts(page.account)
    assert post["settings"]["reply_settings"] == "following"
    assert [item.get("alt_text") for item in post["media"]] == ["Brot", None, "Brötchen", None]


def test_nothing_is_sent_when_the_checkpoint_cannot_be_stored(page: Any, simulator: Any) -> None:
    def fail(values: dict[str, Any]) -> None:
        raise RuntimeError("lease lost")

    with pytest.raises(RuntimeError):
        page.connector.publish(page.account, TEXT, Checkpoint(store=fail))
    assert simulator.posts(page.account) == []


@pytest.mark.parametrize("kind", ["text", "photos", "video"])
def test_a_kill_between_any_two_calls_never_leads_to_a_second_post(
    kind: str, contents: dict[str, Content], page: Any, simulator: Any, x_settings: XSettings
) -> None:
    """The process dies before and after every single call, until an attempt comes through."""
    page.connector = XConnector(replace(x_settings, segment_bytes=128 * 1024))
    wire = page.connector._calls._wire
    send, alive = wire.send, [0]

    def mortal(after: bool, *arguments: Any, **named: Any) -> Any:
        alive[0] -= 1
        if alive[0] < 0 and not after:
            raise Killed
        reply = send(*arguments, **named)
        if alive[0] < 0:
            raise Killed
        return reply

    for after in (False, True):
        page.stored = {}
        content = replace(contents[kind], message=f"{contents[kind].message} {after}")
        for life in range(100):
            alive[0] = life
            wire.send = partial(mortal, after)
            try:
                page.publish(content)
                break
            except (Killed, OutcomeUnknown):
                wire.send = send
                if isinstance(page.look_up(content), Published):
                    break
    assert len(simulator.posts(page.account)) == 2


def test_a_hundred_dropped_answers_make_a_hundred_posts(page: Any, simulator: Any) -> None:
    simulator.fault(page.account, "publish", "drop_after_accept", times=100)
    found = set()
    for number in range(100):
        page.stored, content = {}, Content(f"number {number}")
        with pytest.raises(OutcomeUnknown):
            page.publish(content)
        outcome = page.look_up(content)
        assert isinstance(outcome, Published)
        found.add(outcome.remote_id)
    assert found == {post["id"] for post in simulator.posts(page.account)}
    assert len(found) == 100


def test_comments_are_read_with_their_threads_and_answered(page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    visitor = {"platform": "TW", "post_id": remote_id, "from": "Ann Ade", "text": "Nice & warm"}
    visitor_id = simulator.call("POST", "comments", **visitor)["id"]
    own = page.connector.comment(page.account, remote_id, "More to come")
    reply = page.connector.reply(page.account, visitor_id, "Thank you")
    answer = page.connector.list_comments(page.account, remote_id)
    comments = {one.id: one for one in answer.comments}
    assert list(comments) == [reply.id, own.id, visitor_id]
    assert answer.next_cursor is None
    asked = comments[visitor_id]
    assert (asked.author_name, asked.reply_count, asked.parent_id) == ("Ann Ade", 1, None)
    assert asked.text == f"@{page.account.username} Nice & warm"
    assert (comments[reply.id].parent_id, comments[reply.id].text) == (visitor_id, "@AnnAde Thank you")
    assert comments[own.id].author_id == page.account.remote_account_id
    later = comments[reply.id].created_at + timedelta(seconds=5)
    assert page.connector.list_comments(page.account, remote_id, since=later).comments == ()


def test_comments_come_page_by_page_however_small(page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    made = [
        simulator.call("POST", "comments", platform="TW", post_id=remote_id, **{"from": "ann"}, text=f"{n}")[
            "id"
        ]
        for n in range(25)
    ]
    for limit in (3, 10, 12, 100):
        seen, cursor = [], None
        while True:
            answer = page.connector.list_comments(page.account, remote_id, limit=limit, cursor=cursor)
            assert len(answer.comments) <= limit
            seen += [one.id for one in answer.comments]
            cursor = answer.next_cursor
            if cursor is None:
                break
        assert seen == made[::-1]


def test_comments_older_than_a_week_are_out_of_xs_reach(page: Any, simulator: Any) -> None:
    simulator.call("POST", "clock", shift_seconds=-8 * 86_400)
    try:
        remote_id = page.publish(TEXT).remote_id
        simulator.call("POST", "comments", platform="TW", post_id=remote_id, **{"from": "ann"}, text="old")
    finally:
        simulator.call("POST", "clock", shift_seconds=0)
    since = page.began_at - timedelta(days=30)
    assert page.connector.list_comments(page.account, remote_id, since=since).comments == ()


def test_a_reply_that_x_does_not_allow_is_rejected_with_its_words(page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    stranger = simulator.account("TW")
    with pytest.raises(PlatformRefusal) as refusal:
        page.connector.reply(stranger, remote_id, "Buy mine")
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "reply-restricted")
    assert refusal.value.message.startswith("You can only reply to or quote posts where you are mentioned")


def test_a_reply_that_is_too_long_is_not_sent(page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    with pytest.raises(PlatformRefusal) as refusal:
        page.connector.reply(page.account, remote_id, "日" * 141)
    assert refusal.value.kind is Refusal.REJECTED
    assert simulator.posts(page.account)[0]["comments"] == []


def test_a_reply_whose_answer_never_came_is_found(page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    connector, account, began_at = page.connector, page.account, page.began_at
    visitor_id = simulator.call(
        "POST", "comments", platform="TW", post_id=remote_id, **{"from": "ann"}, text="?"
    )["id"]
    for operation, parent_id, send, find in (
        ("comment", remote_id, connector.comment, connector.find_comment),
        ("reply", visitor_id, connector.reply, connector.find_reply),
    ):
        assert find(account, parent_id, "see example.com", began_at=began_at) is None
        simulator.fault(account, operation, "drop_after_accept")
        with pytest.raises(OutcomeUnknown):
            send(account, parent_id, "see example.com")
        found = find(account, parent_id, "see example.com", began_at=began_at)
        assert (found.parent_id, found.created_at is not None) == (parent_id, True)
        assert find(account, parent_id, "see example.com", began_at=began_at, known_ids=[found.id]) is None


def test_counts_and_the_account_are_read(page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    simulator.call("POST", "metrics", platform="TW", post_id=remote_id, likes=7, comments=3, shares=2)
    counts = page.connector.engagement(page.account, remote_id)
    assert (counts.likes, counts.comments, counts.shares) == (7, 3, 2)
    [shown] = [row for row in simulator.accounts() if row["account_id"] == page.account.remote_account_id]
    profile = page.connector.profile(page.account)
    assert (profile.name, profile.username) == (shown["name"], shown["username"])
    assert profile.followers == shown["followers"]
    assert simulator._session.get(profile.picture, timeout=5).headers["Content-Type"] == "image/jpeg"
