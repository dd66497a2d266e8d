"""TLS to a real PostgreSQL and RabbitMQ: only valid certificates are accepted, and nothing is sent in plain text.

The servers run with the settings of compose, and every process has its own role and broker user.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pika
import psycopg2
import pytest
from deploy_kit import wait_until
from encrypted_servers import (
    ANOTHER_NAME_OF_IT,
    HOST,
    PASSWORD,
    EncryptedPostgres,
    answer_to,
    make_databases,
    postgres_with_tls,
    rabbitmq_with_tls,
    user_url,
)
from msgspec import Raw
from pika.adapters.blocking_connection import BlockingChannel
from probe.api import ProbeApi, Words
from sqlalchemy.engine import make_url
from structlog.testing import capture_logs

from chassis import config
from chassis.broker_access import PROCESSES
from chassis.bus import amqp, topology
from chassis.bus.frames import Call, RequestFrame, encode
from chassis.bus.link import Link
from chassis.db.database import Database
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.events import EVENTS
from contracts.record import Nothing
from contracts.services import SERVICES
from local.servers import certificates
from testkit.any_sender import AnySender
from testkit.by_hand import is_allowed
from testkit.faulty_link import FaultyLink
from testkit.fixtures import SECRETS, RunningService, keys_for_tests, signed_by

CALLER = Caller(account_id="usr_1", user_id="usr_1")
#: The processes with a database.
OWNERS = ("gateway", *SERVICES)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the servers' certificates and their certificate authority."""
    folder = tmp_path_factory.mktemp("certificates")
    return certificates.make(folder, *(f"{server},{HOST}" for server in ("postgres", "rabbitmq")))


@pytest.fixture(scope="module")
def another_authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates.make(tmp_path_factory.mktemp("another"), "unused")


