"""Videos that go to Facebook in pieces, against the simulator: interrupted, killed or refused, each is published
once.
"""

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
from publishing.platforms.http_client import poll

from .simulated import Killer, Page

MIB = 2**20


@pytest.fixture
def page(page_on: Callable[[str], Page]) -> Page:
    return page_on("FB")


@pytest.fixture
def content(film: Callable[..., Any]) -> Content:
    """A video of three of the pieces that the simulator asks for."""
    return Content("Moving", (film(20 * MIB),))


def texts(page: Page) -> list[str]:
    return [post["text"] for post in page.posts]


def test_a_film_is_out_with_its_post_and_its_words(page: Page, content: Content) -> None:
    published = page.publish(content)
    [post] = page.posts
    assert (published.remote_id, post["text"]) == (post["id"], "Moving")
    assert post["media"] == [{"type": "video", "bytes": 20 * MIB}]
    assert set(page.stored) == {"video_id"}


@pytest.mark.usefixtures("quick_link")
@pytest.mark.parametrize("mode", ["server_error", "hang", "drop_after_accept"])
def test_a_break_on_the_way_is_mended_within_the_attempt(
    mode: str, page: Page, content: Content, killer: Killer
) -> None:
    page.change(read_timeout_seconds=0.7)
    assert killer.kill(page, content, 2, "after") is None
    page.fault("upload", mode, times=2)
    page.publish(content)
    assert texts(page) == ["Moving"]


def test_a_way_that_stays_broken_is_left_for_a_later_attempt(
    page: Page, content: Content, killer: Killer
) -> None:
    assert killer.kill(page, content, 2, "after") is None
    session = page.stored["session"]
    page.fault("upload", "server_error", times=4)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(content)
    assert refusal.value.kind is Refusal.TRANSIENT
    assert page.look_up(content) == NotPublished(settled=True)
    page.publish(content)
    assert page.posts[0]["media"][0]["bytes"] == 20 * MIB
    assert page.stored["video_id"] == session["video_id"]


def test_wherever_it_is_killed_it_is_out_once(page: Page, film: Callable[..., Any], killer: Killer) -> None:
    content = Content("Moving", (film(9 * MIB),))
    for number in range(1, 10):
        for when in ("before", "after"):
            one = copy(page)
            one.stored, mine = {}, replace(content, message=f"{number} {when}")
            published, was_killed = killer.publish(one, mine, number, when)
            assert [text for text in texts(page) if text == mine.message] == [mine.message]
            assert isinstance(published, Published)
        if not was_killed:
            break
    assert number > 5


def test_an_end_without_an_answer_is_looked_up(page: Page, content: Content) -> None:
    page.fault("publish", "drop_after_accept")
    with pytest.raises(OutcomeUnknown):
        page.publish(content)

    def look() -> Published | None:
        outcome = page.look_up(content)
        return outcome if isinstance(outcome, Published) else None

    found = poll(page.settings, look)
    assert found is not None
    assert found.remote_id == page.posts[0]["id"]


@pytest.mark.parametrize("mode", ["server_error", "hang"])
def test_an_end_that_never_came_is_not_found_and_made_good(mode: str, page: Page, content: Content) -> None:
    page.change(read_timeout_seconds=0.7)
    page.fault("publish", mode)
    with pytest.raises(OutcomeUnknown):
        page.publish(content)
    assert page.look_up(content) == NotPublished(settled=False)
    page.publish(content)
    assert texts(page) == ["Moving"]


def test_a_session_that_may_have_been_ended_is_not_left_for_another(page: Page, content: Content) -> None:
    page.fault("publish", "drop_after_accept")
    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            page.publish(content)
    assert texts(page) == ["Moving"]


def test_a_session_that_has_run_out_is_begun_anew(page: Page, content: Content, killer: Killer) -> None:
    assert killer.kill(page, content, 3, "after") is None
    page.stored["session"] = page.stored["session"] | {"id": "1400000"}
    page.publish(content)
    assert texts(page) == ["Moving"]


def test_other_content_begins_an_upload_of_its_own(page: Page, content: Content, killer: Killer) -> None:
    assert killer.kill(page, content, 3, "after") is None
    page.publish(replace(content, message="edited"))
    assert texts(page) == ["edited"]


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("reject", Refusal.REJECTED), ("rate_limit", Refusal.RATE_LIMITED), ("expired", Refusal.EXPIRED)],
)
@pytest.mark.parametrize("operation", ["upload", "publish"])
def test_a_refusal_says_what_kind_it_is(
    operation: str, mode: str, kind: Refusal, page: Page, content: Content
) -> None:
    page.fault(operation, mode)
    with pytest.raises(PlatformRefusal) as refusal:
        page.publish(content)
    assert refusal.value.kind is kind
    assert texts(page) == []
    page.publish(content)
    assert texts(page) == ["Moving"]
