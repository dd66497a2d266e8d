"""LinkedIn, against the simulator."""

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    StillUnknown,
)
from publishing.platforms.limits import check_content
from publishing.platforms.linkedin.connector import LinkedInConnector
from publishing.platforms.linkedin.settings import LinkedInSettings

MIB = 2**20
TEXT = Content("Größer & besser (8am) *now* 🍞 #fresh #a_b <at> @home [1] {x} | ~ \\ example.com/a_b")


@pytest.fixture
def page(attempts: Callable[[str], Any]) -> Any:
    return attempts("LN")


@pytest.fixture
def member(page: Any, simulator: Any) -> Any:
    """A person: may post, and read next to nothing."""
    made = simulator.call("POST", "linkedin/members", name="Mel")
    page.account = Account(made["account_id"], made["access_token"], made["username"])
    return page


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
    photos = ("photo-300x200.png", "photo-400x200.jpg", "photo-500x200.gif")
    return {
        "text": TEXT,
        "photo": Content("A picture", (file(photos[0]),)),
        "photos": Content("Pictures", tuple(map(file, photos))),
        "video": Content("Moving", (padded(file("video-5s.mp4").body or b"", 9 * MIB),)),
    }


def padded(video: bytes, total_bytes: int) -> MediaSource:
    """A good film with an empty box behind it, made while it is read."""

    @contextmanager
    def read() -> Iterator[Iterator[bytes]]:
        yield _pieces(video, total_bytes - len(video))

    return MediaSource(
        "video",
        f"https://a.example/{total_bytes}.mp4",
        content_type="video/mp4",
        size_bytes=total_bytes,
        opener=read,
    )


def _pieces(video: bytes, left: int) -> Iterator[bytes]:
    yield video
    yield left.to_bytes(4, "big") + b"free"
    left -= 8
    while left:
        piece = min(left, 256 * 1024)
        yield bytes(piece)
        left -= piece


KINDS = pytest.mark.parametrize("kind", ["text", "photo", "photos", "video"])


@KINDS
def test_a_post_goes_out_with_id_and_permalink(
    kind: str, contents: dict[str, Content], page: Any, simulator: Any
) -> None:
    content = contents[kind]
    published = page.publish(content)
    [post] = simulator.posts(page.account)
    assert (published.remote_id, post["text"]) == (post["id"], content.message)
    assert published.permalink == f"https://www.linkedin.com/feed/update/{post['id']}/"
    assert [(item["type"], item["bytes"]) for item in post["media"]] == [
        (source.type, source.length_bytes) for source in content.media
    ]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(
        alphabet=st.one_of(
            st.sampled_from("\\|{}@[]()<>#*_~ abé1日🍞\u0301\n&"),
            st.characters(exclude_categories=("Cs",), exclude_characters="\0"),
        ),
        min_size=1,
        max_size=60,
    )
)
def test_what_goes_out_is_what_linkedin_shows(text: str, page: Any, simulator: Any) -> None:
    account = simulator.account("LN")
    published = page.connector.publish(account, Content(text), Checkpoint())
    [post] = simulator.posts(account)
    assert (post["id"], post["text"]) == (published.remote_id, text)


def test_hashtags_are_links(page: Any, simulator: Any) -> None:
    page.publish(Content("#fresh C# #1 #bread2 a#b"))
    commentary = simulator.posts(page.account)[0]["settings"]["commentary"]
    assert commentary == "{hashtag|\\#|fresh} C\\# \\#1 {hashtag|\\#|bread2} a\\#b"


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
    kind: str,
    mode: str,
    contents: dict[str, Content],
    page: Any,
    simulator: Any,
    linkedin_settings: LinkedInSettings,
) -> None:
    page.connector = LinkedInConnector(replace(linkedin_settings, read_timeout_seconds=0.5))
    simulator.fault(page.account, "publish", mode)
    with pytest.raises(OutcomeUnknown):
        page.publish(contents[kind])
    assert page.look_up(contents[kind]) == NotPublished(settled=False)
    page.publish(contents[kind])
    assert len(simulator.posts(page.account)) == 1


