"""The running service and a platform that answers slowly, or whose answer never ends."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contracts import publishing as api
from contracts.caller import operator
from contracts.errors import ApiError

#: A call ends after this long, and a claim after this long without its process.
SILENCE_SECONDS, LEASE_SECONDS = 3, 3


@pytest.fixture
def settings() -> dict[str, str]:
    return {
        "PLATFORM_TIMEOUT_SECONDS": str(SILENCE_SECONDS),
        "LEASE_SECONDS": str(LEASE_SECONDS),
        "META_VERIFY_TOKEN": "",  # no page is subscribed to: that call would meet a fault meant for a post
    }


def due(publishing: Any, page: api.Page, *messages: str) -> list[str]:
    """Makes posts of one page that are due now, in order. Returns their ids."""
    start = datetime.now(UTC) + timedelta(minutes=11)
    ids = [
        publishing.service.schedule_post(
            publishing.caller(),
            api.SchedulePost(
                page_id=page.id, scheduled_at=start + timedelta(minutes=number), message=message
            ),
        ).id
        for number, message in enumerate(messages)
    ]
    for post_id in ids:
        publishing.service.bring_post_due(operator(), api.PostId(id=post_id))
    return ids


def texts(simulator: Any, page: api.Page) -> list[str]:
    return [post["text"] for post in simulator.posts(page.account_id)]


def test_an_answer_in_drops_ends_at_its_ceiling_and_the_pages_queue_goes_on(
    publishing: Any, simulator: Any
) -> None:
    page = publishing.page()
    simulator.fault("publish", "trickle", bytes_per_second=1)
    began = time.monotonic()
    first, second = due(publishing, page, "first", "second")
    publishing.until(second, "published", seconds=20)
    assert time.monotonic() - began < 15
    publishing.until(first, "published", seconds=20)
    assert sorted(texts(simulator, page)) == ["first", "second"]


def test_a_body_that_is_read_in_drops_is_answered_for_at_its_ceiling_and_the_next_post_goes_out(
    publishing: Any, simulator: Any
) -> None:
    page = publishing.page()
    simulator.fault("any", "trickle", bytes_per_second=1, side="body")
    with pytest.raises(ApiError) as refusal:
        publishing.publish(page, message="one")
    assert refusal.value.code == "PLATFORM_OUTCOME_UNKNOWN"
    publishing.publish(page, message="two")
    assert texts(simulator, page) == ["two"]


def test_a_claim_lasts_as_long_as_a_call_that_is_longer_than_its_lease(
    publishing: Any, simulator: Any, settings: dict[str, str]
) -> None:
    pages = [publishing.page() for _ in range(2)]
    simulator.fault("publish", "slow", seconds=SILENCE_SECONDS - 0.5, times=4)
    posts = [post for page in pages for post in due(publishing, page, "one", "two")]
    for post_id in posts:
        publishing.until(post_id, "published", seconds=30)
    assert [texts(simulator, page) for page in pages] == [["one", "two"]] * 2
