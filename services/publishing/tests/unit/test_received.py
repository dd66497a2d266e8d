"""Whether a comment is our own or a visitor's."""

from datetime import UTC, datetime
from typing import Any

import pytest

from publishing.comments.received import is_own
from publishing.platforms.base import RemoteComment
from publishing.records import PageRow
from publishing.store.received import OurReplies

AT = datetime(2026, 11, 20, tzinfo=UTC)
NO_WORDS = OurReplies(frozenset(), frozenset())


def page(platform: str = "FB") -> PageRow:
    return PageRow(
        id="pag_1", account_id="usr_1", brand_id="brd_1", brand_name="B", platform=platform, remote_account_id="1",
        access_token="", name="Corner Bakery", username="cornerbakery", followers=0, picture=None, expired=False,
        created_at=AT,
    )  # fmt: skip


def comment(text: str = "hi", author_id: str = "77", author_name: str = "Ann") -> RemoteComment:
    return RemoteComment("c1", text, author_id, author_name, AT)


def test_the_pages_own_words_are_known_by_its_id() -> None:
    assert is_own(comment(author_id="1"), page(), None, NO_WORDS)
    assert not is_own(comment(), page(), None, NO_WORDS)


def test_a_reply_of_ours_is_known_by_its_own_id_whoever_is_named() -> None:
    assert is_own(comment(), page(), None, OurReplies(frozenset(["c1"]), frozenset()))


@pytest.mark.parametrize(
    ("first_comment", "ours"), [("hi ", NO_WORDS), (None, OurReplies(frozenset(), frozenset(["hi"])))]
)
def test_where_nobody_is_named_our_words_on_their_way_are_ours(first_comment: Any, ours: OurReplies) -> None:
    assert is_own(comment(author_id=""), page(), first_comment, ours)
    assert not is_own(comment(author_id="77"), page(), first_comment, ours)
    assert not is_own(comment("hello", author_id=""), page(), first_comment, ours)


def test_an_empty_comment_of_nobody_is_not_ours() -> None:
    assert not is_own(comment("", author_id=""), page(), None, NO_WORDS)


def test_where_nobody_is_named_other_words_may_be_anybodys() -> None:
    assert is_own(comment(author_id=""), page(), None, NO_WORDS) is None
    assert is_own(comment(author_id="77"), page(), None, NO_WORDS) is False


def test_on_instagram_the_name_tells() -> None:
    assert is_own(comment(author_id="", author_name="cornerbakery"), page("IG"), None, NO_WORDS)
    assert not is_own(comment(author_id="", author_name="ann"), page("IG"), "hi", NO_WORDS)