@pytest.mark.parametrize(
    ("mode", "kind", "code"),
    [
        ("reject", Refusal.REJECTED, "UNPROCESSABLE_ENTITY"),
        ("rate_limit", Refusal.RATE_LIMITED, "TOO_MANY_REQUESTS"),
        ("expired", Refusal.EXPIRED, "EXPIRED_ACCESS_TOKEN"),
    ],
)
def test_a_refusal_says_what_kind_it_is_and_nothing_was_sent(
    mode: str, kind: Refusal, code: str, page: Any, simulator: Any
) -> None:
    simulator.fault(page.account, "publish", mode)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(TEXT)
    assert (refusal.value.kind, refusal.value.code) == (kind, code)
    assert (refusal.value.wait_seconds is not None) == (mode == "rate_limit")
    assert simulator.posts(page.account) == []
    assert page.look_up(TEXT) == NotPublished(settled=True)


def test_a_version_that_is_over_says_which_setting_to_change(page: Any, simulator: Any) -> None:
    simulator.call("POST", "linkedin/version", oldest=202608)
    try:
        with pytest.raises(PlatformRefusal) as refusal:
            page.publish(TEXT)
    finally:
        simulator.call("POST", "linkedin/version")
    assert (refusal.value.kind, refusal.value.code) == (Refusal.PERMISSION, "NONEXISTENT_VERSION")
    assert "LINKEDIN_VERSION" in refusal.value.message


def test_a_token_that_is_new_is_tried_once_more_and_one_that_is_revoked_is_not_forever(
    page: Any, simulator: Any
) -> None:
    account_id = page.account.remote_account_id
    simulator.call("POST", "linkedin/young", account_id=account_id, seconds=0.2)
    page.publish(TEXT)
    simulator.call("POST", "linkedin/young", account_id=account_id, seconds=60)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(replace(TEXT, message="later"))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.EXPIRED, "REVOKED_ACCESS_TOKEN")
    assert len(simulator.posts(page.account)) == 1


def test_the_same_post_twice_is_refused_for_good(page: Any) -> None:
    page.publish(TEXT)
    page.stored = {}
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(TEXT)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "DUPLICATE_POST")


def test_a_duplicate_after_an_unknown_outcome_is_the_post_itself_for_members_too(
    member: Any, simulator: Any
) -> None:
    simulator.call(
        "POST", "faults", platform="LN", operation="publish", mode="drop_after_accept",
        account_id=member.account.remote_account_id,
    )  # fmt: skip
    with pytest.raises(OutcomeUnknown):
        member.publish(TEXT)
    assert member.look_up(TEXT) == StillUnknown()
    with pytest.raises(OutcomeUnknown):
        member.publish(TEXT)
    [post] = simulator.posts(member.account)
    assert member.look_up(TEXT).remote_id == post["id"]
    assert member.look_up(TEXT, post["id"]) == StillUnknown()


def test_a_member_who_may_not_look_at_files_posts_them_all_the_same(
    contents: dict[str, Content], member: Any, simulator: Any
) -> None:
    for kind in ("photos", "video"):
        member.publish(contents[kind])
    assert [len(post["media"]) for post in simulator.posts(member.account)] == [3, 1]


def test_two_equal_pictures_are_told_apart(contents: dict[str, Content], page: Any, simulator: Any) -> None:
    page.publish(contents["photo"])
    page.stored = {}
    simulator.fault(page.account, "publish", "server_error")
    with pytest.raises(OutcomeUnknown):
        page.publish(contents["photo"])
    assert page.look_up(contents["photo"]) == NotPublished(settled=False)


def test_a_post_that_belongs_to_another_attempt_is_not_taken_for_this_one(page: Any) -> None:
    first = page.publish(TEXT)
    assert isinstance(page.look_up(TEXT), Published)
    assert page.look_up(TEXT, first.remote_id) == NotPublished(settled=False)


