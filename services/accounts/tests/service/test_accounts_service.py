"""The accounts service as a real process, called over RabbitMQ."""

import queue
import time
from collections.abc import Callable
from typing import Any

import pika
import pytest
from msgspec import Raw

from chassis.bus.frames import Call, RequestFrame, decode_replies, encode
from chassis.bus.topology import rpc_queue
from chassis.tokens import hash_token
from contracts.accounts import (
    Authenticate,
    ChangeTier,
    CreateBrand,
    CreateToken,
    CreateUser,
    ListBrands,
    ListTokens,
    SignUp,
    TokenId,
    UserId,
)
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from testkit.fixtures import signed_by

STRANGER = Caller(account_id="", user_id="")


@pytest.fixture(scope="module")
def service(shared_service: Callable[..., Any]) -> Any:
    """A running service. Each test has its own users."""
    env = {"TOKEN_SECRET": "a secret for tests, and a long one", "SIGNUPS": "open"}
    return shared_service("accounts", env=env)


def test_from_sign_up_to_the_first_request(service: Any) -> None:
    request = SignUp(email="ann@example.com", password="correct horse", asker="192.0.2.1")
    created = service.sign_up(STRANGER, request)
    verified = service.verify_user(operator(), UserId(user_id=created.user.id))
    brand = service.create_brand(operator(), CreateBrand(user_id=created.user.id, name="Acme"))
    made = service.create_token(operator(), CreateToken(user_id=created.user.id, scopes=("read:brands",)))
    found = service.authenticate(STRANGER, Authenticate(token_sha256=hash_token(made.api_token)))
    assert found.user == verified
    assert service.list_brands(found.caller, ListBrands()).brands == (brand,)


def test_gateways_hear_of_a_revoked_token_and_a_changed_tier(service: Any) -> None:
    user = service.create_user(operator(), CreateUser(email="bob@example.com")).user
    made = service.create_token(operator(), CreateToken(user_id=user.id, scopes=("*",)))
    heard: queue.Queue[Any] = queue.Queue()
    listening: queue.Queue[None] = queue.Queue()
    service.bus.subscribe(heard.put, lambda: listening.put(None))
    listening.get(timeout=30)
    service.revoke_token(operator(), TokenId(token_id=made.token.id))
    service.change_tier(operator(), ChangeTier(user_id=user.id, tier="elite"))
    events = [heard.get(timeout=30), heard.get(timeout=30)]
    assert [event.event for event in events] == ["caller.changed", "caller.changed"]
    assert events[0].data["token_ids"] == [made.token.id]
    assert events[1].data["account_ids"] == [user.id]


def test_a_forged_call_of_the_operator_over_the_broker_makes_no_token(service: Any) -> None:
    user = service.create_user(operator(), CreateUser(email="cleo@example.com")).user
    call = Call(
        id=1,
        method="create_token",
        ttl=10.0,
        caller=Raw(encode(operator())),
        request=Raw(encode(CreateToken(user_id=user.id, scopes=("*",)))),
    )
    body = encode(RequestFrame(calls=[call], steady=time.monotonic(), connection="c1", number=1))
    with pika.BlockingConnection(pika.URLParameters(service.env["AMQP_URL"])) as connection:
        channel = connection.channel()
        mailbox = channel.queue_declare("", exclusive=True).method.queue
        for signature in (None, signed_by("gateway").call("accounts", body, time.time() + 10)):
            properties = pika.BasicProperties(reply_to=mailbox, app_id=signature)
            channel.basic_publish("", rpc_queue("accounts"), body, properties)
            _, _, answer = next(channel.consume(mailbox, auto_ack=True, inactivity_timeout=30))
            [reply] = decode_replies(answer).replies
            assert reply.error is not None
            assert reply.error.extras["refused"] in ("unsigned", "create_token by gateway: not its method")
            channel.cancel()
    tokens = service.list_tokens(operator(), ListTokens(user_id=user.id)).tokens
    assert [token.sandbox for token in tokens] == [True]


def test_a_token_with_every_scope_cannot_act_as_the_operator(service: Any) -> None:
    caller = Caller(account_id="usr_1", user_id="usr_1", scopes=("*",))
    with pytest.raises(ApiError) as caught:
        service.create_user(caller, CreateUser(email="eve@example.com", tier="elite"))
    assert caught.value.code == "MISSING_SCOPE"


def test_sign_ups_do_not_hold_up_authentication(service: Any) -> None:
    requests = [
        SignUp(email=f"user{n}@example.com", password="correct horse", asker=f"192.0.2.{n}")
        for n in range(20)
    ]
    pending = [service.sign_up.start(STRANGER, request, timeout_seconds=30) for request in requests]
    with pytest.raises(ApiError) as caught:
        service.authenticate(STRANGER, Authenticate(token_sha256="0" * 64), timeout_seconds=2)
    assert caught.value.code == "INVALID_TOKEN"
    assert len({call.result().user.id for call in pending}) == 20
