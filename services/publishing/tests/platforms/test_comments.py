"""Comments, counts and profiles on every platform, against the simulator."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from publishing.platforms.base import (
    CommentQuery,
    Content,
    MediaSource,
    OutcomeUnknown,
    PlatformRefusal,
    Refusal,
)

from .simulated import Page

THREADED = ("FB", "IG", "LN", "YT")
platforms = pytest.mark.parametrize("platform", [*THREADED, "TW"])


@pytest.fixture
def page(platform: str, page_on: Callable[[str], Page]) -> Page:
    return page_on(platform)


@pytest.fixture
def remote_id(page: Page, clip: bytes) -> str:
    """The id of a post of the page."""
    photo = MediaSource("photo", "http://media.posthaste.test/media/photo-1080x1080.jpg")
    video = MediaSource("video", "https://a.example/a.mp4", body=clip, content_type="video/mp4")
    media = {"IG": (photo,), "YT": (video,)}.get(page.platform, ())
    return page.publish(Content("Fresh bread", media)).remote_id


def shown_id(comment_id: str) -> str:
    """Returns the id that the simulator's control API shows for a comment: on LinkedIn, the last part of the comment's
    URN.
    """
    return comment_id.rpartition(",")[2].rstrip(")")


@platforms
def test_comments_are_made_answered_and_read(page: Page, remote_id: str) -> None:
    visitor_id = page.visit(remote_id, "Nice & warm")
    own = page.connector.comment(page.account, remote_id, "More (to come) #soon")
    [asked] = [one for one in page.comments(remote_id) if one.id != own]
    reply = page.connector.reply(page.account, asked.id, "Thank you")
    comments = {one.id: one for one in page.comments(remote_id)}
    assert set(comments) == {reply, own, asked.id}
    if page.platform in ("FB", "LN", "TW"):
        assert next(iter(comments)) == reply, "newest first"
    assert (shown_id(asked.id), asked.parent_id, comments[asked.id].reply_count) == (visitor_id, None, 1)
    assert asked.author_name == ("LinkedIn member" if page.platform == "LN" else "Ann Ade")
    assert asked.text.endswith("Nice & warm")
    assert comments[reply].parent_id == asked.id
    assert comments[reply].text.endswith("Thank you")
    assert comments[own].text.endswith("More (to come) #soon")
    assert comments[own].author_id == page.account.remote_account_id
    later = max(one.created_at for one in comments.values()) + timedelta(seconds=5)
    assert page.comments(remote_id, since=later) == ()


@platforms
def test_a_reply_of_another_visitor_is_told_from_one_of_the_page(page: Page, remote_id: str) -> None:
    asked = page.visit(remote_id, "Open?")
    page.visit(remote_id, "I wonder, too", asked)
    first = next(one for one in page.comments(remote_id) if shown_id(one.id) == asked)
    reply = page.connector.reply(page.account, first.id, "We are")
    authors = {one.id: one.author_id for one in page.comments(remote_id)}
    own = [one_id for one_id, author_id in authors.items() if author_id == page.account.remote_account_id]
    assert (own, len(authors)) == ([reply], 3)


@pytest.mark.parametrize("platform", ["FB"])
def test_a_comment_whose_author_facebook_leaves_out_has_none(page: Page, remote_id: str) -> None:
    page.visit(remote_id, "Open?", named=False)
    page.connector.comment(page.account, remote_id, "We are")
    own, asked = page.comments(remote_id)
    assert own.author_id == page.account.remote_account_id, "the page itself is always named"
    assert (asked.author_id, asked.author_name) == ("", "Facebook user")
    assert page.connector.read_comment(page.account, asked.id).author_id == ""


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 12, 50, 100])
@pytest.mark.parametrize("platform", THREADED)
def test_comments_with_their_replies_come_page_by_page(limit: int, page: Page, remote_id: str) -> None:
    made = set()
    for number in range(5):
        first = page.visit(remote_id, f"{number}")
        made |= {first, *(page.visit(remote_id, f"{number}.{n}", first) for n in range(number))}
    pages = page.comment_pages(remote_id, limit)
    seen = [shown_id(one) for ids in pages for one in ids]
    assert (len(seen), set(seen)) == (15, made)


@pytest.mark.parametrize("limit", [3, 10, 12, 100])
@pytest.mark.parametrize("platform", ["FB", "TW"])
def test_comments_come_newest_first(limit: int, page: Page, remote_id: str) -> None:
    made = [page.visit(remote_id, f"{number}") for number in range(25)]
    assert [one for ids in page.comment_pages(remote_id, limit) for one in ids] == made[::-1]


@pytest.mark.parametrize(
    "cursor", ["CAA1", "ü", "W10", "WyIiLCIxIiwiIl0", "WyIiLCIwIiwiIiwiIl0", "WyIiLCIxMDEiLCIiLCIiXQ"]
)
@pytest.mark.parametrize("platform", ["IG", "LN", "YT"])
def test_a_made_up_cursor_is_refused(cursor: str, page: Page) -> None:
    with pytest.raises(PlatformRefusal) as refusal:
        page.comments("1", cursor=cursor)
    assert (refusal.value.kind, refusal.value.code) == (Refusal.REJECTED, "INVALID_CURSOR")


@platforms
def test_a_comment_or_reply_whose_answer_never_came_is_found(page: Page, remote_id: str) -> None:
    page.visit(remote_id, "?")
    [asked] = page.comments(remote_id)
    earlier = page.connector.reply(page.account, asked.id, "yes")
    for number, (operation, parent_id) in enumerate(
        (("comment", remote_id), ("reply", asked.id), ("reply", earlier))
    ):
        text = f"{number}: see example.com"
        assert page.find(operation, parent_id, text) is None
        page.fault(operation, "drop_after_accept")
        with pytest.raises(OutcomeUnknown):
            getattr(page.connector, operation)(page.account, parent_id, text)
        if operation == "comment" and page.platform != "IG":  # Instagram does not name all authors
            page.visit(remote_id, text)
        found = page.find(operation, parent_id, text)
        assert found is not None
        [made] = [one for one in page.comments(remote_id, limit=100) if one.id == found]
        assert made.author_id == page.account.remote_account_id
        assert page.find(operation, parent_id, text, found) is None


@pytest.mark.parametrize(
    ("platform", "operation", "longest"), [("TW", "reply", "日" * 140), ("LN", "comment", "a" * 1_250)]
)
def test_a_comment_that_is_too_long_is_not_sent(
    operation: str, longest: str, page: Page, remote_id: str
) -> None:
    write = getattr(page.connector, operation)
    with pytest.raises(PlatformRefusal) as refusal:
        write(page.account, remote_id, longest + longest[0])
    assert refusal.value.kind is Refusal.REJECTED
    write(page.account, remote_id, longest)
    assert len(page.posts[0]["comments"]) == 1


@platforms
def test_counts_are_read(page: Page, remote_id: str) -> None:
    numbers = {"likes": 7, "comments": 3, "shares": 2}
    page.simulator.call("POST", "metrics", platform=page.platform, post_id=remote_id, **numbers)
    counts = page.connector.engagement(page.account, remote_id)
    shares = None if page.platform in ("LN", "YT") else 2
    assert (counts.likes, counts.comments, counts.shares) == (7, 3, shares)
    if page.platform in ("FB", "IG"):
        assert None not in (counts.permalink, counts.published_at)


@pytest.mark.parametrize("platform", [*THREADED, "TT", "TW"])
def test_the_account_is_read(page: Page) -> None:
    shown, profile = page.simulator.shown(page.account), page.connector.profile(page.account)
    assert (profile.name, profile.username, profile.followers) == (
        shown["name"], shown["username"], shown["followers"],
    )  # fmt: skip
    if page.platform == "FB":
        assert profile.picture.endswith(".jpg")


@pytest.mark.parametrize("platform", ["FB", "IG"])
def test_one_comment_is_read_with_what_a_hook_leaves_out(page: Page, remote_id: str) -> None:
    top = page.visit(remote_id, "first")
    answer = page.visit(remote_id, "answer", top)
    listed = {one.id: one for one in page.comments(remote_id)}
    for comment_id, parent_id in ((top, None), (answer, top)):
        found = page.connector.read_comment(page.account, comment_id)
        assert (found.id, found.text, found.parent_id) == (comment_id, listed[comment_id].text, parent_id)
        assert (found.created_at, found.author_name) == (listed[comment_id].created_at, "Ann Ade")
    with pytest.raises(PlatformRefusal) as refusal:
        page.connector.read_comment(page.account, "178000")
    assert refusal.value.kind is Refusal.PERMISSION


@pytest.mark.parametrize("platform", ["FB", "IG"])
def test_a_page_is_subscribed_any_number_of_times(page: Page) -> None:
    for _ in range(2):
        page.connector.subscribe(page.account)
    account_id = page.account.remote_account_id
    assert account_id in page.simulator.call("GET", "meta/webhooks")["subscribed"]
    page.simulator.call("POST", f"accounts/{account_id}/expire", expired=True)
    with pytest.raises(PlatformRefusal) as refusal:
        page.connector.subscribe(page.account)
    assert refusal.value.kind is Refusal.EXPIRED


@pytest.mark.parametrize("platform", ["IG"])
def test_what_is_written_meanwhile_hides_nothing_that_was_there(page: Page, remote_id: str) -> None:
    made = [page.visit(remote_id, f"{number}") for number in range(5)]
    made += [page.visit(remote_id, "answer", made[0]) for _ in range(3)]
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = page.connector.list_comments(
            page.account, CommentQuery(remote_id, limit=2, cursor=cursor or None)
        )
        seen += [one.id for one in answer.comments]
        cursor = answer.next_cursor
        page.visit(remote_id, "another")
        assert len(seen) < 100
    assert set(made) <= set(seen)
