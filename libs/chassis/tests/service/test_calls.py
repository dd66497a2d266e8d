"""Calls over a real broker. Each row of the table about nameko in docs/architecture.md has a test in this folder."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import pika
import pytest
from probe.api import ProbeApi, Words

from chassis.bus import quarantine, topology
from chassis.bus.clients import DEFAULT_TIMEOUT_SECONDS
from contracts.caller import Caller
from contracts.errors import ApiError
from contracts.events import EVENTS, Event
from contracts.record import Nothing
from contracts.senders import called_by
from testkit.fixtures import RunningService, signed_by
from testkit.waiting import until

CALLER = Caller(account_id="usr_1", user_id="usr_1")


@pytest.fixture
def probe(shared_probe: RunningService) -> RunningService:
    return shared_probe


@pytest.fixture
def own_probe(running_service: Callable[..., RunningService]) -> RunningService:
    """A running probe for tests that end it, or that need one that has just started."""
    return running_service("probe", api=ProbeApi)


def test_a_call_comes_back_with_the_contract_s_record(probe):
    assert probe.echo(CALLER, Words(text="hällo")) == Words(text="hällo")


def test_a_refusal_keeps_its_code_message_and_extras(probe):
    with pytest.raises(ApiError) as caught:
        probe.refuse(CALLER, Words(text="no such thing"))
    assert (caught.value.code, caught.value.message) == ("NOT_FOUND", "no such thing")
    assert caught.value.extras == {"field": "thing"}


def test_an_unexpected_exception_is_a_server_error_that_tells_nothing_of_itself(probe):
    with pytest.raises(ApiError) as caught:
        probe.break_down(CALLER, Words(text="secret"))
    assert caught.value.code == "SERVER_ERROR"
    assert "secret" not in caught.value.message


def test_a_result_that_cannot_be_sent_is_a_server_error_and_the_service_lives(probe):
    with pytest.raises(ApiError) as caught:
        probe.garble(CALLER, Words())
    assert caught.value.code == "SERVER_ERROR"
    assert probe.echo(CALLER, Words(text="alive")).text == "alive"


def test_a_service_calls_another_and_its_own_deadline_holds(probe):
    assert probe.pass_on(CALLER, Words(text="hand to hand")) == Words(text="hand to hand")
    began = time.monotonic()
    with pytest.raises(ApiError) as caught:
        probe.pass_on(CALLER, Words(seconds=3))
    assert caught.value.code == "SERVICE_UNAVAILABLE"
    assert time.monotonic() - began < 3


def test_calls_made_at_once_all_get_their_own_answer(probe):
    answers = {}

    def call(number):
        answers[number] = probe.echo(CALLER, Words(text=str(number))).text

    threads = [threading.Thread(target=call, args=(number,)) for number in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: str(number) for number in range(200)}


def test_a_slow_neighbour_delays_nobody(probe):
    proxy = probe.bus.service("probe", ProbeApi)
    slow = [proxy.wait.start(CALLER, Words(seconds=2.0)) for _ in range(5)]
    began = time.monotonic()
    proxy.echo(CALLER, Words(text="quick"))
    assert time.monotonic() - began < 2.0
    assert all(pending.result().seconds == 2.0 for pending in slow)


def test_slow_queries_overlap(probe):
    proxy = probe.bus.service("probe", ProbeApi)
    began = time.monotonic()
    for pending in [proxy.query_slowly.start(CALLER, Words(seconds=1.0)) for _ in range(4)]:
        pending.result()
    assert time.monotonic() - began < 4.0


def test_a_call_to_a_service_that_was_never_started_is_refused_at_once(probe):
    began = time.monotonic()
    with pytest.raises(ApiError) as caught:
        probe.bus.service("nobody", ProbeApi).echo(CALLER, Words())
    assert caught.value.code == "SERVICE_UNAVAILABLE"
    assert time.monotonic() - began < DEFAULT_TIMEOUT_SECONDS / 2


def test_a_caller_waits_for_a_dead_service_no_longer_than_its_deadline(own_probe):
    own_probe.kill()
    began = time.monotonic()
    with pytest.raises(ApiError) as caught:
        own_probe.echo(CALLER, Words(), timeout_seconds=0.5)
    assert caught.value.code == "SERVICE_UNAVAILABLE"
    assert time.monotonic() - began < DEFAULT_TIMEOUT_SECONDS / 2


def test_a_write_whose_caller_gave_up_is_not_run_later(lent_probe):
    lent_probe.kill()
    with pytest.raises(ApiError):
        lent_probe.write(CALLER, Words(text="late"), timeout_seconds=0.3)
    lent_probe.restart()
    assert lent_probe.count(CALLER, Words(text="late")).count == 0


def test_a_call_that_waited_for_a_free_worker_past_its_deadline_is_not_run(running_service):
    probe = running_service("probe", env={"MAX_WORKERS": "1"}, api=ProbeApi)
    proxy = probe.bus.service("probe", ProbeApi)
    busy = proxy.wait.start(CALLER, Words(seconds=2.5))
    with pytest.raises(ApiError):
        proxy.write(CALLER, Words(text="late"), timeout_seconds=1.0)
    busy.result()
    assert probe.count(CALLER, Words(text="late")).count == 0


def test_a_call_whose_answer_is_not_waited_for_is_told_at_its_deadline_that_there_is_none(probe):
    told, ended = [], threading.Event()

    def then(pending):
        told.append(pending)
        ended.set()

    bus = probe.bus.bus_of("gateway")
    bus.service("probe", ProbeApi).wait.start(CALLER, Words(seconds=3.0), timeout_seconds=0.2, then=then)
    assert ended.wait(30)
    with pytest.raises(ApiError, match="SERVICE_UNAVAILABLE"):
        told[0].result()
    until(lambda: not bus._pending)


@pytest.mark.parametrize("kind", ["rpc", "events"])
def test_a_service_whose_queue_was_deleted_makes_it_anew_and_goes_on(lent_probe, lent_host, kind):
    with pika.BlockingConnection(pika.URLParameters(lent_host)) as connection:
        connection.channel().queue_delete(f"{kind}.probe")
    until(lambda: echoes(lent_probe))
    until(lambda: has_its_queues(lent_host))


def echoes(probe):
    try:
        return probe.echo(CALLER, Words(text="there"), timeout_seconds=0.3).text == "there"
    except ApiError:
        return False


def has_its_queues(virtual_host):
    with pika.BlockingConnection(pika.URLParameters(virtual_host)) as connection:
        try:
            return all(
                connection.channel().queue_declare(name, passive=True).method.consumer_count
                for name in (topology.rpc_queue("probe"), topology.event_queue("probe"))
            )
        except pika.exceptions.ChannelClosedByBroker:
            return False


def test_a_call_is_not_run_again_when_its_process_dies_in_the_middle(lent_probe):
    proxy = lent_probe.bus.service("probe", ProbeApi)
    pending = proxy.write.start(CALLER, Words(text="once", seconds=5.0), timeout_seconds=8.0)
    proxy.echo(CALLER, Words())
    lent_probe.kill()
    lent_probe.restart()
    with pytest.raises(ApiError):
        pending.result()
    assert lent_probe.count(CALLER, Words(text="once")).count == 0


def test_rubbish_on_the_call_queue_is_quarantined_and_the_service_lives(lent_probe, lent_host):
    with pika.BlockingConnection(pika.URLParameters(lent_host)) as connection:
        channel = connection.channel()
        with_reply = pika.BasicProperties(reply_to="nowhere")
        for body in (
            b"",
            b"not json",
            b"[]",
            b'{"calls": 5}',
            b"\xff\xfe",
            b'{"steady": 1, "connection": "c", "number": 1, "calls": [{"id": "x"}]}',
            b'{"steady": 1, "connection": "c", "number": 1, "calls": [{"id": 1, "method": "\xff"}]}',
            b"[" * 100_000,
        ):
            channel.basic_publish("", topology.rpc_queue("probe"), body, with_reply)
        without_reply = b'{"steady": 1, "connection": "c", "number": 1, "calls": []}'
        channel.basic_publish("", topology.rpc_queue("probe"), without_reply)
    assert lent_probe.echo(CALLER, Words(text="alive")).text == "alive"
    until(lambda: len(quarantine.list_quarantined(lent_host)) == 9)
    assert {row.queue for row in quarantine.list_quarantined(lent_host)} == {"rpc.probe"}


def test_an_unknown_method_is_refused_alone(probe):
    @called_by(gateway="invented_later")
    class NewerApi(ProbeApi):
        def invented_later(self, caller: Caller, request: Words) -> Words: ...

    with pytest.raises(ApiError) as caught:
        probe.bus.service("probe", NewerApi).invented_later(CALLER, Words())
    assert caught.value.code == "NOT_FOUND"


def publish(host: str, *events: Event, **headers: int) -> None:
    """Puts events into the probe's queue, signed by their senders."""
    with pika.BlockingConnection(pika.URLParameters(host)) as connection:
        for event in events:
            body = msgspec.json.encode(event)
            signed = signed_by(EVENTS[event.event].sender).event_headers(["probe"], body)
            properties = pika.BasicProperties(headers={**signed, **headers})
            connection.channel().basic_publish("", topology.event_queue("probe"), body, properties)


