"""The door: who comes while a call is on its way goes together in the next, and everyone gets his own verdict."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from contracts.caller import Caller
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.quota import Admitted, RateWindow, Verdicts
from gateway.admission.batcher import DEFER_SECONDS, MOST_TOGETHER, AdmissionBatcher


class Quota:
    """Keeps the calls that are on their way until the test lets them land."""

    def __init__(self) -> None:
        self.flights: list[tuple[list[str], object]] = []

    def start(self, _caller, request, *, timeout_seconds, then):
        self.flights.append(([one.caller.account_id for one in request.arrivals], then))

    def land(self, error: ApiError | None = None, *, held: str = "", number: int = 0) -> None:
        """A call comes back. `held`: the accounts that quota defers."""
        accounts, then = self.flights.pop(number)
        then(SimpleNamespace(result=lambda: self._verdicts(accounts, error, held)))

    def _verdicts(self, accounts, error, held):
        if error is not None:
            raise error
        window = RateWindow(limit=1, remaining=0, resets_at=datetime(2026, 11, 20, tzinfo=UTC))
        return Verdicts(
            verdicts=tuple(
                None if account in held else Admitted(window=window, year_month=account)
                for account in accounts
            )
        )

    @property
    def on_their_way(self) -> list[list[str]]:
        return [names for names, _ in self.flights]


@pytest.fixture
def quota() -> Quota:
    return Quota()


@pytest.fixture
def door(quota: Quota) -> AdmissionBatcher:
    return AdmissionBatcher(quota)


def enter(door: AdmissionBatcher, account_id: str, timeout_seconds: float = 5.0):
    return door.enter(Caller(account_id=account_id, user_id=account_id), "reads", timeout_seconds)


def test_a_lone_request_leaves_at_once(door, quota):
    ticket = enter(door, "a")
    quota.land()
    assert ticket.result().year_month == "a"


def test_those_who_come_meanwhile_go_together_and_get_their_own_verdict(door, quota):
    tickets = [enter(door, name) for name in "abcd"]
    assert [names for names, _ in quota.flights] == [["a"]]
    quota.land()
    assert [names for names, _ in quota.flights] == [["b", "c", "d"]]
    quota.land()
    assert [ticket.result().year_month for ticket in tickets] == ["a", "b", "c", "d"]
    assert quota.flights == []


def test_a_crowd_goes_in_several_calls(door, quota):
    tickets = [enter(door, str(number)) for number in range(MOST_TOGETHER + 3)]
    while quota.flights:
        quota.land()
    assert [ticket.result().year_month for ticket in tickets] == [str(n) for n in range(MOST_TOGETHER + 3)]


def test_a_call_that_fails_fails_those_who_went_with_it_and_nobody_else(door, quota):
    first, second = enter(door, "a"), enter(door, "b")
    quota.land(ApiError(SERVICE_UNAVAILABLE))
    quota.land()
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        first.result()
    assert second.result().year_month == "b"


def test_a_call_that_never_comes_back_holds_up_nobody_for_ever(door, quota):
    lost, waiting = enter(door, "a", timeout_seconds=0.0), enter(door, "b")
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        lost.result()
    late = quota.flights.pop(0)
    quota.land()
    assert waiting.result().year_month == "b"
    quota.flights.append(late)
    quota.land()  # too late: it changes nothing
    assert enter(door, "c") is not None
    assert [names for names, _ in quota.flights] == [["c"]]


def test_who_gives_up_before_his_call_left_is_not_counted(door, quota):
    enter(door, "a")
    impatient = enter(door, "b", timeout_seconds=0.0)
    with pytest.raises(ApiError):
        impatient.result()
    quota.land()
    assert quota.flights == []


class TestDeferred:
    def test_requests_go_apart_with_what_comes_for_their_account_and_hold_up_nobody(self, door, quota):
        first = enter(door, "x")
        tickets = [enter(door, name) for name in "abc"]
        quota.land()
        quota.land(held="b")
        assert [
            first.result().year_month,
            tickets[0].result().year_month,
            tickets[2].result().year_month,
        ] == [*"xac"]
        assert quota.on_their_way == [["b"]]
        others = [enter(door, name) for name in "bad"]
        assert quota.on_their_way == [["b"], ["a"]]
        quota.land(number=1)
        assert quota.on_their_way == [["b"], ["d"]]
        quota.land(number=1)
        assert [others[1].result().year_month, others[2].result().year_month] == ["a", "d"]
        quota.land()
        assert quota.on_their_way == [["b"]]
        quota.land()
        assert [tickets[1].result().year_month, others[0].result().year_month] == ["b", "b"]

    def test_they_are_asked_for_again_in_their_order_until_quota_decides(self, door, quota):
        first = enter(door, "a")
        quota.land(held="a")
        second = enter(door, "a")
        for _ in range(3):
            quota.land(held="a")
        assert quota.on_their_way == [["a", "a"]]
        quota.land()
        assert first.result().year_month == second.result().year_month == "a"
        enter(door, "a")
        enter(door, "b")
        assert quota.on_their_way == [["a"]]

    def test_they_are_refused_after_a_second(self, door, quota, monkeypatch):
        now = [100.0]
        monkeypatch.setattr("gateway.admission.batcher.time", SimpleNamespace(monotonic=lambda: now[0]))
        ticket = enter(door, "a")
        quota.land(held="a")
        now[0] += DEFER_SECONDS - 0.1
        quota.land(held="a")
        now[0] += 0.2
        quota.land(held="a")
        with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
            ticket.result()
        assert quota.flights == []

    def test_one_that_gave_up_meanwhile_is_not_asked_for_again(self, door, quota):
        ticket = enter(door, "a", timeout_seconds=0.0)
        with pytest.raises(ApiError):
            ticket.result()
        quota.land(held="a")
        assert quota.flights == []
