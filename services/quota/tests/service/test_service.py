"""The quota service as a process on the bus."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pika
import pytest

from chassis.bus import topology
from chassis.db import clock
from chassis.db.database import Database
from contracts.caller import Caller, operator
from contracts.errors import MISSING_SCOPE, ApiError
from contracts.events import Event, UnitReturned
from contracts.quota import Admitted, Arrival, Arrivals, ChargeUnit, ChargeUnits, SetSandboxUse
from contracts.record import Nothing
from testkit.fixtures import signed_event
from testkit.waiting import until

GATEWAY = Caller(account_id="", user_id="gateway")
CALLER = Caller(account_id="usr_1", user_id="usr_1", tier="elite", operation_id="op_1")
SANDBOX = Caller(account_id="usr_4", user_id="usr_4", token_id="tok_1", sandbox=True)
PATIENCE_SECONDS = 30.0


def set_clock(service: Any, moment: datetime) -> None:
    database = Database(service.env["DATABASE_URL"], pool_size=1)
    with database.transaction() as connection:
        clock.set_shift(connection, (moment - clock.now(connection)).total_seconds())
    database.close()


def admit(quota: Any, caller: Caller, meter: str) -> Admitted:
    """Admits a single request."""
    request = Arrivals(arrivals=(Arrival(caller=caller, meter=meter),))
    (verdict,) = quota.admit_all(GATEWAY, request).verdicts
    return verdict


@pytest.fixture(scope="module")
def quota(shared_service: Callable[..., Any]) -> Any:
    """A running service. Each test has its own account."""
    return shared_service("quota", env={"UPGRADE_URL": "https://example.test/upgrade"})


def test_a_request_is_admitted_counted_and_given_back_over_the_bus(quota: Any) -> None:
    admitted = admit(quota, CALLER, "publishes")
    assert (admitted.refused_code, admitted.window.limit) == (None, 300)
    assert quota.get_usage(CALLER, Nothing()).publishes.used == 1
    quota.refund(CALLER, Nothing())
    assert quota.get_usage(CALLER, Nothing()).publishes.used == 0
    request = ChargeUnit(account_id="usr_1", tier="elite", bucket="webhooks", operation_id="dlv_1")
    assert quota.charge_units(CALLER, ChargeUnits(units=(request,))).allowed == (True,)
    assert quota.get_usage(CALLER, Nothing()).webhooks.used == 1


def test_a_refusal_travels_with_its_window_and_fields(quota: Any) -> None:
    with pytest.raises(ApiError) as refused:
        quota.set_sandbox_use(SANDBOX, SetSandboxUse(token_id="tok_1", count=0))
    assert refused.value.row is MISSING_SCOPE
    quota.set_sandbox_use(operator(), SetSandboxUse(token_id="tok_1", count=100))
    refusal = admit(quota, SANDBOX, "reads")
    assert refusal.refused_code == "SANDBOX_EXHAUSTED"
    assert refusal.refused_extras == {"upgrade_url": "https://example.test/upgrade"}
    assert refusal.window.limit == 5


def test_a_unit_that_publishing_returns_is_given_back(quota: Any) -> None:
    other = Caller(account_id="usr_3", user_id="usr_3", tier="elite", operation_id="op_3")
    admit(quota, other, "publishes")
    assert quota.get_usage(other, Nothing()).publishes.used == 1
    event = Event(
        id="evt_1",
        event="unit.returned",
        created_at=datetime.now(UTC),
        account_id="usr_3",
        data=msgspec.to_builtins(UnitReturned(operation_id="op_3")),
    )
    with pika.BlockingConnection(pika.URLParameters(quota.env["AMQP_URL"])) as connection:
        body, headers = signed_event(event)
        properties = pika.BasicProperties(headers=headers)
        connection.channel().basic_publish(topology.EVENT_EXCHANGE, "unit.returned", body, properties)
    until(lambda: quota.get_usage(other, Nothing()).publishes.used == 0, PATIENCE_SECONDS)


def test_200_at_once_on_two_processes_let_through_exactly_the_limit(running_service: Any) -> None:
    """The counts are exact in the running service too, which uses green threads."""
    quota = running_service("quota")
    replica = running_service("quota", env={"DATABASE_URL": quota.env["DATABASE_URL"]})
    with pika.BlockingConnection(pika.URLParameters(quota.env["AMQP_URL"])) as connection:
        queue = topology.rpc_queue("quota")
        channel = connection.channel()
        until(lambda: channel.queue_declare(queue, passive=True).method.consumer_count == 2, PATIENCE_SECONDS)
    set_clock(quota, datetime.now(UTC).replace(second=5) + timedelta(days=1))
    pro = Caller(account_id="usr_2", user_id="usr_2", tier="pro")
    with ThreadPoolExecutor(64) as pool:
        codes = pool.map(
            lambda index: admit((quota, replica)[index % 2], pro, "reads").refused_code, range(200)
        )
    assert Counter(codes) == {None: 60, "RATE_LIMITED": 140}