def test_an_event_that_comes_twice_has_one_effect(lent_probe, lent_host):
    event = Event(
        id="evt_1",
        event="account.changed",
        created_at=datetime.now(UTC),
        account_id="usr_1",
        data={"tier": "new"},
    )
    publish(lent_host, event, event)
    lent_probe.tell(CALLER, Words(text="later"))
    until(lambda: lent_probe.count(CALLER, Words(text="later")).count == 1)
    assert lent_probe.count(CALLER, Words(text="new")).count == 1


def test_an_event_whose_handler_fails_is_tried_again_and_leaves_no_half_effect(lent_probe):
    lent_probe.tell(CALLER, Words(text="poison"))
    lent_probe.tell(CALLER, Words(text="good"))
    until(lambda: lent_probe.count(CALLER, Words(text="good")).count == 1)
    assert lent_probe.count(CALLER, Words(text="poison")).count == 0


def test_an_event_whose_handler_fails_for_good_is_quarantined(lent_probe, lent_host):
    event = Event(
        id="evt_2",
        event="account.changed",
        created_at=datetime.now(UTC),
        account_id="usr_1",
        data={"tier": "poison"},
    )
    publish(lent_host, event, **{"x-attempt": len(topology.RETRY_SECONDS)})
    until(lambda: len(quarantine.list_quarantined(lent_host)) == 1)
    assert "poison" in quarantine.list_quarantined(lent_host)[0].error


