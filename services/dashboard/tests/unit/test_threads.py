"""Comments and their replies, shown as conversations."""

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.threads import answered_so_far, threads
from posthaste.records import Author, Comment

BEGIN = datetime(2026, 11, 26, 9, tzinfo=UTC)
PAGE = "page_7"


def comment(
    name: str,
    minute: int,
    *,
    by: str | None = "visitor",
    below: str | None = None,
    replies: int = 0,
    settled: bool = False,
    received: int | None = None,
) -> Comment:
    """`by` None: the platform does not say who wrote it. `settled`: it needs no reply. `received`: the minute in which
    it was received; None: not known.
    """
    return Comment(
        id=name, text=name, from_=Author(id=by or "", name=by or ""), created_time=BEGIN + timedelta(minutes=minute),
        reply_count=replies, post_id="pst_1", platform="IG", parent_id=below,
        is_own=None if by is None else by == PAGE, settled_at=BEGIN if settled else None,
        received_at=None if received is None else BEGIN + timedelta(minutes=received),
    )  # fmt: skip


def test_conversations_come_newest_first_and_their_replies_oldest_first() -> None:
    found = threads(
        [
            comment("old", 1),
            comment("new", 5),
            comment("second", 4, below="old"),
            comment("first", 2, below="old"),
        ]
    )
    assert [(it.comment.id, [reply.id for reply in it.replies]) for it in found] == [
        ("new", []),
        ("old", ["first", "second"]),
    ]


def test_of_comments_of_the_same_second_the_first_in_the_list_is_the_newest() -> None:
    """Instagram tells whole seconds. Ids say nothing: comments that are read together get theirs in any order."""
    for ids in ("cb", "bc"):
        [found] = threads(
            [comment(ids[0], 2, below="a"), comment(ids[1], 2, by=PAGE, below="a"), comment("a", 1)]
        )
        assert [it.id for it in found.replies] == [ids[1], ids[0]]
        assert found.waits


def test_a_reply_to_a_reply_belongs_to_the_conversation_and_a_reply_to_nothing_listed_begins_one() -> None:
    found = threads(
        [comment("a", 1), comment("b", 2, below="a"), comment("c", 3, below="b"), comment("d", 4, below="x")]
    )
    assert {it.comment.id: [reply.id for reply in it.replies] for it in found} == {"a": ["b", "c"], "d": []}


@pytest.mark.parametrize(
    ("replies", "count", "is_answered"),
    [
        ([], 0, False),
        ([], 2, False),  # nobody knows who wrote the replies that are not listed
        ([comment("somebody", 2, by=None, below="a")], 1, False),  # it may be a visitor
        ([comment("thanks", 2, below="a")], 1, False),  # another visitor's
        ([comment("thanks", 2, below="a"), comment("ours", 3, by=PAGE, below="a")], 2, True),
        ([comment("ours", 2, by=PAGE, below="a"), comment("and?", 3, below="a")], 2, False),  # asked again
    ],
)
def test_a_comment_is_answered_when_the_page_wrote_last(
    replies: list[Comment], count: int, is_answered: bool
) -> None:
    [found] = threads([comment("a", 1, replies=count), *replies])
    assert found.is_answered is is_answered


@pytest.mark.parametrize(
    ("below", "minute", "count"),
    [
        ([], 1, 1),
        ([comment("more", 4, below="a")], 4, 2),
        ([comment("more", 4, below="a"), comment("ours", 5, by=PAGE, below="a")], 4, 2),
        ([comment("ours", 2, by=PAGE, below="a"), comment("thanks", 3, below="a")], 3, 2),
    ],
)
def test_a_conversation_says_when_a_visitor_last_wrote_in_it_and_how_often_visitors_did(
    below: list[Comment], minute: int, count: int
) -> None:
    [found] = threads([comment("a", 1), *below])
    assert (found.heard_at, found.heard_count) == (BEGIN + timedelta(minutes=minute), count)


@pytest.mark.parametrize(
    ("below", "minute"),
    [
        ([], 60),
        ([comment("more", 4, below="a", received=70)], 70),
        ([comment("more", 4, below="a", received=30)], 60),
        ([comment("ours", 5, by=PAGE, below="a", received=70)], 60),
        ([comment("more", 90, below="a")], 90),  # an older release does not say when
    ],
)
def test_a_conversation_says_when_the_newest_comment_of_a_visitor_was_received(
    below: list[Comment], minute: int
) -> None:
    [found] = threads([comment("a", 1, received=60), *below])
    assert found.received_at == BEGIN + timedelta(minutes=minute)


