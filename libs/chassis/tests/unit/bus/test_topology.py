"""The declarations on the broker suit RabbitMQ 3.10 and 4: every queue is durable, so that it can be a quorum queue."""

from chassis.bus import topology
from contracts.events import EVENTS


class Declarations:
    """Stands in for a channel. Records what is declared."""

    def __init__(self):
        self.queues = {}
        self.bindings = []
        self.exchanges = {}
        self.answers_awaited = []

    def exchange_declare(self, name, kind, durable=False):
        self.exchanges[name] = (kind, durable)

    def queue_declare(self, name, durable=False, exclusive=False, arguments=None, callback=None):
        self.queues[name] = (durable, exclusive, arguments or {})
        self.answers_awaited.append(callback)

    def queue_bind(self, queue, exchange, routing_key):
        self.bindings.append((queue, exchange, routing_key))


def test_every_named_queue_is_durable_and_of_the_virtual_host_s_own_type():
    channel = Declarations()
    topology.declare(channel, lambda: None)
    topology.declare_service(channel, "quota")
    assert {"rpc.quota", "events.quota", "quarantine"} <= set(channel.queues)
    for durable, exclusive, arguments in channel.queues.values():
        assert durable
        assert not exclusive
        assert "x-queue-type" not in arguments
    assert all(durable for _, durable in channel.exchanges.values())


def test_every_event_finds_the_queues_of_its_receivers():
    channel = Declarations()
    topology.declare(channel, lambda: None)
    for name, route in EVENTS.items():
        for receiver in route.receivers:
            assert (topology.event_queue(receiver), topology.EVENT_EXCHANGE, name) in channel.bindings


def test_declarations_are_done_when_the_broker_has_answered_the_last_of_them():
    channel, done = Declarations(), []
    topology.declare(channel, lambda: done.append(True))
    assert channel.answers_awaited[:-1] == [None] * (len(channel.answers_awaited) - 1)
    assert not done
    channel.answers_awaited[-1]("declared")
    assert done


def test_a_failed_event_waits_ever_longer_and_then_comes_back():
    channel = Declarations()
    topology.declare_service(channel, "quota")
    waits = [channel.queues[topology.retry_queue("quota", seconds)][2] for seconds in topology.RETRY_SECONDS]
    assert [wait["x-message-ttl"] for wait in waits] == sorted(
        seconds * 1000 for seconds in topology.RETRY_SECONDS
    )
    assert {wait["x-dead-letter-routing-key"] for wait in waits} == {"events.quota"}
