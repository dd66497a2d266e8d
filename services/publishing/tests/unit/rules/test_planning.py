"""Which due posts of a page are sent, postponed or failed."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from publishing.rules.guardrails import plan_queue

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = 86_400


def queue(count: int, late_seconds: float = 0) -> list[tuple[str, datetime]]:
    return [(f"post {n}", NOW - timedelta(seconds=late_seconds)) for n in range(count)]


@given(st.integers(0, 30), st.lists(st.integers(0, DAY), max_size=50))
def test_what_fits_goes_now_and_the_rest_keeps_its_order(due: int, gone_seconds_ago: list[int]) -> None:
    page = [NOW - timedelta(seconds=seconds) for seconds in gone_seconds_ago]
    brand: list[datetime] = []
    plan = plan_queue(NOW, queue(due), "FB", page=page, brand=brand, window_seconds=DAY)
    assert [*plan.send, *plan.put_off] == [f"post {n}" for n in range(due)]
    assert list(plan.put_off.values()) == sorted(plan.put_off.values())
    assert all(at > NOW for at in plan.put_off.values())
    in_the_hour = sum(at > NOW - timedelta(hours=1) for at in page)
    assert in_the_hour + len(plan.send) <= max(10, in_the_hour)
    assert brand == [NOW] * len(plan.send)


def test_a_brand_that_is_full_puts_posts_off_too() -> None:
    brand = [NOW - timedelta(hours=23)] * 499
    plan = plan_queue(NOW, queue(2), "YT", page=[], brand=brand, window_seconds=DAY)
    assert plan.send == ["post 0"]
    assert plan.put_off == {"post 1": NOW + timedelta(hours=1)}


def test_a_post_due_longer_ago_than_the_window_is_missed() -> None:
    plan = plan_queue(NOW, queue(1, DAY + 1), "FB", page=[], brand=[], window_seconds=DAY)
    assert (plan.missed, plan.send) == (["post 0"], [])
    plan = plan_queue(NOW, queue(1, DAY), "FB", page=[], brand=[], window_seconds=DAY)
    assert (plan.missed, plan.send) == ([], ["post 0"])
