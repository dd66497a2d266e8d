"""How often comments are polled, and when reading the list ends."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from publishing.platforms.base import CommentPage, RemoteComment
from publishing.platforms.registry import PLUGINS
from publishing.records import Poll
from publishing.rules.poll_times import (
    FULL_SECONDS,
    OVERLAP,
    POLLED,
    PUSHED,
    advance,
    back_to,
    begin,
    parse_stages,
    wait_before_poll,
)

START = datetime(2026, 11, 20, 12, tzinfo=UTC)
POLL = Poll(
    post_id="pst_1", page_id="pag_1", fence=1, since=None, cursor=None, newest=None, is_full=True,
    platform="FB", subscribed=False, expired=False, age_seconds=60, full_seconds=None, rest_seconds=None,
)  # fmt: skip
HOUR, DAY = 3_600.0, 86_400.0


@pytest.mark.parametrize(
    ("age", "wait"),
    [
        (0, 60), (DAY - 1, 60), (DAY, 300), (3 * DAY - 1, 300), (3 * DAY, HOUR), (14 * DAY, DAY), (30 * DAY - 1, DAY),
        (30 * DAY, None), (400 * DAY, None),
    ],
)  # fmt: skip
def test_young_posts_are_asked_for_every_minute_old_ones_ever_rarer_and_then_no_more(
    age: float, wait: float | None
) -> None:
    assert wait_before_poll(parse_stages(POLLED), age) == wait


def test_platforms_that_count_every_look_are_looked_at_less_often() -> None:
    polled = parse_stages(POLLED)
    sparing = {code: parse_stages(parts.polls) for code, parts in PLUGINS.items() if parts.polls}
    assert len(sparing) == 3
    for stages in sparing.values():
        for age in (0, HOUR, 2 * DAY, 6 * DAY):
            assert (wait_before_poll(stages, age) or 0) >= (wait_before_poll(polled, age) or 0)
    looks = sum(DAY / (wait_before_poll(sparing["YT"], day * DAY) or DAY) for day in range(30))
    assert looks < 100, "units of a film's whole life, of the app's 10,000 a day"


def test_where_the_platform_tells_by_itself_polls_are_rarer() -> None:
    polled, pushed = parse_stages(POLLED), parse_stages(PUSHED)
    for age in (0, HOUR, 2 * DAY, 10 * DAY, 29 * DAY):
        assert (wait_before_poll(pushed, age) or 0) >= (wait_before_poll(polled, age) or 0)


@pytest.mark.parametrize("text", ["a=1", "1", "1=2=3", "10=1,5=2", "5=1,5=2", "0=1", "5=0", "5=-1", "nan=1"])
def test_stages_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever is wrong with it
        parse_stages(text)


def test_without_stages_nothing_is_asked_for() -> None:
    assert wait_before_poll(parse_stages(""), 0) is None


def page(*ages: float, cursor: str | None = None) -> CommentPage:
    comments = [
        RemoteComment(str(age), "x", "u", "Ann", START - timedelta(seconds=age)) for age in sorted(ages)
    ]
    return CommentPage(tuple(comments), cursor)


def at(seconds_ago: float) -> datetime:
    return START - timedelta(seconds=seconds_ago)


def test_the_first_reading_goes_to_the_end_and_the_next_goes_back_to_where_that_began() -> None:
    poll = begin(POLL)
    assert back_to(poll) is None
    poll, is_done = advance(poll, page(5, 6, cursor="two"), has_news=True)
    assert (is_done, poll.cursor, poll.since, poll.newest) == (False, "two", None, at(5))
    poll, is_done = advance(begin(poll), page(7, 8), has_news=True)
    assert (is_done, poll.cursor, poll.since, poll.newest) == (True, None, at(5), None)
    assert back_to(begin(replace(poll, full_seconds=60.0))) == at(5) - OVERLAP


def test_a_page_without_anything_new_ends_the_reading() -> None:
    poll = begin(replace(POLL, since=at(100), full_seconds=60.0))
    assert advance(poll, page(101, 102, cursor="more"), has_news=False) == (poll, True)
    assert advance(poll, page(cursor="more"), has_news=False)[1]


def test_old_comments_that_were_not_known_and_known_ones_that_are_new_keep_the_reading_going() -> None:
    poll = begin(replace(POLL, since=at(100), full_seconds=60.0))
    assert not advance(poll, page(101, 102, cursor="more"), has_news=True)[1]
    assert not advance(poll, page(99, 102, cursor="more"), has_news=False)[1]


def test_once_a_day_the_list_is_read_from_end_to_end() -> None:
    poll = begin(replace(POLL, since=at(100), full_seconds=FULL_SECONDS))
    assert back_to(poll) is None
    assert not advance(poll, page(101, 102, cursor="more"), has_news=False)[1]


def test_a_reading_in_the_middle_goes_on_as_it_began() -> None:
    poll = replace(
        POLL, since=at(100), cursor="two", newest=at(3), is_full=False, full_seconds=2 * FULL_SECONDS
    )
    assert begin(poll) == poll


@given(
    st.lists(st.lists(st.floats(0, 1e6), max_size=4), min_size=1, max_size=5),
    st.one_of(st.none(), st.floats(0, 1e6)),
)
def test_what_is_read_back_to_never_goes_back(pages: list[list[float]], since: float | None) -> None:
    poll: Any = begin(replace(POLL, since=None if since is None else at(since)))
    for number, ages in enumerate(pages):
        cursor = None if number == len(pages) - 1 else "more"
        poll, is_done = advance(poll, page(*ages, cursor=cursor), has_news=True)
    assert is_done
    times = [at(age) for ages in pages for age in ages] + ([] if since is None else [at(since)])
    assert poll.since == max(times, default=None)
