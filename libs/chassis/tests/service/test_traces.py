"""Traces and metrics from a real service (eventlet) over a real broker to a collector that receives OTLP."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from socket import create_server

import pytest
from probe.api import ProbeApi, Words

from chassis import telemetry
from chassis.config import TelemetryConfig
from chassis.telemetry import tracing
from contracts.caller import Caller
from contracts.errors import ApiError
from testkit.collector import Collector, Seen
from testkit.fixtures import RunningService

SPAN = "00f067aa0ba902b7"
CALLER = Caller(account_id="usr_1", user_id="usr_1", request_id="req_1")


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector to which the test's own process also sends."""
    with Collector() as collector:
        telemetry.start("test", TelemetryConfig(endpoint=collector.url, sampler="parentbased_always_off"))
        yield collector
        telemetry.stop(10.0)


@pytest.fixture
def probe(collector: Collector, running_service: Callable[..., RunningService]) -> RunningService:
    return running_service("probe", told(collector.url), ProbeApi)


def told(url: str) -> dict[str, str]:
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": url,
        "OTEL_TRACES_SAMPLER": "parentbased_always_off",  # only what a test asks for
        "OTEL_METRIC_EXPORT_INTERVAL": "300",
        "PYTHONUNBUFFERED": "1",
    }


def traced(number: int) -> str:
    return f"00-{number:032x}-{SPAN}-01"


def of_trace(collector: Collector, number: int) -> dict[str, Seen]:
    """Returns the received spans of a trace, by kind and name."""
    return {f"{seen.kind} {seen.name}": seen for seen in collector.spans(trace_id=f"{number:032x}")}


def test_an_event_continues_the_trace_of_the_call_that_staged_it(
    collector: Collector, probe: RunningService
) -> None:
    with tracing.request("POST", "/tell", traced(1), "req_1"):
        probe.tell(CALLER, Words(text="Corner Bakery"))
    collector.wait_for(lambda: "consumer handle probe.told" in of_trace(collector, 1))
    collector.wait_for(lambda: "client probe/tell" in of_trace(collector, 1))
    way = [("server", "POST /tell"), ("client", "probe/tell"), ("server", "probe/tell")]
    way += [
        ("producer", "send probe.told"),
        ("consumer", "handle probe.told"),
        ("client", "transaction"),
    ]
    spans, parent_id = [], SPAN
    for kind, name in way:
        found = [
            span for span in collector.spans(kind=kind, parent_id=parent_id) if span.name.startswith(name)
        ]
        assert len(found) == 1, (kind, name)
        spans += found
        parent_id = found[0].span_id
    assert {span.trace_id for span in spans} == {f"{1:032x}"}
    assert [span.service for span in spans] == ["test", "test", *["probe"] * 4]
    told, heard = spans[3:5]
    assert heard.links == ((told.trace_id, told.span_id),)
    assert heard.attributes["posthaste.service"] == "probe"


def test_calls_that_travel_in_one_frame_keep_their_own_traces(
    collector: Collector, probe: RunningService
) -> None:
    count = 24

    def call(number: int) -> None:
        with tracing.request("POST", "/echo", traced(number), f"req_{number}"):
            for _ in range(5):
                probe.pass_on(CALLER, Words(text=str(number)))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(1, count + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(1, count + 1):
        collector.wait_for(lambda number=number: len(collector.spans(trace_id=f"{number:032x}")) == 21)
        spans = {span.span_id: span for span in collector.spans(trace_id=f"{number:032x}")}
        for served in (
            span for span in spans.values() if span.name.startswith("probe/") and span.kind == "server"
        ):
            asked = spans[served.parent_id]
            assert (asked.kind, asked.name) == ("client", served.name)
            assert spans[asked.parent_id].kind == "server"


def test_lines_logged_during_a_call_name_its_request_and_trace(
    collector: Collector, running_service: Callable[..., RunningService], capfd: pytest.CaptureFixture[str]
) -> None:
    probe = running_service("probe", told(collector.url), ProbeApi)
    with pytest.raises(ApiError), tracing.request("POST", "/", traced(7), "req_7"):
        probe.break_down(Caller(account_id="usr_1", user_id="usr_1", request_id="req_7"), Words())
    assert probe.terminate() == 0
    [line] = [line for line in capfd.readouterr().out.splitlines() if "call_failed" in line]
    said = json.loads(line)
    assert (said["request_id"], said["trace_id"]) == ("req_7", f"{7:032x}")
    assert "ZeroDivisionError" in said["exception"]


def test_calls_and_events_are_counted_and_the_pools_shown(
    collector: Collector, probe: RunningService
) -> None:
    for _ in range(3):
        probe.echo(CALLER, Words())
    probe.tell(CALLER, Words(text="Corner Bakery"))

    def echoes() -> list[float]:
        points = collector.points("rpc.server.call.duration")
        return [point.value for point in points if point.attributes.get("rpc.method") == "echo"]

    collector.wait_for(lambda: echoes() == [3.0])
    collector.wait_for(lambda: collector.points("messaging.process.duration"))
    shown = {
        *(
            "db.client.connection.count",
            "db.client.connection.max",
            "posthaste.pool.used",
            "posthaste.pool.size",
        ),
        *("posthaste.outbox.age", "posthaste.outbox.waiting"),
    }
    collector.wait_for(lambda: shown <= collector.metrics().keys())
    assert collector.points("db.client.connection.max")[0].value == 16


@pytest.mark.parametrize("kind", ["closed", "silent"])
def test_a_service_works_while_its_collector_is_away(
    kind: str, running_service: Callable[..., RunningService]
) -> None:
    chosen = {"OTEL_TRACES_SAMPLER": "always_on", "OTEL_EXPORTER_OTLP_TIMEOUT": "60"}
    with closing(create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1]
        if kind == "closed":
            silent.close()
        probe = running_service("probe", told(f"http://127.0.0.1:{port}") | chosen, ProbeApi)
        slowest = 0.0
        for _ in range(400):
            began = time.monotonic()
            probe.echo(CALLER, Words())
            slowest = max(slowest, time.monotonic() - began)
        assert slowest < 30.0
        began = time.monotonic()
        assert probe.terminate() == 0
        assert time.monotonic() - began < 30.0
