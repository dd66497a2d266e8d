"""A call to a service without a running process is refused within 2 s. A call to a busy service waits for the
answer.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pika
import pytest
from probe.api import ProbeApi, Words
from sqlalchemy import make_url

from chassis.bus import quarantine, topology
from chassis.bus.pending import ServiceAway
from chassis.bus.rpc import connect
from contracts.caller import Caller
from testkit.faulty_link import FaultyLink
from testkit.fixtures import RunningService, keys_for_tests, signed_by
from testkit.waiting import until

CALLER = Caller(account_id="usr_1", user_id="usr_1")
#: The goal, and room for a busy machine.
NOTICED_SECONDS, ROOM_SECONDS = 2.0, 0.5


@pytest.fixture
def probe(running_service: Callable[..., RunningService]) -> RunningService:
    return running_service("probe", api=ProbeApi)


def refused_after(call):
    """Returns the seconds until the call was refused."""
    began = time.monotonic()
    with pytest.raises(ServiceAway) as caught:
        call()
    assert caught.value.code == "SERVICE_UNAVAILABLE"
    return time.monotonic() - began


def queue_of(virtual_host):
    """Returns how many messages are in the probe's queue, and how many consumers it has."""
    with pika.BlockingConnection(pika.URLParameters(virtual_host)) as connection:
        method = connection.channel().queue_declare(topology.rpc_queue("probe"), passive=True).method
        return method.message_count, method.consumer_count


def test_a_call_to_a_service_that_is_away_is_refused_long_before_its_deadline(probe):
    probe.kill()
    seconds = refused_after(lambda: probe.echo(CALLER, Words(), timeout_seconds=30.0))
    assert seconds < NOTICED_SECONDS + ROOM_SECONDS


def test_a_write_refused_because_its_service_is_away_is_not_run_when_it_is_back(probe, virtual_host):
    probe.kill()
    refused_after(lambda: probe.write(CALLER, Words(text="refused"), timeout_seconds=60.0))
    assert queue_of(virtual_host) == (1, 0)
    probe.restart()
    assert probe.count(CALLER, Words(text="refused")).count == 0


def test_while_a_service_is_away_further_calls_are_refused_at_once_and_answered_when_it_is_back(probe):
    probe.kill()
    refused_after(lambda: probe.echo(CALLER, Words()))
    assert max(refused_after(lambda: probe.echo(CALLER, Words())) for _ in range(20)) < ROOM_SECONDS
    probe.restart()
    assert probe.echo(CALLER, Words(text="back")).text == "back"


def test_a_service_that_is_busy_is_waited_for_however_long_its_queue(running_service, virtual_host):
    probe = running_service("probe", env={"MAX_WORKERS": "1"}, api=ProbeApi)
    proxy = probe.bus.service("probe", ProbeApi)
    pending = []
    for number in range(30):
        pending.append(proxy.wait.start(CALLER, Words(text=str(number), seconds=0.12), timeout_seconds=30.0))
        time.sleep(0.03)  # a frame each
    assert queue_of(virtual_host)[0] > 0
    assert [call.result().text for call in pending] == [str(number) for number in range(30)]


def test_a_call_is_not_refused_while_a_service_that_stops_still_works_on_it(probe, virtual_host):
    proxy = probe.bus.service("probe", ProbeApi)
    pending = proxy.wait.start(CALLER, Words(text="done", seconds=4.0), timeout_seconds=30.0)
    proxy.echo(CALLER, Words(text="behind it in the queue"))
    probe.process.send_signal(signal.SIGTERM)
    until(lambda: queue_of(virtual_host)[1] == 0)
    assert refused_after(lambda: proxy.echo(CALLER, Words())) < NOTICED_SECONDS + ROOM_SECONDS
    assert pending.result().text == "done"


