"""A frame is recognised as late by comparison with other frames of its sender, not by the system's clock."""

import pytest

from chassis.bus.lateness import Lateness


@pytest.mark.parametrize("ahead", [-300.0, 0.0, 300.0, 1.8e9])
def test_a_frame_is_late_by_what_it_took_longer_than_the_others_of_its_sender(ahead: float) -> None:
    lateness = Lateness()
    assert lateness.of("a", ahead + 10.0, 10.001) == 0
    assert lateness.of("a", ahead + 11.0, 11.002) == pytest.approx(0.001, abs=1e-5)
    assert lateness.of("a", ahead + 12.0, 24.001) == pytest.approx(12.0, abs=1e-5)
    assert lateness.of("b", ahead - 7.0, 24.0) == 0


def test_a_clock_that_was_set_is_believed_within_a_minute() -> None:
    lateness = Lateness()
    taken = [
        lateness.of("a", float(second) - (300.0 if second > 5 else 0.0), float(second))
        for second in range(100)
    ]
    assert taken[:6] == [0.0] * 6
    assert taken[6] == 300.0
    assert set(taken[70:]) == {0.0}
    assert lateness.of("a", 105.0, 100.0) == 0


def test_after_a_pause_a_sender_begins_anew() -> None:
    lateness = Lateness()
    lateness.of("a", 0.0, 0.0)
    assert lateness.of("a", 990.0, 1000.0) == 0
