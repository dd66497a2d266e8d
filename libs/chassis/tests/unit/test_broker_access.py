"""The rights of each user of the broker: the table, and a real broker that enforces it."""

import json
import os
import re
import subprocess
import sys

import pytest

from chassis.broker_access import NOTHING, PROCESSES, access_of, definitions
from chassis.bus import topology
from contracts.events import EVENTS
from contracts.services import SERVICES

EVERYTHING = sorted({row["name"] for row in definitions({})["queues"]})


def queues(pattern: str) -> set[str]:
    return {name for name in EVERYTHING if re.search(pattern, name)}


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_reads_its_own_queues_and_declares_none(service: str) -> None:
    access = access_of(service)
    assert access.configure == NOTHING
    assert queues(access.read) == {f"rpc.{service}", f"events.{service}"}
    assert queues(access.write) == set()


def test_the_gateway_hears_broadcasts_and_the_command_line_reads_the_quarantine() -> None:
    gateway, ctl = access_of("gateway"), access_of("ctl")
    assert re.search(gateway.configure, "amq.gen-xyz")
    assert queues(gateway.configure) == queues(gateway.read) == queues(ctl.configure) == set()
    assert queues(ctl.read) == {"quarantine"}
    assert not re.search(gateway.write, "events")
    assert gateway.events == ctl.events == NOTHING


def test_an_event_is_written_by_its_sender_alone() -> None:
    for name, route in EVENTS.items():
        for process in set(PROCESSES) - {"services"}:
            access = access_of(process)
            may = re.search(access.write, "broadcasts" if route.broadcast else "events") is not None
            if not route.broadcast:
                may = may and re.search(access.events, name) is not None
            assert may is (process == route.sender), (name, process)


def test_the_process_of_all_services_may_do_what_each_of_them_may() -> None:
    shared = access_of("services")
    assert queues(shared.read) == {f"{kind}.{name}" for name in SERVICES for kind in ("rpc", "events")}
    assert all(re.search(shared.events, name) for name, route in EVENTS.items() if route.receivers)


def test_the_definitions_have_every_queue_and_binding_and_no_password() -> None:
    env = os.environ | {"AMQP_PASSWORD_QUOTA": "a password", "QUEUE_TYPE": "quorum"}
    done = subprocess.run(
        [sys.executable, "-m", "chassis.broker_access"],
        env=env, capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    made = json.loads(done.stdout)
    assert [user["name"] for user in made["users"]] == ["quota"]
    assert "a password" not in done.stdout
    names = {row["name"] for row in made["queues"]}
    assert {topology.rpc_queue(name) for name in SERVICES} | {"quarantine"} <= names
    assert {row["arguments"]["x-queue-type"] for row in made["queues"]} == {"quorum"}
    bound = {(row["destination"], row["routing_key"]) for row in made["bindings"]}
    assert bound == {
        (topology.event_queue(it), name) for name, route in EVENTS.items() for it in route.receivers
    }