def test_no_call_is_lost_while_one_of_two_replicas_restarts(running_service, virtual_host):
    replicas = [running_service("probe", api=ProbeApi) for _ in range(2)]
    answers = []
    for replica in replicas:
        until(lambda: queue_of(virtual_host)[1] == 2)
        assert replica.terminate() == 0
        answers += [replica.echo(CALLER, Words(text="still")).text for _ in range(20)]
        replica.restart()
    assert answers == ["still"] * 40


def test_what_was_sent_while_a_service_was_away_is_refused_by_it_when_it_is_back(probe, virtual_host):
    probe.kill()
    until(lambda: queue_of(virtual_host) == (0, 0))
    with pika.BlockingConnection(pika.URLParameters(virtual_host)) as connection:
        channel = connection.channel()
        mailbox = channel.queue_declare("", exclusive=True).method.queue
        call = {"id": 7, "method": "write", "ttl": 60, "caller": {}, "request": {}}
        sent = {"steady": time.monotonic(), "connection": "c1", "number": 1}
        frame = json.dumps(sent | {"calls": [call]}).encode()
        properties = pika.BasicProperties(reply_to=mailbox)
        channel.basic_publish("", topology.rpc_queue("probe"), frame, properties)
        channel.basic_publish("", topology.rpc_queue("probe"), b"not json", properties)
        until(lambda: queue_of(virtual_host) == (2, 0))
        probe.restart()
        _, _, body = next(channel.consume(mailbox, auto_ack=True, inactivity_timeout=30))
    [reply] = json.loads(body)["replies"]
    assert (reply["id"], reply["error"]["code"]) == (7, "SERVICE_UNAVAILABLE")
    until(lambda: [one.body for one in quarantine.list_quarantined(virtual_host)] == ["not json"])
    assert probe.echo(CALLER, Words(text="later")).text == "later"


def test_a_queue_that_is_deleted_while_its_service_is_away_costs_no_other_call_its_answer(
    probe, virtual_host
):
    probe.kill()
    refused_after(lambda: probe.echo(CALLER, Words()))
    resets = []
    probe.bus.subscribe(lambda _event: None, lambda: resets.append("reset"))
    until(lambda: resets)
    with pika.BlockingConnection(pika.URLParameters(virtual_host)) as connection:
        connection.channel().queue_delete(topology.rpc_queue("probe"))
    assert max(refused_after(lambda: probe.echo(CALLER, Words())) for _ in range(5)) < ROOM_SECONDS
    probe.restart()
    assert probe.echo(CALLER, Words(text="back")).text == "back"
    assert resets == ["reset"]  # the link was never lost


def test_each_process_finds_out_for_itself(probe, virtual_host):
    other = connect(virtual_host, signed_by("ctl"), "other")
    probe.kill()
    calls = [bus.service("probe", ProbeApi) for bus in (probe.bus, other)]
    began = time.monotonic()
    pending = [proxy.echo.start(CALLER, Words(), timeout_seconds=30.0) for proxy in calls]
    for call in pending:
        refused_after(call.result)
    assert time.monotonic() - began < NOTICED_SECONDS + ROOM_SECONDS
    other.close()


def test_a_service_that_starts_while_its_database_is_away_waits_for_it(database_for, virtual_host):
    url = make_url(database_for("probe"))
    link = FaultyLink(f"{url.query['host']}/.s.PGSQL.{url.port or 5432}")
    link.refuse(True)
    behind = url.set(query={}, host="127.0.0.1", port=link.port).render_as_string(hide_password=False)
    env = {
        **os.environ,
        "AMQP_URL": virtual_host,
        "DATABASE_URL": behind,
        "HEALTH_PORT": "0",
        "MESSAGE_KEYS": keys_for_tests("probe"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    argv = [sys.executable, "-m", "chassis.run", "probe"]
    with subprocess.Popen(
        argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert any("database_away_at_start" in line for line in process.stdout)
            link.refuse(False)
            assert any("service_started" in line for line in process.stdout)
        finally:
            process.terminate()
            link.close()
