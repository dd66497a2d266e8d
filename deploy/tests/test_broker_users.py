"""Each user of the broker has the rights of the definitions that the local stack, compose and a cluster import."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pika
import pytest
from deploy_kit import make_rabbitmqctl
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker

from chassis.broker_access import PROCESSES, definitions
from chassis.bus import topology
from chassis.ids import new_id
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.events import EVENTS
from contracts.record import Nothing
from contracts.services import SERVICES
from testkit.any_sender import AnySender
from testkit.fixtures import SECRETS, RunningService, keys_for_tests

REFUSED = 403
#: An open connection of each unit's user.
Connections = dict[str, pika.BlockingConnection]


@pytest.fixture(scope="module")
def users(amqp_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The URL of each unit's user, in a virtual host with the imported definitions."""
    host, mark = f"users-{new_id('t')[-12:]}", new_id("u")[-8:]
    folder = tmp_path_factory.mktemp("broker")
    rabbitmqctl = make_rabbitmqctl(folder)

    def control(*arguments: str) -> None:
        subprocess.run([rabbitmqctl, "-q", *arguments], check=True, capture_output=True, timeout=60)

    made = definitions(dict.fromkeys(PROCESSES, "secret"), virtual_host=host)
    for row in made["users"]:
        row["name"] += f"-{mark}"
    for row in (*made["permissions"], *made["topic_permissions"]):
        row["user"] += f"-{mark}"
    path = folder / "definitions.json"
    path.write_text(json.dumps(made))
    try:
        control("import_definitions", str(path))
        parts = urlsplit(amqp_url)
        yield {
            process: f"amqp://{process}-{mark}:secret@{parts.hostname}:{parts.port}/{host}"
            for process in PROCESSES
        }
    finally:
        # One call, because each starts an Erlang VM.
        names = ", ".join(f'<<"{process}-{mark}">>' for process in PROCESSES)
        delete_users = f'[rabbit_auth_backend_internal:delete_user(Name, <<"tests">>) || Name <- [{names}]]'
        control("eval", f'rabbit_vhost:delete(<<"{host}">>, <<"tests">>), {delete_users}.')


@pytest.fixture(scope="module")
def connections(users: dict[str, str]) -> Iterator[Connections]:
    """An open connection of each user."""
    with ExitStack() as stack:
        made = {}
        for process, url in users.items():
            parameters = pika.URLParameters(url)
            parameters.heartbeat = 0  # nothing reads from a connection between two tests
            made[process] = stack.enter_context(pika.BlockingConnection(parameters))
        yield made


def may(connection: pika.BlockingConnection, act: Callable[[BlockingChannel], object]) -> bool:
    """Tells whether the broker permits the action to the connection's user. Uses a new channel, because the broker
    closes the channel of an action that it refuses.
    """
    channel = connection.channel()
    channel.confirm_delivery()
    try:
        act(channel)
    except ChannelClosedByBroker as error:
        assert error.reply_code == REFUSED, error
        return False
    channel.close()
    return True


def readers_of(connections: Connections, queue: str) -> set[str]:
    return {
        process
        for process, connection in connections.items()
        if may(connection, lambda channel: channel.basic_get(queue))
    }


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_s_queues_are_read_by_its_own_user_alone(connections: Connections, service: str) -> None:
    for queue in (topology.rpc_queue(service), topology.event_queue(service)):
        assert readers_of(connections, queue) == {service, "services"}
    assert readers_of(connections, topology.retry_queue(service, 1)) == set()


def test_the_quarantine_is_read_by_the_command_line_alone(connections: Connections) -> None:
    assert readers_of(connections, topology.QUARANTINE_QUEUE) == {"ctl"}


@pytest.mark.parametrize("process", PROCESSES)
def test_nobody_declares_deletes_or_binds_what_is_shared(connections: Connections, process: str) -> None:
    connection = connections[process]
    for act in (
        lambda channel: channel.queue_declare("rpc.accounts", durable=True),
        lambda channel: channel.queue_declare(f"rpc.{process}", durable=True),
        lambda channel: channel.queue_declare("mine"),
        lambda channel: channel.queue_delete(f"events.{process}"),
        lambda channel: channel.queue_bind("events.webhooks", "events", "#"),
        lambda channel: channel.exchange_declare("events", "topic", durable=True),
        lambda channel: channel.exchange_delete("broadcasts"),
    ):
        assert not may(connection, act)
    assert may(connection, lambda channel: channel.queue_declare("rpc.accounts", passive=True))


@pytest.mark.parametrize("process", sorted(set(PROCESSES) - {"services"}))
def test_a_sender_writes_its_own_events_alone(connections: Connections, process: str) -> None:
    written = {
        name
        for name, route in EVENTS.items()
        if may(
            connections[process],
            lambda channel, name=name, route=route: channel.basic_publish(
                *(("broadcasts", "") if route.broadcast else ("events", name)), b"{}"
            ),
        )
    }
    assert written == {name for name, route in EVENTS.items() if route.sender == process}


def test_a_service_and_its_callers_work_as_their_own_users(
    users: dict[str, str], database_for: Callable[[str], str]
) -> None:
    calls = AnySender(users["gateway"], SECRETS)
    heard: list[str] = []
    calls.subscribe(lambda event: heard.append(event.event), lambda: heard.append("listening"))
    env = {
        **os.environ,
        "AMQP_URL": users["quota"],
        "DATABASE_URL": database_for("quota"),
        "MESSAGE_KEYS": keys_for_tests("quota"),
        "CLOCK_SHIFT_ALLOWED": "true",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    quota = RunningService("quota", env, calls, None)
    try:
        quota.wait_ready()
        caller = Caller(account_id="usr_1", user_id="usr_1", tier="elite")
        assert quota.get_usage(caller, Nothing()).publishes.used == 0
        assert "listening" in heard
        quota.kill()
        with pytest.raises(ApiError):  # found out by asking the broker, which the gateway's user may
            quota.get_usage(caller, Nothing(), timeout_seconds=30.0)
    finally:
        quota.terminate()
        calls.close()