def test_a_conversation_without_visitors_counts_from_when_the_page_began_it() -> None:
    [found] = threads([comment("first", 1, by=PAGE), comment("more", 2, by=PAGE, below="first")])
    assert (found.heard_at, found.heard_count) == (BEGIN + timedelta(minutes=1), 0)


def test_circles_end_and_what_the_page_wrote_is_its_own() -> None:
    found = threads([comment("first", 1, by=PAGE), comment("x", 2, below="y"), comment("y", 3, below="x")])
    assert {it.comment.id: it.is_own for it in found}["first"] is True


@pytest.mark.parametrize(
    ("below", "waits", "is_answered"),
    [
        ([], False, False),  # nobody has asked anything
        ([comment("more", 2, by=PAGE, below="first")], False, False),
        ([comment("when?", 2, below="first")], True, False),
        ([comment("when?", 2, below="first"), comment("today", 3, by=PAGE, below="first")], False, True),
    ],
)
def test_a_conversation_that_the_page_began_waits_for_an_answer_once_a_visitor_wrote_in_it(
    below: list[Comment], waits: bool, is_answered: bool
) -> None:
    [found] = threads([comment("first", 1, by=PAGE), *below])
    assert (found.waits, found.is_answered) == (waits, is_answered)


def test_replies_that_are_not_listed_under_a_comment_of_the_page_need_no_answer_here() -> None:
    [found] = threads([comment("first", 1, by=PAGE, replies=2)])
    assert (found.waits, found.is_answered) == (False, False)


def test_replies_to_a_comment_that_is_not_listed_yet_are_one_conversation() -> None:
    [found] = threads([comment("ours", 3, by=PAGE, below="x"), comment("when?", 2, below="x")])
    assert (found.comment.id, [it.id for it in found.replies]) == ("when?", ["ours"])
    assert found.is_answered


@pytest.mark.parametrize(
    ("newer", "is_answered"),
    [
        ([comment("ours", 9, by=PAGE, below="a")], True),
        ([comment("me too", 9, below="a")], False),  # of another visitor
        ([comment("somebody", 9, by=None, below="a")], False),
        ([comment("thanks", 9, below="a"), comment("ours", 8, by=PAGE, below="a")], False),
        ([comment("ours", 9, by=PAGE, below="a"), comment("when?", 8, below="a")], True),
        ([comment("ours", 9, by=PAGE, below="b")], True),  # below a reply, as on X
    ],
)
def test_only_an_answer_of_the_page_on_an_earlier_page_of_the_list_settles_a_comment(
    newer: list[Comment], is_answered: bool
) -> None:
    answered = answered_so_far(threads(newer), [])
    [found] = threads([comment("b", 2, below="a"), comment("a", 1, replies=2)], answered)
    assert found.is_answered is is_answered
    assert answered_so_far([found], answered) == []


def test_what_was_answered_is_carried_over_pages_until_the_comment_comes() -> None:
    answered = answered_so_far(threads([comment("ours", 9, by=PAGE, below="c")]), ["z"])
    assert answered == ["c", "z"]
    found = threads([comment("c", 5, below="a"), comment("y", 4)], answered)
    answered = answered_so_far(found, answered)
    assert answered == ["a", "z"]
    [found_a] = threads([comment("a", 1)], answered)
    assert found_a.is_answered


@pytest.mark.parametrize(
    ("below", "is_answered", "is_settled", "latest"),
    [
        ([], True, True, "a"),
        ([comment("and?", 2, below="a")], False, False, "and?"),  # written afterwards
        ([comment("thanks", 2, below="a", settled=True)], True, True, "thanks"),
        ([comment("ours", 2, by=PAGE, below="a")], True, False, "ours"),  # answered nevertheless
    ],
)
def test_a_conversation_waits_for_no_answer_while_its_last_comment_needs_none(
    below: list[Comment], is_answered: bool, is_settled: bool, latest: str
) -> None:
    [found] = threads([comment("a", 1, settled=True), *below])
    assert (found.is_answered, found.is_settled, found.latest_id) == (is_answered, is_settled, latest)
    assert found.waits is not is_answered


def test_a_comment_waits_for_no_answer_if_a_later_one_on_an_earlier_page_of_the_list_needs_none() -> None:
    answered = answered_so_far(threads([comment("thanks", 9, below="a", settled=True)]), [])
    [found] = threads([comment("a", 1, replies=1)], answered)
    assert (found.is_answered, found.is_settled) == (True, False)