@pytest.mark.parametrize("mode", ["server_error", "drop_after_accept"])
@pytest.mark.parametrize("kind", ["photos", "video"])
def test_files_that_could_not_be_sent_can_be_tried_again(
    kind: str, mode: str, contents: dict[str, Content], page: Any, simulator: Any
) -> None:
    simulator.fault(page.account, "upload", mode)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(contents[kind])
    assert refusal.value.kind is Refusal.TRANSIENT
    assert page.look_up(contents[kind]) == NotPublished(settled=True)
    page.publish(contents[kind])
    assert len(simulator.posts(page.account)) == 1


def test_a_film_of_250_mb_arrives_in_parts_and_is_never_in_memory(
    page: Any, simulator: Any, file: Callable[[str], MediaSource]
) -> None:
    source = padded(file("video-5s.mp4").body or b"", 250 * MIB)
    tracemalloc.start()
    try:
        page.publish(Content("Long", (source,)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert simulator.posts(page.account)[0]["media"] == [{"type": "video", "bytes": 250 * MIB}]
    assert peak < 8 * MIB


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
    content = Content("Long", (padded(file("video-5s.mp4").body or b"", 30 * MIB),))
    sent: list[int] = []
    put = page.connector._calls.put

    def dying(account: Account, url: str, body: Any, **named: Any) -> str:
        if len(sent) == 6:
            sent.append(-1)
            raise Killed
        sent.append(int(url.rpartition("/")[2]))
        return put(account, url, body, **named)  # type: ignore[no-any-return]

    monkeypatch.setattr(page.connector._calls, "put", dying)
    with pytest.raises(Killed):
        page.publish(content)
    page.publish(content)
    # The checkpoint before the kill is behind the fourth part; each part goes to its own address.
    assert sent == [0, 1, 2, 3, 4, 5, -1, 4, 5, 6, 7]
    assert simulator.posts(page.account)[0]["media"][0]["bytes"] == 30 * MIB


def test_a_file_still_in_work_is_waited_for_by_the_next_attempt(
    contents: dict[str, Content],
    page: Any,
    simulator: Any,
    linkedin_settings: LinkedInSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page.connector = LinkedInConnector(replace(linkedin_settings, poll_limit_seconds=0.0))
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(contents["video"])
    assert (refusal.value.kind, refusal.value.code) == (Refusal.TRANSIENT, "NOT_READY")
    page.connector = LinkedInConnector(linkedin_settings)
    monkeypatch.setattr(page.connector._calls, "put", None)
    page.publish(contents["video"])
    assert len(simulator.posts(page.account)) == 1


@pytest.mark.parametrize("name", ["video-1s-1900x1000.mp4", "photo-40x40.webp"])
def test_a_file_that_linkedin_cannot_use_is_rejected_with_its_words(
    name: str, page: Any, file: Callable[[str], MediaSource]
) -> None:
    source = file(name)
    if source.type == "video":
        source = padded(source.body or b"", MIB)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(Content("x", (source,)))
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "PROCESSING_FAILED")


@pytest.mark.parametrize(
    "change", [{"until": 0.0}, {"state": "sending", "parts": [["{url}/dms-uploads/urn/0", 5]]}]
)
def test_an_upload_that_is_no_good_any_more_is_made_anew(
    change: dict[str, Any], contents: dict[str, Content], page: Any, simulator: Any
) -> None:
    simulator.fault(page.account, "publish", "rate_limit")
    with pytest.raises(PlatformRefusal):
        page.publish(contents["photo"])
    if "parts" in change:
        change["parts"][0][0] = f"{simulator.url}/dms-uploads/urn/0"
    page.stored["media"][0] |= change
    before = page.stored["media"][0]["urn"]
    page.publish(contents["photo"])
    assert page.stored["media"][0]["urn"] != before
    assert len(simulator.posts(page.account)) == 1


def test_files_go_to_linkedins_own_hosts_alone(
    contents: dict[str, Content], page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = {"image": "urn:li:image:1", "uploadUrl": "https://linkedin.com.evil.example/1"}
    monkeypatch.setattr(page.connector._calls, "act", lambda *_, **__: value)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(contents["photo"])
    assert refusal.value.code == "STRANGE_HOST"


def test_what_the_client_asked_for_besides_goes_along(
    contents: dict[str, Content], page: Any, simulator: Any
) -> None:
    page.publish(
        replace(contents["photos"], settings={"visibility": "LOGGED_IN", "alt_texts": ["Brot"], "other": 1})
    )
    page.publish(replace(contents["video"], settings={"title": "How we bake", "is_reshare_disabled": True}))
    article = {"source": "https://example.com/a", "title": "Bread"}
    page.publish(Content("Read", settings={"article": article}))
    photos, film, link = (post["settings"] for post in simulator.posts(page.account))
    assert photos["visibility"] == "LOGGED_IN"
    assert [image.get("altText") for image in photos["content"]["multiImage"]["images"]] == [
        "Brot",
        None,
        None,
    ]
    assert (film["content"]["media"]["title"], film["isReshareDisabledByAuthor"]) == ("How we bake", True)
    assert link["content"] == {"article": article}


def test_nothing_is_sent_when_the_checkpoint_cannot_be_stored(page: Any, simulator: Any) -> None:
    def fail(values: dict[str, Any]) -> None:
        raise RuntimeError("lease lost")

    with pytest.raises(RuntimeError):
        page.connector.publish(page.account, TEXT, Checkpoint(store=fail))
    assert simulator.posts(page.account) == []


@pytest.mark.parametrize("kind", ["text", "photos", "video"])
def test_a_kill_between_any_two_calls_never_leads_to_a_second_post(
    kind: str, contents: dict[str, Content], page: Any, simulator: Any
) -> None:
    """The process dies before and after every single call, until an attempt comes through."""
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

    try:
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
    finally:
        wire.send = send
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


def number_of(urn: str) -> str:
    """A comment's id as the control API tells it."""
    return urn.rpartition(",")[2].rstrip(")")


def visit(simulator: Any, remote_id: str, text: str, **more: str) -> str:
    body = {"platform": "LN", "post_id": remote_id, "from": "Ann Ade", "text": text, **more}
    return str(simulator.call("POST", "comments", **body)["id"])


def test_comments_are_read_with_their_threads_and_answered(page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    visitor_id = visit(simulator, remote_id, "Nice (really) #1")
    own = page.connector.comment(page.account, remote_id, "More (to come) #soon")
    [asked] = [c for c in page.connector.list_comments(page.account, remote_id).comments if c.id != own.id]
    reply = page.connector.reply(page.account, asked.id, "Thank you")
    nested = page.connector.reply(page.account, reply.id, "And you")
    answer = page.connector.list_comments(page.account, remote_id)
    comments = {one.id: one for one in answer.comments}
    assert list(comments) == [nested.id, reply.id, own.id, asked.id]
    assert answer.next_cursor is None
    assert (number_of(asked.id), asked.author_name, asked.text) == (
        visitor_id,
        "LinkedIn member",
        "Nice (really) #1",
    )
    assert (comments[asked.id].reply_count, asked.parent_id) == (2, None)
    # A reply to a reply stands in the thread.
    assert [comments[one.id].parent_id for one in (reply, nested)] == [asked.id, asked.id]
    assert nested.parent_id == reply.id
    assert comments[own.id].text == "More (to come) #soon"
    assert comments[own.id].author_id == page.account.remote_account_id
    [shown] = [row for row in simulator.accounts() if row["account_id"] == page.account.remote_account_id]
    assert comments[own.id].author_name == shown["name"]
    later = comments[nested.id].created_at + timedelta(seconds=5)
    assert page.connector.list_comments(page.account, remote_id, since=later).comments == ()


@pytest.mark.parametrize("limit", [1, 3, 4, 12, 100])
def test_comments_come_page_by_page_however_many_replies_there_are(
    limit: int, page: Any, simulator: Any
) -> None:
    remote_id = page.publish(TEXT).remote_id
    made = set()
    for number in range(5):
        first = visit(simulator, remote_id, f"{number}")
        made |= {
            first,
            *(visit(simulator, remote_id, f"{number}.{n}", parent_id=first) for n in range(number)),
        }
    seen, cursor = [], None
    while True:
        answer = page.connector.list_comments(page.account, remote_id, limit=limit, cursor=cursor)
        assert len(answer.comments) <= limit
        seen += [number_of(one.id) for one in answer.comments]
        cursor = answer.next_cursor
        if cursor is None:
            break
    assert (len(seen), set(seen)) == (15, made)


@pytest.mark.parametrize("cursor", ["", "x", "0/0", "1/101", "1/2/3", "1/2/x/y"])
def test_a_made_up_cursor_is_refused(cursor: str, page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    if cursor:
        with pytest.raises(PlatformRefusal) as refusal:
            page.connector.list_comments(page.account, remote_id, cursor=cursor)
        assert refusal.value.kind is Refusal.REJECTED


def test_a_comment_that_is_too_long_is_not_sent(page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    with pytest.raises(PlatformRefusal) as refusal:
        page.connector.comment(page.account, remote_id, "a" * 1_251)
    assert refusal.value.kind is Refusal.REJECTED
    page.connector.comment(page.account, remote_id, "a" * 1_250)
    assert len(simulator.posts(page.account)[0]["comments"]) == 1


def test_a_comment_or_reply_whose_answer_never_came_is_found(page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    connector, account, began_at = page.connector, page.account, page.began_at
    visit(simulator, remote_id, "?")
    [asked] = connector.list_comments(account, remote_id).comments
    earlier = connector.reply(account, asked.id, "yes")
    for operation, parent_id, send, find in (
        ("comment", remote_id, connector.comment, connector.find_comment),
        ("reply", asked.id, connector.reply, connector.find_reply),
        ("reply", earlier.id, connector.reply, connector.find_reply),
    ):
        text = f"to {parent_id}"
        assert find(account, parent_id, text, began_at=began_at) is None
        simulator.fault(account, operation, "drop_after_accept")
        with pytest.raises(OutcomeUnknown):
            send(account, parent_id, text)
        found = find(account, parent_id, text, began_at=began_at)
        assert (found.parent_id, found.created_at is not None) == (parent_id, True)
        assert find(account, parent_id, text, began_at=began_at, known_ids=[found.id]) is None


def test_counts_and_the_page_are_read(page: Any, simulator: Any) -> None:
    remote_id = page.publish(TEXT).remote_id
    simulator.call("POST", "metrics", platform="LN", post_id=remote_id, likes=7, comments=3)
    counts = page.connector.engagement(page.account, remote_id)
    assert (counts.likes, counts.comments, counts.shares) == (7, 3, None)
    [shown] = [row for row in simulator.accounts() if row["account_id"] == page.account.remote_account_id]
    profile = page.connector.profile(page.account)
    assert (profile.name, profile.username) == (shown["name"], shown["username"])
    assert profile.followers == shown["followers"]


def test_a_member_has_a_name_and_a_picture(member: Any) -> None:
    profile = member.connector.profile(member.account)
    assert (profile.name, profile.followers) == ("Mel", 0)
    assert profile.picture.endswith(".jpg")


def test_a_first_comment_is_counted_as_it_is_written(page: Any) -> None:
    text = " ".join(f"#hashtag{number:02}" for number in range(20)).ljust(1_089, "a")
    assert check_content("LN", "text", [], text) == []
    remote_id = page.publish(TEXT).remote_id
    assert page.connector.comment(page.account, remote_id, text).id
    assert check_content("LN", "text", [], "(" * 1_250) == []
    [error] = check_content("LN", "text", [], "a" * 1_251)
    assert error.extras["errors"][0]["field"] == "first_comment"
