"""What a failed call took, given back later: its unit first, its key last."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chassis.database import Database
from contracts.caller import Caller
from contracts.errors import SERVICE_UNAVAILABLE, ApiError
from gateway.config import Config
from gateway.house import House
from gateway.idempotency import IdempotencyKeys, Verdict, fingerprint_of

PUBLISH = "/api/v1/posts/publish"
BODY = b'{"page_id": "pag_1", "message": "Hello"}'


@pytest.fixture
def house(bus: Any, open_database: Callable[[str], Database]) -> Iterator[House]:
    house = House(Config(amqp_url="", database_url=""), bus=bus, database=open_database("gateway"))
    yield house
    house.close()


def state_of(house: House) -> Verdict:
    claim = house.keys.claim("tok_1", "k", b"f", 60.0)
    assert claim is not None
    return claim.verdict


def give_back(house: House, *, at_once: bool) -> None:
    claim = house.keys.claim("tok_1", "k", b"f", 60.0)
    assert claim is not None
    caller = Caller(account_id="usr_1", user_id="usr_1", operation_id=claim.operation_id)
    house.refunds.give_back(caller, "publishes", "2026-11", at_once=at_once)
    house.keys.give_up(claim, outcome_open=True, at_once=False)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_key_is_held_as_long_as_its_unit_is_not_given_back(house, bus, at_once) -> None:
    refund, bus.answers["refund"] = bus.answers["refund"], ApiError(SERVICE_UNAVAILABLE)
    give_back(house, at_once=at_once)
    house.let_go()
    assert state_of(house) is Verdict.RUNNING
    bus.answers["refund"] = refund
    house.let_go()
    assert state_of(house) is Verdict.CLAIMED


def test_a_key_whose_unit_comes_to_wait_while_others_are_sent_is_not_given_up_before_it(house, bus) -> None:
    def refund(_caller: Caller, _request: Any) -> None:
        bus.answers["refund"] = ApiError(SERVICE_UNAVAILABLE)
        give_back(house, at_once=False)

    bus.answers["refund"] = refund
    house.refunds.give_back(
        Caller(account_id="usr_2", user_id="usr_2"), "publishes", "2026-11", at_once=False
    )
    house.let_go()
    assert state_of(house) is Verdict.RUNNING


def test_a_request_with_time_left_does_not_free_its_key_before_its_unit_is_back(
    make_gateway, bus, open_database
) -> None:
    database = open_database("gateway")
    bus.answers |= {"refund": ApiError(SERVICE_UNAVAILABLE), "publish_post": ApiError(SERVICE_UNAVAILABLE)}
    make_gateway(database).post(PUBLISH, data=BODY, headers={"Idempotency-Key": "k"})
    claim = IdempotencyKeys(database).claim("tok_1", "k", fingerprint_of("POST", PUBLISH, BODY), 60.0)
    assert claim is not None
    assert claim.verdict is Verdict.RUNNING
