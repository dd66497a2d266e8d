"""Every RPC method with every sender: a call by a sender that may not make it is refused, logged and counted, and
nothing runs.
"""

import time
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from msgspec import Raw
from structlog.testing import capture_logs

from chassis.bus.frames import PING, Call, Method, Reply, RequestFrame, encode, methods_of
from chassis.bus.server import RpcServer
from chassis.ids import new_id
from chassis.signatures import CLOCK_SECONDS
from chassis.telemetry import metrics
from contracts.caller import Caller, operator
from contracts.services import NAMES, SERVICES
from testkit.fixtures import signed_by

PERSON = Caller(account_id="usr_1", user_id="usr_1", scopes=("*",))
SENDERS = (*NAMES, "probe")


class Provider:
    """Stands in for a method of a service. The type of the request does not matter."""

    def __init__(self, ran: list[str], name: str) -> None:
        self._ran, self._name = ran, name

    def run(self, *_arguments: Any) -> None:
        self._ran.append(self._name)


class Anything:
    """Stands in for the type of every request."""


class Served:
    """The server of a service without a broker. The test gives it frames. `ran` lists the methods that ran."""

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

    def begin(
        self, body: bytes, signature: str | None, *, reply_to: str = "here", is_redelivered: bool = False
    ) -> list[Reply]:
        """Delivers a frame. Returns the replies that were made at once."""
        self.ran.clear()
        self.server._ready.clear()
        properties = SimpleNamespace(reply_to=reply_to, app_id=signature)
        self.server._begin_calls(properties, body, False, is_redelivered=is_redelivered)
        return [reply for replies in self.server._ready.values() for reply in replies]

    def take(self, body: bytes, signature: str | None) -> str | None:
        """Delivers a frame. Returns why it was refused, or None if it ran."""
        answers = self.begin(body, signature)
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


def frame(
    method: str, caller: Caller, *, connection: str | None = None, number: int = 1, sent_ago: float = 0.0
) -> bytes:
    call = Call(id=1, method=method, ttl=10.0, caller=Raw(encode(caller)), request=Raw(b"{}"))
    return encode(
        RequestFrame(
            calls=[call],
            steady=time.monotonic() - sent_ago,
            connection=connection or new_id("con"),
            number=number,
        )
    )


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


@pytest.mark.parametrize(
    ("service", "method"), [(name, method) for name, api in SERVICES.items() for method in methods_of(api)]
)
def test_a_replayed_frame_runs_nothing_and_is_not_answered(
    counted: dict[Any, float], service: str, method: str
) -> None:
    for sender in sorted(methods_of(SERVICES[service])[method].callers):
        served, caller = Served(service), caller_of(sender)
        signed = signed_by(sender)
        frames = [
            (body, signed.call(service, body, time.time() + 10))
            for body in (frame(method, caller, connection="c1", number=number) for number in (4, 5))
        ]
        for body, signature in frames:
            served.begin(body, signature)
            assert served.ran == [method]
        for body, signature in frames:
            # An answer to the first caller would take the place of the real one.
            for reply_to in ("here", "with the attacker"):
                assert served.begin(body, signature, reply_to=reply_to) == []
                assert served.ran == []
        assert counted[(("kind", "call"), ("sender", sender), ("reason", "replayed"))] == 4


def test_a_frame_that_the_broker_delivers_again_runs_once_in_a_process() -> None:
    """The broker delivers again if another process died, or if our connection was lost before the acknowledgement."""
    served, signed = Served("quota"), signed_by("gateway")

    def begin(number: int, *, is_redelivered: bool) -> bool:
        body = frame("get_usage", PERSON, connection="c1", number=number)
        signature = signed.call("quota", body, time.time() + 10)
        assert served.begin(body, signature, is_redelivered=is_redelivered) == []
        return served.ran == ["get_usage"]

    assert begin(2, is_redelivered=False)
    assert begin(1, is_redelivered=True)
    assert not begin(1, is_redelivered=True)
    assert not begin(2, is_redelivered=True)


def test_a_frame_that_was_held_back_past_its_deadline_runs_nothing_wherever_its_reply_goes() -> None:
    served, signed = Served("quota"), signed_by("gateway")
    for number, sent_ago, reply_to, ran in (
        (1, 0.0, "here", ["get_usage"]),
        (2, 11.0, "with the attacker", []),
    ):
        body = frame("get_usage", PERSON, connection="c1", number=number, sent_ago=sent_ago)
        served.begin(body, signed.call("quota", body, time.time() + 10), reply_to=reply_to)
        assert served.ran == ran


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize("service", SERVICES)
def test_what_the_contract_does_not_name_runs_for_nobody(
    served: dict[str, Served], service: str, sender: str
) -> None:
    own = methods_of(SERVICES[service]).keys()
    others = {name for api in SERVICES.values() for name in methods_of(api)} - own
    for method in sorted(others | {"", "__init__", "database", "_pong"}):
        body = frame(method, caller_of(sender))
        signature = signed_by(sender).call(service, body, time.time() + 10)
        [answer] = served[service].begin(body, signature)
        assert answer.error is not None
        assert answer.error.code == "NOT_FOUND"  # as for a method of another release
        assert served[service].ran == []


@pytest.mark.parametrize("sender", SENDERS)
@pytest.mark.parametrize("service", SERVICES)
def test_who_may_ask_whether_a_service_answers(served: dict[str, Served], service: str, sender: str) -> None:
    why = served[service].call(sender, PING, PERSON)
    assert why == (None if sender in ("gateway", "ctl") else f"_ping by {sender}: not its method")


def test_a_frame_that_does_not_verify_runs_nothing(
    served: dict[str, Served], counted: dict[Any, float]
) -> None:
    """Without signatures, the broker's address would be enough to create a token with every right ("unsigned")."""
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
    body = encode(RequestFrame(calls=calls, steady=time.monotonic(), connection="c1", number=1))
    answers = quota.begin(body, signed_by("gateway").call("quota", body, time.time() + 10))
    assert quota.ran == ["get_usage", "refund"]
    assert [reply.id for reply in answers] == [2]


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
