"""Which deliveries an endpoint's queue loads, and which attempts it begins."""

import math
from typing import Any, NamedTuple

from webhooks.dispatch.endpoint_queue import EndpointQueue
from webhooks.records import MAX_CONSECUTIVE_FAILURES, Recorded


class Due(NamedTuple):
    id: str


class Outcome(NamedTuple):
    began_at: float = 0.0
    answered_at: float = 0.001


def queue_of(**settings: Any) -> EndpointQueue:
    given = {"fence": 1, "failures": 0, "valid_until": math.inf, "write": lambda _: []} | settings
    return EndpointQueue("whk_1", **given)


def test_nothing_is_loaded_for_an_endpoint_without_a_readable_secret() -> None:
    queue = queue_of()
    assert queue.wanted(100) == 0
    queue.secrets = ("whsec_readable",)
    assert queue.wanted(100) > 0


def test_an_older_result_that_is_noted_later_permits_no_attempt_beyond_the_last() -> None:
    """Two threads wait for the results of two writes. The thread of the first write notes its result after the other
    one.
    """
    counts = iter([MAX_CONSECUTIVE_FAILURES - 2, MAX_CONSECUTIVE_FAILURES - 1])

    def write(outcomes: list[Any]) -> list[Recorded | None]:
        failures = next(counts)
        return [Recorded("whk_1", "pending", failures, None, True) for _ in outcomes]

    queue = queue_of(write=write)
    outcome: Any = Outcome()
    first, second = queue.outcomes.submit(outcome), queue.outcomes.submit(outcome)
    assert first is not None
    assert second is not None
    queue.note(outcome, second)
    queue.note(outcome, first)
    for number in range(3):
        due: Any = Due(f"dlv_{number}")
        queue.loaded[due.id] = due
        queue.make_ready(due)
    assert [queue.begin(1000) is not None for _ in range(3)] == [True, False, False]
