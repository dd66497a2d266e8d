"""Films that go to Facebook in pieces, against the simulator: broken, killed, refused, and out once."""

import tracemalloc
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import pytest

from publishing.platforms.base import (
    Content,
    NotPublished,
    OutcomeUnknown,
    PlatformRefusal,
    Published,
    Refusal,
)
from publishing.platforms.facebook.connector import FacebookConnector
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.wire import poll

MIB = 2**20


@pytest.fixture
def page(attempts: Callable[[str], Any]) -> Any:
    return attempts("FB")


@pytest.fixture
def content(film: Callable[..., Any]) -> Content:
    """Three of the pieces that the simulator asks for."""
    return Content("Moving", (film(20 * MIB),))


def texts(simulator: Any, page: Any) -> list[str]:
    return [post["text"] for post in simulator.posts(page.account)]


def test_a_film_is_out_with_its_post_and_its_words(page: Any, content: Content, simulator: Any) -> None:
    published = page.publish(content)
    [post] = simulator.posts(page.account)
    assert (published.remote_id, post["text"]) == (post["id"], "Moving")
    assert post["media"] == [{"type": "video", "bytes": 20 * MIB}]
    assert set(page.stored) == {"video_id"}


@pytest.mark.usefixtures("quick_link")
@pytest.mark.parametrize("mode", ["server_error", "hang", "drop_after_accept"])
def test_a_break_on_the_way_is_mended_within_the_attempt(
    mode: str, page: Any, content: Content, simulator: Any, killer: Any, settings: MetaSettings
) -> None:
    page.connector = FacebookConnector(replace(settings, read_timeout_seconds=0.7))
    assert killer.kill(page, content, 2, "after") is None
    simulator.fault(page.account, "upload", mode, times=2)
    page.publish(content)
    assert texts(simulator, page) == ["Moving"]


def test_a_way_that_stays_broken_is_left_for_a_later_attempt(
    page: Any, content: Content, simulator: Any, killer: Any
) -> None:
    assert killer.kill(page, content, 2, "after") is None
    session = page.stored["session"]
    simulator.fault(page.account, "upload", "server_error", times=4)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(content)
    assert refusal.value.kind is Refusal.TRANSIENT
    assert page.look_up(content) == NotPublished(settled=True)
    page.publish(content)
    assert simulator.posts(page.account)[0]["media"][0]["bytes"] == 20 * MIB
    assert page.stored["video_id"] == session["video_id"]


def test_wherever_it_is_killed_it_is_out_once(
    page: Any, film: Callable[..., Any], simulator: Any, killer: Any
) -> None:
    content = Content("Moving", (film(9 * MIB),))
    for number in range(1, 10):
        for when in ("before", "after"):
            one = copy(page)
            one.stored, mine = {}, replace(content, message=f"{number} {when}")
            published, was_killed = killer.publish(one, mine, number, when)
            assert [text for text in texts(simulator, page) if text == mine.message] == [mine.message]
            assert isinstance(published, Published)
        if not was_killed:
            break
    assert number > 5


def test_an_end_without_an_answer_is_looked_up(
    page: Any, content: Content, simulator: Any, settings: MetaSettings
) -> None:
    simulator.fault(page.account, "publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(content)

    def look() -> Published | None:
        outcome = page.look_up(content)
        return outcome if isinstance(outcome, Published) else None

    found = poll(settings, look)
    assert found is not None
    assert found.remote_id == simulator.posts(page.account)[0]["id"]


@pytest.mark.parametrize("mode", ["server_error", "hang"])
def test_an_end_that_never_came_is_not_found_and_made_good(
    mode: str, page: Any, content: Content, simulator: Any, settings: MetaSettings
) -> None:
    page.connector = FacebookConnector(replace(settings, read_timeout_seconds=0.7))
    simulator.fault(page.account, "publish", mode)
    with pytest.raises(OutcomeUnknown):
        page.publish(content)
    assert page.look_up(content) == NotPublished(settled=False)
    page.publish(content)
    assert texts(simulator, page) == ["Moving"]


def test_a_session_that_may_have_been_ended_is_not_left_for_another(
    page: Any, content: Content, simulator: Any
) -> None:
    simulator.fault(page.account, "publish", "drop_after_accept")
    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            page.publish(content)
    assert texts(simulator, page) == ["Moving"]


def test_a_session_that_has_run_out_is_begun_anew(
    page: Any, content: Content, simulator: Any, killer: Any
) -> None:
    assert killer.kill(page, content, 3, "after") is None
    page.stored["session"] = page.stored["session"] | {"id": "1400000"}
    page.publish(content)
    assert texts(simulator, page) == ["Moving"]


def test_other_content_begins_an_upload_of_its_own(
    page: Any, content: Content, simulator: Any, killer: Any
) -> None:
    assert killer.kill(page, content, 3, "after") is None
    page.publish(replace(content, message="edited"))
    assert texts(simulator, page) == ["edited"]


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("reject", Refusal.REJECTED), ("rate_limit", Refusal.RATE_LIMITED), ("expired", Refusal.EXPIRED)],
)
@pytest.mark.parametrize("operation", ["upload", "publish"])
def test_a_refusal_says_what_kind_it_is(
    operation: str, mode: str, kind: Refusal, page: Any, content: Content, simulator: Any
) -> None:
    simulator.fault(page.account, operation, mode)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(content)
    assert refusal.value.kind is kind
    assert texts(simulator, page) == []
    page.publish(content)
    assert texts(simulator, page) == ["Moving"]


def test_a_film_of_250_mb_is_never_in_memory(
    page: Any, film: Callable[..., Any], simulator: Any, settings: MetaSettings
) -> None:
    page.connector = FacebookConnector(replace(settings, read_timeout_seconds=20.0))  # tracing is slow
    tracemalloc.start()
    try:
        page.publish(Content("Long", (film(250 * MIB),)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 48 * MIB
    assert simulator.posts(page.account)[0]["media"][0]["bytes"] == 250 * MIB