def test_events_that_come_together_share_transactions_once_each_and_a_bad_one_fails_alone(
    lent_probe, lent_host
):
    def posts(*names):
        return [
            Event(
                id=f"evt_{name}",
                event=("post.failed", "post.published")[number % 2],
                created_at=datetime.now(UTC),
                account_id="usr_1",
                data={"name": name},
            )
            for number, name in enumerate(names)
        ]

    def count(name):
        return lent_probe.count(CALLER, Words(text=name)).count

    names = [f"post {number}" for number in range(100)]
    publish(lent_host, *posts(*names, *names[:5]))
    until(lambda: all(count(name) == 1 for name in names))
    assert count("transaction") < 100
    publish(lent_host, *posts("later 1", "poison", "later 2", "post 1"))
    until(lambda: count("later 1") == count("later 2") == 1)
    assert (count("poison"), count("post 1")) == (0, 1)


def test_requests_and_replies_are_transient_and_requests_expire_with_their_deadline(lent_probe, lent_host):
    lent_probe.kill()
    pending = lent_probe.bus.service("probe", ProbeApi).echo.start(CALLER, Words(), timeout_seconds=5.0)
    with pika.BlockingConnection(pika.URLParameters(lent_host)) as connection:
        channel = connection.channel()
        request = None
        while request is None:
            _, request, body = channel.basic_get(topology.rpc_queue("probe"), auto_ack=True)
        assert request.delivery_mode != 2
        assert 0 < int(request.expiration) <= 5000
        lent_probe.restart()
        mailbox = channel.queue_declare("", exclusive=True).method.queue
        again = pika.BasicProperties(reply_to=mailbox)
        channel.basic_publish("", topology.rpc_queue("probe"), body, again)
        _, reply, _ = next(channel.consume(mailbox, auto_ack=True, inactivity_timeout=30))
        assert reply.delivery_mode == 1
    with pytest.raises(ApiError):
        pending.result()


