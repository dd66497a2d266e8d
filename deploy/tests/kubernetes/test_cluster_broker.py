"""deploy/kubernetes: quorum queues, their policies, and the bus on such queues.

RabbitMQ is Debian's 3.10 here. It has quorum queues and at-least-once dead-lettering, but no limit of deliveries that a
policy could remove. The cluster's RabbitMQ is newer.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pika
import pytest
from deploy_kit import make_rabbitmqctl, wait_until
from kustomized import FOLDER, OVERLAYS, build, of_kind
from probe.api import ProbeApi, Words

from chassis.bus import quarantine, topology
from chassis.ids import new_id
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.events import EVENTS
from contracts.services import SERVICES

CALLER = Caller(account_id="usr_1", user_id="usr_1")
POLICY = re.compile(r"set_policy .*?'([^']+)' \\\n\s*'([^']+)'")


@pytest.mark.parametrize("name", OVERLAYS)
def test_each_broker_keeps_to_the_policies_of_quorum_queues(name: str) -> None:
    resources = build(FOLDER / "overlays" / name)
    [broker] = of_kind(resources, "RabbitmqCluster").values()
    assert broker["spec"]["replicas"] == {"small": 1, "production": 3}[name]
    assert "default_queue_type = quorum" in broker["spec"]["rabbitmq"]["additionalConfig"]
    pod = broker["spec"]["override"]["statefulSet"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    [(volume, path), (definitions, folder)] = [
        (it["name"], it["mountPath"]) for it in container["volumeMounts"]
    ]
    [files] = [it["configMap"]["name"] for it in pod["volumes"] if it["name"] == volume]
    [secret] = [it["secret"]["secretName"] for it in pod["volumes"] if it["name"] == definitions]
    assert (secret, f"{folder}/definitions.json" in policies()) == ("rabbitmq-definitions", True)
    assert list(of_kind(resources, "ConfigMap")[files]["data"]) == ["policies.sh"]
    assert f"sh {path}/policies.sh" in container["lifecycle"]["postStart"]["exec"]["command"][-1]


def test_no_queue_drops_what_comes_back_and_retry_rooms_send_back_at_least_once() -> None:
    rows = [(re.compile(pattern), json.loads(text)) for pattern, text in POLICY.findall(policies())]
    assert len(rows) == 2
    everyone = {receiver for route in EVENTS.values() for receiver in route.receivers}
    waiting = [topology.retry_queue(one, seconds) for one in SERVICES for seconds in topology.RETRY_SECONDS]
    others = [*map(topology.rpc_queue, SERVICES), *map(topology.event_queue, everyone | {*SERVICES})]
    for queue in [*waiting, *others, topology.QUARANTINE_QUEUE]:
        # Of several that match, the one of the highest priority holds, alone: here the last.
        [*_, holds] = [policy for pattern, policy in rows if pattern.search(queue)]
        at_least_once = {"dead-letter-strategy": "at-least-once", "overflow": "reject-publish"}
        assert holds == {"delivery-limit": -1} | (at_least_once if queue in waiting else {})


def policies() -> str:
    resources = build(FOLDER / "overlays/production")
    return str(of_kind(resources, "ConfigMap")["rabbitmq-policies"]["data"]["policies.sh"])


@pytest.fixture(scope="module")
def rabbitmqctl(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a `rabbitmqctl` for the tests' broker."""
    return make_rabbitmqctl(tmp_path_factory.mktemp("broker"))


@pytest.fixture(scope="module")
def virtual_host(amqp_url: str, rabbitmqctl: str) -> Iterator[str]:
    """A virtual host with the cluster's policies, where queues are quorum queues by default.

    The tests share it, because each call of `rabbitmqctl` takes two seconds.
    """
    name = f"quorum-{new_id('t')[-12:]}"

    def control(*arguments: str) -> None:
        subprocess.run([rabbitmqctl, "-q", *arguments], check=True, capture_output=True, timeout=60)

    control("add_vhost", name, "--default-queue-type", "quorum")
    try:
        control("set_permissions", "-p", name, urlsplit(amqp_url).username or "guest", ".*", ".*", ".*")
        # No limit is what 3.10 has, and -1 what it refuses: something else in its place, that a policy be there at all.
        script = policies().replace('"delivery-limit": -1', '"queue-leader-locator": "client-local"')
        env = os.environ | {"PATH": f"{Path(rabbitmqctl).parent}:{os.environ['PATH']}"}
        subprocess.run(["sh", "-c", script, "sh", name], env=env, check=True, timeout=60)
        yield urlunsplit(urlsplit(amqp_url)._replace(path=f"/{name}"))
    finally:
        control("delete_vhost", name)