@pytest.fixture(scope="module")
def server(authority: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EncryptedPostgres]:
    with postgres_with_tls(authority, tmp_path_factory.mktemp("pg") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def database(server: EncryptedPostgres, authority: Path) -> str:
    """The URL of the probe's database, which was created over TLS."""
    urls = {"probe": server.url("posthaste_probe", "probe")}
    make_databases(server, authority, urls, migrated="probe")
    return urls["probe"]


@pytest.fixture(scope="module")
def databases(server: EncryptedPostgres, authority: Path) -> dict[str, str]:
    """The URL of each process's database. All are created over TLS, as in a deployment. Only quota's has tables."""
    urls = {name: server.url(f"posthaste_{name}", name) for name in OWNERS}
    make_databases(server, authority, urls, migrated="quota")
    return urls


@pytest.fixture(scope="module")
def broker(authority: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The TLS port of a RabbitMQ that accepts no plain connections."""
    with rabbitmq_with_tls(authority, tmp_path_factory.mktemp("broker")) as port:
        yield port


def amqps(port: int, authority: Path, host: str = HOST) -> str:
    return f"amqps://guest:guest@{host}:{port}/%2F?cacertfile={authority}/ca.crt"


@pytest.fixture
def to_broker(broker: int) -> Iterator[FaultyLink]:
    link = FaultyLink(("127.0.0.1", broker))
    yield link
    link.close()


@pytest.fixture
def virtual_host(to_broker: FaultyLink, authority: Path) -> str:
    """The broker's URL for the services of these tests."""
    return amqps(to_broker.port, authority)


def answers(probe: Any) -> bool:
    try:
        return bool(probe.echo(CALLER, Words(text="hällo"), timeout_seconds=0.5).text == "hällo")
    except ApiError:
        return False


def test_a_service_works_over_tls_and_goes_on_over_tls_after_its_connections_were_lost(
    running_service: Callable[..., Any],
    server: EncryptedPostgres,
    database: str,
    authority: Path,
    to_broker: FaultyLink,
) -> None:
    env = {"DATABASE_URL": database, "DATABASE_TLS_CA": str(authority / "ca.crt")}
    probe = running_service("probe", env, api=ProbeApi)
    assert probe.write(CALLER, Words(text="kept"), timeout_seconds=5.0)
    large = "x" * 200_000  # many TLS records, in both directions
    assert probe.echo(CALLER, Words(text=large), timeout_seconds=5.0).text == large
    assert set(server.encrypted("probe")) == {True}

    to_broker.cut()
    server.admin(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'posthaste_probe'"
    )
    wait_until(lambda: answers(probe), "it answers again")
    assert probe.count(CALLER, Words(text="kept"), timeout_seconds=5.0).count == 1
    assert set(server.encrypted("probe")) == {True}


CLIENT_OF_THE_GATEWAY_S_KIND = """
from chassis.runtime import green
green.patch()
import sys
from chassis import config
from chassis.db.database import Database, fetch
from chassis.bus.link import Link

database = Database(config.service_database_url(), pool_size=2)
with database.reading() as connection:
    print(fetch(connection, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"))
link = Link(config.amqp_url(), "test", lambda channel: None)
link.start()
print(link.wait_open(10))
link.stop()
"""


def test_so_does_a_process_of_the_gateway_s_kind(database: str, authority: Path, broker: int) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "DATABASE_URL": database,
        "DATABASE_TLS_CA": str(authority / "ca.crt"),
        "AMQP_URL": f"amqps://guest:guest@{HOST}:{broker}/%2F",
        "AMQP_TLS_CA": str(authority / "ca.crt"),
    }
    done = subprocess.run(
        [sys.executable, "-c", CLIENT_OF_THE_GATEWAY_S_KIND],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == ["[(True,)]", "True"], done.stderr


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("another authority", "certificate verify failed"),
        ("another host name", 'does not match host name "127.0.0.1"'),
        ("plain text", "server does not support SSL, but SSL was required"),
    ],
)
def test_a_database_that_is_not_the_one_is_not_talked_to(
    case: str,
    reason: str,
    server: EncryptedPostgres,
    database: str,
    authority: Path,
    another_authority: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = ANOTHER_NAME_OF_IT if case == "another host name" else HOST
    folder = another_authority if case == "another authority" else authority
    monkeypatch.setenv("DATABASE_URL", server.url("posthaste_probe", "probe", host))
    monkeypatch.setenv("DATABASE_TLS_CA", str(folder / "ca.crt"))
    if case == "plain text":
        server.switch_tls("off")
    try:
        opened = Database(config.service_database_url())
        with pytest.raises(ApiError) as refused:
            opened.ping()
        assert reason in str(refused.value.__cause__)
    finally:
        server.switch_tls("on")
    opened.close()


def test_a_connection_that_is_made_again_is_never_made_in_plain_text(
    server: EncryptedPostgres, database: str, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database)
    monkeypatch.setenv("DATABASE_TLS_CA", str(authority / "ca.crt"))
    opened = Database(config.service_database_url(), pool_size=1)
    opened.ping()
    server.switch_tls("off")
    server.admin(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'posthaste_probe'"
    )
    try:
        with pytest.raises(ApiError):
            opened.ping()
    finally:
        server.switch_tls("on")
    opened.ping()
    assert server.encrypted("probe") == [True]
    opened.close()


def failures(logged: list[Any]) -> list[str]:
    """Returns the reason for each failed connection to the broker."""
    tried = [entry for entry in logged if entry["event"] in ("link_lost", "link_failed")]
    return [str(entry.get("reason", entry.get("error"))) for entry in tried]


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("another authority", "certificate verify failed"),
        ("another host name", "IP address mismatch"),
        ("plain text", "wrong version number"),
    ],
)
def test_a_broker_that_is_not_the_one_is_not_talked_to(
    case: str, reason: str, broker: int, amqp_url: str, authority: Path, another_authority: Path
) -> None:
    host = ANOTHER_NAME_OF_IT if case == "another host name" else HOST
    folder = another_authority if case == "another authority" else authority
    port = amqp.parameters(amqp_url).port if case == "plain text" else broker
    with capture_logs() as logged:
        link = Link(amqps(port, folder, host), "test", lambda _channel: None)
        link.start()
        wait_until(lambda: failures(logged), "it has been tried")
        assert not link.is_open
        link.stop()
    assert reason in failures(logged)[0]


def test_a_link_that_is_lost_is_never_made_again_in_plain_text(
    to_broker: FaultyLink, broker: int, amqp_url: str, virtual_host: str
) -> None:
    with capture_logs() as logged:
        link = Link(virtual_host, "test", lambda _channel: None)
        link.start()
        assert link.wait_open(10)
        to_broker.lead_to(("127.0.0.1", amqp.parameters(amqp_url).port))
        to_broker.cut()
        wait_until(lambda: any("wrong version number" in it for it in failures(logged)), "it has been tried")
        assert not link.is_open
        to_broker.lead_to(("127.0.0.1", broker))
        wait_until(lambda: link.is_open, "it is back")
        link.stop()


