"""A process runs a frame only once: a frame that is newer than all others of its connection, or a redelivered one that
the process has not begun.
"""

from chassis.bus import frame_order
from chassis.bus.frame_order import FrameOrder


def test_a_number_that_does_not_rise_is_a_replay() -> None:
    order = FrameOrder()
    numbers = (7, 8, 8, 12, 9, 7, 12, 13)
    ran = [order.may_run("gateway", "a", number) for number in numbers]
    assert ran == [True, True, False, True, False, False, False, True]


def test_a_redelivered_frame_runs_unless_this_process_has_begun_it() -> None:
    order = FrameOrder()
    assert order.may_run("gateway", "a", 5)
    assert order.may_run("gateway", "a", 3, is_redelivered=True)
    assert not order.may_run("gateway", "a", 3, is_redelivered=True)
    assert not order.may_run("gateway", "a", 5, is_redelivered=True)
    assert order.may_run("gateway", "a", 6)


def test_each_connection_of_each_sender_counts_for_itself() -> None:
    order = FrameOrder()
    assert order.may_run("gateway", "a", 5)
    assert order.may_run("gateway", "b", 1)
    # A sender that guesses another's connection cannot have its frames refused.
    assert order.may_run("ai", "a", 900)
    assert order.may_run("gateway", "a", 6)


def test_the_connection_that_is_silent_for_the_longest_time_is_forgotten_first(monkeypatch) -> None:
    monkeypatch.setattr(frame_order, "_MOST_CONNECTIONS", 2)
    order = FrameOrder()
    for connection in ("a", "b", "a", "c"):
        order.may_run("gateway", connection, 1)
    assert not order.may_run("gateway", "a", 1)
    assert not order.may_run("gateway", "c", 1)
    assert order.may_run("gateway", "b", 1)


def test_no_sender_can_have_the_connections_of_another_forgotten(monkeypatch) -> None:
    monkeypatch.setattr(frame_order, "_MOST_CONNECTIONS", 2)
    order = FrameOrder()
    order.may_run("gateway", "a", 1)
    for number in range(9):
        order.may_run("ai", f"made up {number}", 1)
    assert not order.may_run("gateway", "a", 1)
