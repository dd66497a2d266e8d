"""Requests that arrive while a batch is being answered form the next batch. Each request gets its own verdict."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from contracts.caller import Caller
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from contracts.quota import Admitted, RateWindow, Verdicts
from gateway.admission.batcher import DEFER_SECONDS, MAX_BATCH, AdmissionBatcher


class Quota:
    """A quota service that answers a batch only when the test says so."""

    def __init__(self) -> None:
        self.batches: list[tuple[list[str], object]] = []

    def start(self, _caller, request, *, timeout_seconds, then):
        self.batches.append(([one.caller.account_id for one in request.arrivals], then))

    def answer(self, error: ApiError | None = None, *, held: str = "", number: int = 0) -> None:
        """Answers a batch, with an error or with verdicts. The accounts in `held` get no verdict yet."""
        accounts, then = self.batches.pop(number)
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
        return [names for names, _ in self.batches]


@pytest.fixture
def quota() -> Quota:
    return Quota()


@pytest.fixture
def batcher(quota: Quota) -> AdmissionBatcher:
    return AdmissionBatcher(quota)


def submit(batcher: AdmissionBatcher, account_id: str, timeout_seconds: float = 5.0):
    return batcher.submit(Caller(account_id=account_id, user_id=account_id), "reads", timeout_seconds)


def test_a_lone_request_leaves_at_once(batcher, quota):
    pending = submit(batcher, "a")
    quota.answer()
    assert pending.result().year_month == "a"


def test_requests_that_arrive_meanwhile_share_a_batch_and_get_their_own_verdicts(batcher, quota):
    pending = [submit(batcher, name) for name in "abcd"]
    assert [names for names, _ in quota.batches] == [["a"]]
    quota.answer()
    assert [names for names, _ in quota.batches] == [["b", "c", "d"]]
    quota.answer()
    assert [one.result().year_month for one in pending] == ["a", "b", "c", "d"]
    assert quota.batches == []


def test_many_requests_go_in_several_batches(batcher, quota):
    pending = [submit(batcher, str(number)) for number in range(MAX_BATCH + 3)]
    while quota.batches:
        quota.answer()
    assert [one.result().year_month for one in pending] == [str(n) for n in range(MAX_BATCH + 3)]


def test_a_batch_that_fails_fails_its_own_requests_only(batcher, quota):
    first, second = submit(batcher, "a"), submit(batcher, "b")
    quota.answer(ApiError(SERVICE_UNAVAILABLE))
    quota.answer()
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        first.result()
    assert second.result().year_month == "b"


def test_a_batch_that_is_never_answered_does_not_hold_up_later_ones(batcher, quota):
    lost, waiting = submit(batcher, "a", timeout_seconds=0.0), submit(batcher, "b")
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        lost.result()
    late = quota.batches.pop(0)
    quota.answer()
    assert waiting.result().year_month == "b"
    quota.batches.append(late)
    quota.answer()  # too late: it changes nothing
    assert submit(batcher, "c") is not None
    assert [names for names, _ in quota.batches] == [["c"]]


def test_a_request_that_gives_up_before_its_batch_is_sent_is_not_counted(batcher, quota):
    submit(batcher, "a")
    late = submit(batcher, "b", timeout_seconds=0.0)
    with pytest.raises(ApiError):
        late.result()
    quota.answer()
    assert quota.batches == []


class TestDeferred:
    def test_requests_are_queued_apart_with_later_ones_of_their_account_and_hold_up_no_others(
        self, batcher, quota
    ):
        first = submit(batcher, "x")
        pending = [submit(batcher, name) for name in "abc"]
        quota.answer()
        quota.answer(held="b")
        assert [
            first.result().year_month,
            pending[0].result().year_month,
            pending[2].result().year_month,
        ] == [*"xac"]
        assert quota.on_their_way == [["b"]]
        others = [submit(batcher, name) for name in "bad"]
        assert quota.on_their_way == [["b"], ["a"]]
        quota.answer(number=1)
        assert quota.on_their_way == [["b"], ["d"]]
        quota.answer(number=1)
        assert [others[1].result().year_month, others[2].result().year_month] == ["a", "d"]
        quota.answer()
        assert quota.on_their_way == [["b"]]
        quota.answer()
        assert [pending[1].result().year_month, others[0].result().year_month] == ["b", "b"]

    def test_they_are_asked_again_in_order_until_quota_decides(self, batcher, quota):
        first = submit(batcher, "a")
        quota.answer(held="a")
        second = submit(batcher, "a")
        for _ in range(3):
            quota.answer(held="a")
        assert quota.on_their_way == [["a", "a"]]
        quota.answer()
        assert first.result().year_month == second.result().year_month == "a"
        submit(batcher, "a")
        submit(batcher, "b")
        assert quota.on_their_way == [["a"]]

    def test_they_are_refused_after_a_second(self, batcher, quota, monkeypatch):
        now = [100.0]
        monkeypatch.setattr("gateway.admission.batcher.time", SimpleNamespace(monotonic=lambda: now[0]))
        pending = submit(batcher, "a")
        quota.answer(held="a")
        now[0] += DEFER_SECONDS - 0.1
        quota.answer(held="a")
        now[0] += 0.2
        quota.answer(held="a")
        with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
            pending.result()
        assert quota.batches == []

    def test_one_that_gave_up_meanwhile_is_not_asked_again(self, batcher, quota):
        pending = submit(batcher, "a", timeout_seconds=0.0)
        with pytest.raises(ApiError):
            pending.result()
        quota.answer(held="a")
        assert quota.batches == []
