"""What goes to the services behind the requests' backs: uses of tokens, refunds; and what slow clients meet."""

import socket
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import msgspec

from contracts.accounts import RecordUse
from contracts.caller import Caller
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from gateway.admission.refunds import Refunds
from gateway.auth.token_usage import TokenUsage
from gateway.http.slow_clients import Arrivals

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
CALLER = Caller(account_id="usr_1", user_id="usr_1", operation_id="op_1")


def test_uses_are_counted_per_token_and_sent_once() -> None:
    sent: list[RecordUse] = []
    token_usage = TokenUsage(sent.append)
    for token in ("a", "b", "a"):
        token_usage.note(token, AT)
    token_usage.flush()
    token_usage.flush()
    assert [[(use.token_id, use.count) for use in batch.uses] for batch in sent] == [[("a", 2), ("b", 1)]]


def test_uses_that_could_not_be_sent_are_sent_with_the_next() -> None:
    sent: list[RecordUse] = []
    away = True

    def record(batch: RecordUse) -> None:
        if away:
            raise ApiError(SERVICE_UNAVAILABLE)
        sent.append(batch)

    token_usage = TokenUsage(record)
    token_usage.note("a", AT)
    token_usage.flush()
    token_usage.note("a", AT)
    away = False
    token_usage.flush()
    assert [use.count for use in sent[0].uses] == [2]


def test_a_refund_that_quota_does_not_take_is_left_to_quota_s_own_question(bus: Any) -> None:
    bus.answers["refund"] = ApiError(SERVICE_UNAVAILABLE)
    Refunds(bus.service("quota")).give_back([CALLER], waits=True)
    assert [caller.operation_id for caller, _ in bus.asked("refund")] == ["op_1"]


def test_all_refunds_of_a_call_are_on_their_way_before_the_first_is_waited_for() -> None:
    events: list[str] = []

    def start(caller: Caller, _request: Any, *, timeout_seconds: float) -> Any:
        assert timeout_seconds <= 2.0
        events.append(f"sent {caller.operation_id}")
        return SimpleNamespace(result=lambda: events.append(f"back {caller.operation_id}"))

    quota: Any = SimpleNamespace(refund=SimpleNamespace(start=start))
    callers = [msgspec.structs.replace(CALLER, operation_id=name) for name in ("op_1", "op_2")]
    Refunds(quota).give_back(callers, waits=True)
    assert events == ["sent op_1", "sent op_2", "back op_1", "back op_2"]
    Refunds(quota).give_back(callers, waits=False)
    assert events[4:] == ["sent op_1", "sent op_2"]


def test_a_slow_client_is_cut_off_and_a_quick_one_is_not() -> None:
    now = [0.0]
    arrivals = Arrivals(monotonic=lambda: now[0])
    ours, theirs = socket.socketpair()
    quick, other = socket.socketpair()
    with ours, theirs, quick, other:
        arrivals.begins(ours)
        arrivals.begins(quick)
        arrivals.arrived(quick)
        now[0] = 15.5
        assert arrivals.cut_late(15.0) == 1
        assert ours.recv(1) == b""
        other.send(b"x")
        assert quick.recv(1) == b"x"
