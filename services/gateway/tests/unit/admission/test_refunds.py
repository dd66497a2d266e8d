"""A call that fails gets its unit of the month back."""

from types import SimpleNamespace
from typing import Any

import msgspec

from contracts.caller import Caller
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from gateway.admission.refunds import Refunds

CALLER = Caller(account_id="usr_1", user_id="usr_1", operation_id="op_1")


def test_a_refund_that_quota_does_not_take_is_left_to_quota_s_own_question(bus: Any) -> None:
    bus.answers["refund"] = ApiError(SERVICE_UNAVAILABLE)
    Refunds(bus.service("quota")).give_back([CALLER], waits=True)
    assert [caller.operation_id for caller, _ in bus.asked("refund")] == ["op_1"]


def test_all_refunds_of_a_call_are_sent_before_the_first_is_waited_for() -> None:
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