# --- each process with its own role and user ---


@pytest.mark.parametrize("owner", OWNERS)
def test_each_role_reaches_its_own_database_alone_and_over_tls_alone(
    owner: str,
    server: EncryptedPostgres,
    databases: dict[str, str],
    authority: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE_URL", databases[owner])
    monkeypatch.setenv("DATABASE_TLS_CA", str(authority / "ca.crt"))
    url = config.service_database_url()
    assert make_url(url).query["sslmode"] == "verify-full"
    opened = Database(url, pool_size=1)
    opened.ping()
    assert set(server.encrypted(owner)) == {True}
    opened.close()

    with pytest.raises(psycopg2.OperationalError, match="no encryption"):
        psycopg2.connect(databases[owner], sslmode="disable")
    for other in {*OWNERS, "postgres"} - {owner}:
        with pytest.raises(psycopg2.OperationalError, match="permission denied for database"):
            psycopg2.connect(server.url(f"posthaste_{owner}", other), sslmode="require")


@pytest.mark.parametrize("process", PROCESSES)
def test_each_broker_user_has_its_own_permissions_over_tls(
    process: str, broker: int, authority: Path
) -> None:
    own = set(SERVICES) if process == "services" else {process} & set(SERVICES)
    with pika.BlockingConnection(amqp.parameters(user_url(broker, authority, process))) as connection:
        readable = {
            service
            for service in SERVICES
            if is_allowed(connection, partial(BlockingChannel.basic_get, queue=topology.rpc_queue(service)))
        }
        written = {
            name
            for name, route in EVENTS.items()
            if not route.broadcast
            and is_allowed(
                connection,
                partial(BlockingChannel.basic_publish, exchange="events", routing_key=name, body=b"{}"),
            )
        }
        declared = is_allowed(connection, lambda channel: channel.queue_declare("rpc.new", durable=True))
    assert readable == own
    assert written == {
        name for name, route in EVENTS.items() if route.sender in own | {process} and route.receivers
    }
    assert not declared


def test_a_plain_connection_to_the_broker_is_refused(broker: int) -> None:
    plain = pika.ConnectionParameters(
        HOST, broker, "/", pika.PlainCredentials("gateway", PASSWORD), blocked_connection_timeout=30
    )
    with pytest.raises(pika.exceptions.AMQPConnectionError):
        pika.BlockingConnection(plain)


def test_allowed_calls_work_and_forged_ones_are_refused_with_each_process_s_own_user(
    server: EncryptedPostgres, databases: dict[str, str], broker: int, authority: Path
) -> None:
    calls = AnySender(user_url(broker, authority, "gateway"), SECRETS)
    env = {
        **os.environ,
        "AMQP_URL": f"amqps://quota:{PASSWORD}@{HOST}:{broker}/%2F",
        "AMQP_TLS_CA": str(authority / "ca.crt"),
        "DATABASE_URL": databases["quota"],
        "DATABASE_TLS_CA": str(authority / "ca.crt"),
        "MESSAGE_KEYS": keys_for_tests("quota"),
        "CLOCK_SHIFT_ALLOWED": "true",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    quota = RunningService("quota", env, calls, None)
    try:
        quota.wait_ready()
        caller = Caller(account_id="usr_1", user_id="usr_1", tier="elite")
        assert quota.get_usage(caller, Nothing(), timeout_seconds=30.0).publishes.used == 0
        assert set(server.encrypted("quota")) == {True}

        call = Call(id=1, method="get_usage", ttl=60.0, caller=Raw(encode(caller)), request=Raw(b"{}"))
        body = encode(RequestFrame(calls=[call], steady=time.monotonic(), connection="c1", number=1))
        own = signed_by("ai").call("quota", body, time.time() + 60)
        attacker = user_url(broker, authority, "ai")
        assert answer_to(attacker, body, None) == "unsigned"
        assert answer_to(attacker, body, own.replace("ai", "gateway", 1)) == "wrong signature"
        assert answer_to(attacker, body, own) == "get_usage by ai: not its method"
    finally:
        quota.terminate()
        calls.close()