def listed(rabbitmqctl: str, virtual_host: str, *columns: str) -> dict[str, list[str]]:
    name = urlsplit(virtual_host).path[1:]
    argv = [rabbitmqctl, "-q", "list_queues", "-p", name, "--no-table-headers", "name", *columns]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {row[0]: row[1:] for row in rows}


def test_the_bus_works_on_quorum_queues(
    running_service: Callable[..., Any], virtual_host: str, rabbitmqctl: str
) -> None:
    probe = running_service("probe", api=ProbeApi)
    assert probe.echo(CALLER, Words(text="hällo")).text == "hällo"
    queues = listed(rabbitmqctl, virtual_host, "type", "policy", "durable")
    named = {name: row for name, row in queues.items() if row[2] == "true"}
    retry_queues = {topology.retry_queue("probe", seconds) for seconds in topology.RETRY_SECONDS}
    assert retry_queues < named.keys()
    for name, row in named.items():
        assert row[:2] == ["quorum", "posthaste-retry" if name in retry_queues else "posthaste"], name
    with pika.BlockingConnection(pika.URLParameters(virtual_host)) as connection:
        channel = connection.channel()
        channel.queue_bind(topology.event_queue("probe"), topology.EVENT_EXCHANGE, "account.changed")
        channel.basic_publish("", topology.event_queue("probe"), b"{not json")
        for name in ("poison", "good"):
            probe.tell(CALLER, Words(text=name))
        wait_until(lambda: probe.count(CALLER, Words(text="good")).count == 1, "the event is handled")
        # It failed, waited a second, came back, and failed again.
        second = topology.retry_queue("probe", topology.RETRY_SECONDS[1])
        wait_until(
            lambda: channel.queue_declare(second, passive=True).method.message_count == 1,
            "the second retry queue has it",
        )
    [kept] = quarantine.list_quarantined(virtual_host)
    assert quarantine.replay(virtual_host, kept.id)


def test_on_quorum_queues_too_a_call_to_a_service_that_is_away_is_refused_soon_and_not_run_later(
    running_service: Callable[..., Any], virtual_host: str
) -> None:
    probe = running_service("probe", api=ProbeApi)
    probe.kill()
    began = time.monotonic()
    with pytest.raises(ApiError):
        probe.write(CALLER, Words(text="refused"), timeout_seconds=60.0)
    assert time.monotonic() - began < 3.0
    probe.restart()
    assert probe.count(CALLER, Words(text="refused")).count == 0


def test_what_a_retry_room_cannot_send_back_stays_in_it(virtual_host: str, rabbitmqctl: str) -> None:
    [retrying, plain] = [topology.retry_queue("nobody", 0), "without the policy"]
    arguments = {
        "x-message-ttl": 1,
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": "nobody is here",
    }
    with pika.BlockingConnection(pika.URLParameters(virtual_host)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        for queue in (retrying, plain):
            channel.queue_declare(queue, durable=True, arguments=arguments)
            channel.basic_publish("", queue, b"an event", pika.BasicProperties(delivery_mode=2))

    def held() -> list[list[int]]:
        """Returns for each queue how many messages wait, and how many are kept because they could not be moved."""
        names = ", ".join(f'"{urlsplit(virtual_host).path[1:]}_{queue}"' for queue in (retrying, plain))
        asked = (
            "[begin {ok, {_, #{num_ready_messages := A, num_discarded := B, num_discard_checked_out := C}}, _} = "
            "ra:local_query({list_to_atom(Name), node()}, fun(S) -> rabbit_fifo:overview(S) end), [A, B + C] end"
            f" || Name <- [{names}]]."
        )
        done = subprocess.run([rabbitmqctl, "-q", "eval", asked], capture_output=True, text=True, timeout=60)
        found: list[list[int]] = json.loads(done.stdout)
        return found

    wait_until(lambda: [ready for ready, _ in held()] == [0, 0], "their time is over")
    assert held() == [[0, 1], [0, 0]]
