"""Signed calls, replies and events over a real broker: a message that its sender did not sign itself has no effect."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pika
import pytest
from msgspec import Raw
from probe.api import ProbeApi, Words

from chassis.bus import quarantine, topology
from chassis.bus.frames import Call, Reply, ReplyFrame, RequestFrame, decode_replies, encode
from chassis.bus.rpc import connect
from chassis.ids import new_id
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from contracts.events import Event
from testkit.fixtures import SECRETS, RunningService, signed_by
from testkit.waiting import until

CALLER = Caller(account_id="usr_1", user_id="usr_1")


@pytest.fixture
def probe(lent_probe: RunningService) -> RunningService:
    return lent_probe


@pytest.fixture
def broker(lent_host: str) -> Iterator[Any]:
    with pika.BlockingConnection(pika.URLParameters(lent_host)) as connection:
        yield connection.channel()


def frame(method, request, caller=CALLER):
    call = Call(id=7, method=method, ttl=30.0, caller=Raw(encode(caller)), request=Raw(encode(request)))
    return encode(RequestFrame(calls=[call], steady=time.monotonic(), connection=new_id("con"), number=1))


def send(broker, body, signature):
    """Sends a frame by hand and returns the reply."""
    mailbox = broker.queue_declare("", exclusive=True).method.queue
    properties = pika.BasicProperties(reply_to=mailbox, app_id=signature)
    broker.basic_publish("", topology.rpc_queue("probe"), body, properties)
    _, _, answer = next(broker.consume(mailbox, auto_ack=True, inactivity_timeout=30))
    broker.cancel()
    [reply] = decode_replies(answer).replies
    return reply


def test_with_the_broker_s_address_alone_nothing_can_be_called(probe, broker):
    body = frame("write", Words(text="forged"), operator())
    wrong = signed_by("gateway").call("quota", body, time.time() + 30)
    for signature in (None, "ctl 9999999999 00", wrong):
        reply = send(broker, body, signature)
        assert reply.error.code == "SERVICE_UNAVAILABLE"
        assert reply.error.extras["refused"] in ("unsigned", "wrong signature")
    assert probe.count(CALLER, Words(text="forged")).count == 0


def test_a_recorded_frame_that_is_sent_again_writes_nothing(probe, broker, monkeypatch):
    bus = probe.bus.bus_of("gateway")
    recorded = []
    sign = bus.signatures.call

    def record(receiver, body, until):
        recorded.append((body, sign(receiver, body, until)))
        return recorded[-1][1]

    monkeypatch.setattr(bus.signatures, "call", record)
    gateway = bus.service("probe", ProbeApi)
    gateway.write(CALLER, Words(text="once"))
    broker.confirm_delivery()
    mailbox = broker.queue_declare("", exclusive=True).method.queue
    for _ in range(3):
        for body, signature in recorded:
            properties = pika.BasicProperties(reply_to=mailbox, app_id=signature)
            broker.basic_publish("", topology.rpc_queue("probe"), body, properties)
        gateway.write(CALLER, Words(text="another"))
    assert [probe.count(CALLER, Words(text=text)).count for text in ("once", "another")] == [1, 3]
    assert broker.basic_get(mailbox) == (None, None, None)


def test_a_sender_that_may_not_call_a_method_learns_it_as_an_outage_with_the_reason_for_the_log(probe):
    quota = probe.bus.bus_of("quota").service("probe", ProbeApi)
    with pytest.raises(ApiError) as caught:
        quota.write(CALLER, Words(text="forged"))
    assert caught.value.code == "SERVICE_UNAVAILABLE"
    assert caught.value.__notes__ == ["probe refused the call: write by quota: not its method"]
    with pytest.raises(ApiError) as caught:
        probe.bus.bus_of("gateway").service("probe", ProbeApi).write(operator(), Words(text="forged"))
    assert caught.value.__notes__ == ["probe refused the call: write by gateway: not the operator"]
    assert (
        probe.bus.bus_of("ctl").service("probe", ProbeApi).write(operator(), Words(text="ctl's")) is not None
    )
    assert [probe.count(CALLER, Words(text=text)).count for text in ("forged", "ctl's")] == [0, 1]


def test_a_service_signs_calls_of_its_own(probe):
    assert probe.pass_on(CALLER, Words(text="hand to hand")).text == "hand to hand"


def test_a_reply_that_the_called_service_did_not_sign_is_not_taken(probe, broker):
    """The forger is the media service, which knows the queue of the gateway's replies and guesses the number of the
    call.
    """
    bus = probe.bus.bus_of("gateway")
    pending = bus.service("probe", ProbeApi).wait.start(CALLER, Words(text="real", seconds=1.0))
    forged = encode(ReplyFrame(replies=[Reply(id=pending.call.id, result=Raw(b'{"text": "forged"}'))]))
    peer = signed_by("media").sender_of_call("", bus.signatures.call("media", b"x", time.time()), b"x", 0.0)
    for signature in (None, "probe 0 00", signed_by("media").reply(peer, forged)):
        bus._on_replies(None, None, pika.BasicProperties(app_id=signature), forged)
    assert not pending.has_ended
    assert pending.result().text == "real"


def test_a_caller_without_a_key_sends_nothing(lent_host, probe):
    bus = connect(lent_host, type(signed_by("gateway"))("gateway"))
    with pytest.raises(ApiError) as caught:
        bus.service("probe", ProbeApi).echo(CALLER, Words())
    assert caught.value.__notes__ == ["probe: there is no key to sign calls with"]
    bus.close()


def test_an_event_that_its_sender_did_not_sign_for_the_receiver_goes_to_quarantine(probe, broker, lent_host):
    event = Event(
        id="evt_1",
        event="account.changed",
        created_at=datetime.now(UTC),
        account_id="usr_1",
        data={"tier": "forged"},
    )
    body = msgspec.json.encode(event)
    others = (
        {},
        signed_by("accounts").event_headers(["webhooks"], body),
        signed_by("publishing").event_headers(["probe"], body),
        signed_by("accounts").event_headers(["probe"], body + b" "),
    )
    for headers in others:
        properties = pika.BasicProperties(headers=headers)
        broker.basic_publish("", topology.event_queue("probe"), body, properties)
    good = pika.BasicProperties(headers=signed_by("accounts").event_headers(["probe"], body))
    later = msgspec.structs.replace(event, id="evt_2", data={"tier": "signed"})
    body = msgspec.json.encode(later)
    good = pika.BasicProperties(headers=signed_by("accounts").event_headers(["probe"], body))
    broker.basic_publish("", topology.event_queue("probe"), body, good)
    until(lambda: probe.count(CALLER, Words(text="signed")).count == 1)
    until(lambda: len(quarantine.list_quarantined(lent_host)) == len(others))
    assert probe.count(CALLER, Words(text="forged")).count == 0
    errors = {one.error for one in quarantine.list_quarantined(lent_host)}
    assert errors == {
        "Refused: the signature is refused: unsigned",
        "Refused: the signature is refused: not its sender (publishing)",
        "Refused: the signature is refused: wrong signature (accounts)",
    }


def test_a_service_without_a_secret_does_not_start(running_service):
    env = {"MESSAGE_KEYS": f"quota={SECRETS['quota']}"}
    with pytest.raises(pytest.fail.Exception, match="ended with 1 at start"):
        running_service("probe", env=env, api=ProbeApi)