def test_an_event_nobody_can_read_is_quarantined_and_can_be_replayed(lent_probe, lent_host):
    with pika.BlockingConnection(pika.URLParameters(lent_host)) as connection:
        connection.channel().basic_publish("", topology.event_queue("probe"), b"{not json")
    until(lambda: len(quarantine.list_quarantined(lent_host)) == 1)
    first = quarantine.list_quarantined(lent_host)[0]
    assert (first.queue, first.body) == ("events.probe", "{not json")
    assert quarantine.replay(lent_host, first.id)
    until(lambda: [row.id for row in quarantine.list_quarantined(lent_host)] not in ([], [first.id]))


@pytest.mark.parametrize("body", [b'{"id": "\xff\xfe"}', b'{"data": ' * 100_000, b"[" * 100_000, b""])
def test_an_event_that_no_decoder_takes_does_not_end_the_service(lent_probe, lent_host, body):
    with pika.BlockingConnection(pika.URLParameters(lent_host)) as connection:
        connection.channel().basic_publish("", topology.event_queue("probe"), body)
    until(lambda: len(quarantine.list_quarantined(lent_host)) == 1)
    assert lent_probe.echo(CALLER, Words(text="alive")).text == "alive"


def test_a_worker_loop_runs_on_its_own(probe):
    until(lambda: probe.count(CALLER, Words(text="tick")).count == 1)


def test_a_loop_whose_tick_hangs_goes_on_after_the_deadline(probe):
    until(lambda: probe.count(CALLER, Words(text="went on")).count == 1)


def test_a_loop_that_is_woken_runs_before_its_interval_ends(own_probe):
    until(lambda: own_probe.count(CALLER, Words(text="napped")).count == 1)
    own_probe.end_nap(CALLER, Nothing())
    until(lambda: own_probe.count(CALLER, Words(text="napped")).count == 2)


def test_sigterm_lets_the_running_call_answer(own_probe):
    proxy = own_probe.bus.service("probe", ProbeApi)
    pending = proxy.wait.start(CALLER, Words(text="end", seconds=1.0))
    proxy.echo(CALLER, Words())
    assert own_probe.terminate() == 0
    assert pending.result().text == "end"


def test_told_to_stop_it_takes_nothing_more_while_a_call_still_runs(own_probe, virtual_host):
    """Under load some call always runs. A process that went on accepting calls would never end, and would be killed."""
    answers = []
    first = threading.Thread(
        target=lambda: answers.append(own_probe.wait(CALLER, Words("first", seconds=2.0)))
    )
    first.start()
    own_probe.write(CALLER, Words(text="behind it in the queue"))
    own_probe.process.terminate()
    with pika.BlockingConnection(pika.URLParameters(virtual_host)) as connection:
        channel = connection.channel()
        for queue in (topology.rpc_queue("probe"), topology.event_queue("probe")):
            while channel.queue_declare(queue, passive=True).method.consumer_count:
                assert first.is_alive()
    first.join(30)
    assert answers == [Words("first", seconds=2.0)]
    assert own_probe.terminate() == 0
