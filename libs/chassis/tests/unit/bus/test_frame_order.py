"""A frame that is not newer than all frames of its connection is a replay."""

from chassis.bus import frame_order
from chassis.bus.frame_order import FrameOrder


def test_a_number_that_does_not_rise_is_a_replay() -> None:
    order = FrameOrder()
    numbers = (7, 8, 8, 12, 9, 7, 12, 13)
    replayed = [order.is_replay("gateway", "a", number) for number in numbers]
    assert replayed == [False, False, True, False, True, True, True, False]


def test_each_connection_of_each_sender_counts_for_itself() -> None:
    order = FrameOrder()
    assert not order.is_replay("gateway", "a", 5)
    assert not order.is_replay("gateway", "b", 1)
    # A sender that guesses another's connection cannot have its frames refused.
    assert not order.is_replay("ai", "a", 900)
    assert not order.is_replay("gateway", "a", 6)


def test_the_connection_that_is_silent_for_the_longest_time_is_forgotten_first(monkeypatch) -> None:
    monkeypatch.setattr(frame_order, "_MOST_CONNECTIONS", 2)
    order = FrameOrder()
    for connection in ("a", "b", "a", "c"):
        order.is_replay("gateway", connection, 1)
    assert order.is_replay("gateway", "a", 1)
    assert order.is_replay("gateway", "c", 1)
    assert len(order._highest) == 2
