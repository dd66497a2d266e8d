"""Every RPC method × every sender: who may not call it is refused, logged and counted, and nothing runs."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from msgspec import Raw
from structlog.testing import capture_logs

from chassis.bus.frames import PING, Call, Method, RequestFrame, encode, methods_of
from chassis.bus.server import RpcServer
from chassis.signatures import CLOCK_SECONDS
from chassis.telemetry import metrics
from contracts.caller import Caller, operator
from contracts.services import NAMES, SERVICES
from testkit.fixtures import signed_by

PERSON = Caller(account_id="usr_1", user_id="usr_1", scopes=("*",))
SENDERS = (*NAMES, "probe")


class Provider:
    """Stands where a service's method stands; the request need not fit."""

    def __init__(self, ran: list[str], name: str) -> None:
        self._ran, self._name = ran, name

    def run(self, *_arguments: Any) -> None:
        self._ran.append(self._name)


class Anything:
    """What every request is read as."""


class Served:
    """A service's server without a broker: frames are put in, `ran` and `answers` come out."""

    def __init__(self, service: str) -> None:
        self.service, self.ran = service, list[str]()
        self.server = RpcServer()
        self.server.container = SimpleNamespace(
            service_name=service, spawn_managed_thread=lambda *_a, **_k: self.ran.append(PING)
        )
        self.server._signatures = signed_by(service)
        for name, method in methods_of(SERVICES[service]).items():
            any_request = Method(name=name, request=dict, result=dict, callers=method.callers)
            self.server.methods[name] = (Provider(self.ran, name), any_request)

    def take(self, body: bytes, signature: str | None) -> str | None:
        """Why it was refused; None when it ran."""
        self.ran.clear()
        self.server._ready.clear()
        self.server._begin_calls(SimpleNamespace(reply_to="here", app_id=signature), body, False)
        answers = [reply for replies in self.server._ready.values() for reply in replies]
        if self.ran:
            assert not answers
            return None
        [answer] = answers
        assert answer.error is not None
        assert answer.error.code == "SERVICE_UNAVAILABLE"  # to a client; never a 500
        return str(answer.error.extras["refused"])

    def call(self, sender: str, method: str, caller: Caller) -> str | None:
        body = frame(method, caller)
        return self.take(body, signed_by(sender).call(self.service, body, time.time() + 10))


def frame(method: str, caller: Caller) -> bytes:
    call = Call(id=1, method=method, ttl=10.0, caller=Raw(encode(caller)), request=Raw(b"{}"))
    return encode(RequestFrame(sent_at=time.time(), calls=[call], steady=time.monotonic()))


@pytest.fixture(scope="module")
def served() -> dict[str, Served]:
    return {name: Served(name) for name in SERVICES}


@pytest.fixture
def counted() -> Any:
    metrics.switch_on()
    yield metrics.REFUSED.sums
    metrics.switch_off()


def caller_of(sender: str) -> Caller:
    return operator() if sender == "ctl" else PERSON


@pytest.mark.parametrize(
    ("service", "method"), [(name, method) for name, api in SERVICES.items() for method in methods_of(api)]
)
def test_a_method_runs_for_its_callers_and_for_nobody_else(
    served: dict[str, Served], counted: dict[Any, float], service: str, method: str
) -> None:
    allowed = methods_of(SERVICES[service])[method].callers
    for sender in SENDERS:
        with capture_logs() as lines:
            why = served[service].call(sender, method, caller_of(sender))
        key = (("kind", "call"), ("sender", sender), ("reason", "not its method"))
        if sender in allowed:
            assert why is None
            assert key not in counted
        else:
            assert why == f"{method} by {sender}: not its method"
            assert counted[key] == 1
            assert [(line["event"], line["sender"], line["method"]) for line in lines] == [
                ("message_refused", sender, method)
            ]


@pytest.mark.parametrize(
    ("service", "method", "sender"),
    [
        (name, method.name, sender)
        for name, api in SERVICES.items()
        for method in methods_of(api).values()
        for sender in sorted(method.callers - {"ctl"})
    ],
)
def test_nobody_but_the_command_line_calls_as_the_operator(
    served: dict[str, Served], service: str, method: str, sender: str
) -> None:
    forged = Caller(account_id="usr_1", user_id="usr_1", scopes=("read:posts", "operator"))
    assert served[service].call(sender, method, forged) == f"{method} by {sender}: not the operator"


@pytest.mark.parametrize("sender", SENDERS)
def test_who_may_ask_whether_a_service_answers(served: dict[str, Served], sender: str) -> None:
    why = served["quota"].call(sender, PING, PERSON)
    assert why == (None if sender in ("gateway", "ctl") else f"_ping by {sender}: not its method")


def test_a_frame_that_does_not_verify_runs_nothing(
    served: dict[str, Served], counted: dict[Any, float]
) -> None:
    """The audit's proof is the first of them: with the address of the broker alone, a token that may do everything."""
    accounts, body = served["accounts"], frame("create_token", operator())
    now = time.time()
    good = signed_by("ctl").call("accounts", body, now + 10)
    assert accounts.take(body, good) is None
    tampered_caller = frame("create_token", operator("req_2"))
    refused = {
        "unsigned": accounts.take(body, None),
        "tampered": accounts.take(tampered_caller, good),
        "other method": accounts.take(frame("rotate_token", operator()), good),
        "other service": accounts.take(body, signed_by("ctl").call("quota", body, now + 10)),
        "other sender": accounts.take(
            body, signed_by("quota").call("accounts", body, now).replace("quota", "ctl")
        ),
        "replayed later": accounts.take(
            body, signed_by("ctl").call("accounts", body, now - CLOCK_SECONDS - 1)
        ),
    }
    assert refused == {
        "unsigned": "unsigned",
        "tampered": "wrong signature",
        "other method": "wrong signature",
        "other service": "wrong signature",
        "other sender": "wrong signature",
        "replayed later": "expired",
    }
    assert sum(counted.values()) == len(refused)


def test_a_bad_call_is_refused_alone_in_its_frame(served: dict[str, Served]) -> None:
    quota = served["quota"]
    calls = [
        Call(id=number, method=method, ttl=10.0, caller=Raw(encode(PERSON)), request=Raw(b"{}"))
        for number, method in enumerate(("get_usage", "set_sandbox_use", "refund"), 1)
    ]
    body = encode(RequestFrame(sent_at=time.time(), calls=calls, steady=time.monotonic()))
    quota.ran.clear()
    quota.server._ready.clear()
    signature = signed_by("gateway").call("quota", body, time.time() + 10)
    quota.server._begin_calls(SimpleNamespace(reply_to="here", app_id=signature), body, False)
    assert quota.ran == ["get_usage", "refund"]
    assert [reply.id for replies in quota.server._ready.values() for reply in replies] == [2]


def test_a_refusal_is_logged_without_the_words_of_a_stranger(served: dict[str, Served]) -> None:
    body = frame("create_token' OR 1=1", operator())
    with capture_logs() as lines:
        served["accounts"].take(body, "Mallory 1 ff")
    assert lines == [
        {
            "event": "message_refused",
            "log_level": "error",
            "kind": "call",
            "sender": "unknown",
            "reason": "wrong signature",
            "methods": [],
        }
    ]
    structlog.reset_defaults()
