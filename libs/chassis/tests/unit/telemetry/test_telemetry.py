"""Traces and metrics in one process: what is recorded, what is not, and what it costs when the collector cannot be
reached.
"""

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from socket import create_server

import pytest

from chassis import telemetry
from chassis.config import ConfigError, TelemetryConfig
from chassis.telemetry import metrics, tracing
from chassis.telemetry.sampling import sampler_of
from chassis.telemetry.spans import account_hash, parse, site_of
from contracts.caller import Caller
from contracts.errors import NOT_FOUND, SERVICE_UNAVAILABLE, ApiError
from contracts.events import Event
from testkit.collector import Collector

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-00"
CALLER = Caller(account_id="usr_1", user_id="usr_2", request_id="req_1", operation_id="op_1")


@dataclass
class Waiting:
    cause: str


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


@pytest.fixture
def started() -> Iterator[Callable[..., None]]:
    def start(url: str, **settings: object) -> None:
        chosen = {"sampler": "parentbased_always_on", "metric_interval_seconds": 0.2, **settings}
        telemetry.start("test", TelemetryConfig(endpoint=url, **chosen))  # type: ignore[arg-type]

    yield start
    telemetry.stop(10.0)


@pytest.mark.parametrize("module", ["chassis.run", "gateway.app", "publishing.service", "webhooks.service"])
def test_off_means_that_opentelemetry_is_not_even_imported(module: str) -> None:
    patch = "import gateway.app" if module == "gateway.app" else f"import chassis.run, {module}"
    code = f"{patch}\nimport sys\nprint([it for it in sys.modules if it.startswith('opentelemetry')])"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "[]\n", done.stderr


def test_off_the_hooks_do_nothing() -> None:
    with tracing.request("GET", "/", SAMPLED, "req_1") as traced:
        traced.answered(200, CALLER)
        assert (tracing.traceparent(), tracing.calling("quota", "admit")) == ("", (None, ""))
    metrics.QUARANTINED.add(1)
    assert tracing.sending("post.published", None, None) is None  # type: ignore[arg-type]


def test_a_received_header_is_passed_on_while_tracing_is_off() -> None:
    assert tracing.sending("post.published", SAMPLED, None) == {"traceparent": SAMPLED}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        *("", "garbage", SAMPLED.upper(), SAMPLED[:-1], SAMPLED + "-more", "ff" + SAMPLED[2:]),
        *(f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01", SAMPLED + "\n", "٠٠" + SAMPLED[2:]),
    ],
)
def test_a_malformed_traceparent_is_none(text: str) -> None:
    assert parse(text) is None


def test_a_later_version_of_the_header_is_read_as_far_as_it_is_known() -> None:
    found = parse("cc" + SAMPLED[2:] + "-what-comes")
    assert found is not None
    assert (f"{found.trace_id:032x}", f"{found.span_id:016x}", found.trace_flags) == (TRACE, SPAN, 1)


def test_a_request_goes_on_with_the_trace_it_came_with(
    collector: Collector, started: Callable[..., None]
) -> None:
    started(collector.url)
    with tracing.request("POST", "/api/v1/posts/schedule", SAMPLED, "req_1") as traced:
        span, traceparent = tracing.calling("publishing", "schedule_post")
        assert span is not None
        with (
            tracing.serving("publishing", "schedule_post", CALLER, traceparent),
            tracing.in_database("p", "statement"),
        ):
            pass
        tracing.called(span, None)
        traced.answered(201, CALLER)
    telemetry.stop()
    by_kind = {seen.kind + seen.name: seen for seen in collector.spans()}
    request = by_kind["serverPOST /api/v1/posts/schedule"]
    call, work = by_kind["clientpublishing/schedule_post"], by_kind["serverpublishing/schedule_post"]
    assert {seen.trace_id for seen in by_kind.values()} == {TRACE}
    assert [seen.parent_id for seen in (request, call, work, by_kind["clientstatement p"])] == [
        *(SPAN, request.span_id, call.span_id, work.span_id)
    ]
    about = {
        "posthaste.request_id": "req_1", "posthaste.operation_id": "op_1",
        "posthaste.account": account_hash("usr_1"),
    }  # fmt: skip
    for seen in (request, work):
        assert about.items() <= seen.attributes.items()
    assert request.attributes["http.response.status_code"] == 201
    assert not any("usr_" in str(value) for seen in by_kind.values() for value in seen.attributes.values())


def test_a_call_whose_caller_is_not_recorded_is_not_recorded_but_logged_with_its_trace(
    collector: Collector, started: Callable[..., None]
) -> None:
    started(collector.url)
    with tracing.request("GET", "/", UNSAMPLED, "req_1") as traced:
        assert tracing.calling("quota", "admit") == (None, UNSAMPLED)
        assert tracing.add_ids(None, "", {})["trace_id"] == TRACE
        traced.answered(200, CALLER)
    telemetry.stop()
    assert collector.spans() == []
    assert collector.points("http.server.request.duration")[0].value == 1


@pytest.mark.parametrize(
    "header", ["' OR true -00", f"00-{TRACE}-{'0' * 16}-00", "cc" + UNSAMPLED[2:], SAMPLED[:-1] + "3"]
)
def test_a_clients_header_is_passed_on_only_in_its_known_form(
    header: str, collector: Collector, started: Callable[..., None]
) -> None:
    started(collector.url)
    with tracing.request("GET", "/", header, "req_1"):
        passed_on = tracing.traceparent()
    assert re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]", passed_on)
    assert (TRACE in passed_on) == (parse(header) is not None)


def test_a_ratio_records_about_that_part_of_what_begins_here(
    collector: Collector, started: Callable[..., None]
) -> None:
    started(collector.url, sampler="parentbased_traceidratio", sampler_ratio=0.1)
    for _ in range(1000):
        with tracing.request("GET", "/", "", "req_1") as traced:
            traced.answered(200, CALLER)
    telemetry.stop()
    assert 50 < len(collector.spans()) < 160  # 1 in 10^7 runs would be outside


def test_a_batch_of_events_is_linked_to_the_cause_of_each(
    collector: Collector, started: Callable[..., None]
) -> None:
    started(collector.url)
    causes = [f"00-{n:032x}-{n:016x}-01" for n in (1, 2)]
    events = [_event(n) for n in (1, 2)]
    with tracing.handling("webhooks", events, causes):
        assert [tracing.cause_of(event.id) for event in events] == causes
    with tracing.handling("webhooks", events[:1], causes[:1]):
        assert tracing.cause_of("evt_1") == tracing.traceparent() != causes[0]
    assert tracing.cause_of("evt_1") is None
    telemetry.stop()
    both, one = collector.spans()
    assert both.links == tuple((f"{n:032x}", f"{n:016x}") for n in (1, 2))
    assert one.links == ((f"{1:032x}", f"{1:016x}"),)
    assert (one.trace_id, one.parent_id) == one.links[0]


def test_work_for_several_requests_is_linked_to_each_recorded_one(
    collector: Collector, started: Callable[..., None]
) -> None:
    started(collector.url)
    recorded = [f"00-{n:032x}-{SPAN}-01" for n in (1, 2)]
    for causes in ([UNSAMPLED, *recorded], [UNSAMPLED, recorded[1]], [UNSAMPLED], [""]):
        with tracing.on_behalf([Waiting(cause) for cause in causes]):
            span, _ = tracing.calling("quota", "admit_all")
        if span is not None:
            tracing.called(span, None)
    telemetry.stop()
    [together] = collector.spans(name="together")
    assert (together.trace_id, together.parent_id) == (f"{1:032x}", SPAN)
    assert together.links == tuple((f"{n:032x}", SPAN) for n in (1, 2))
    calls = collector.spans(name="quota/admit_all")
    assert [(call.trace_id, call.parent_id) for call in calls] == [
        (f"{1:032x}", together.span_id), (f"{2:032x}", SPAN),
    ]  # fmt: skip


def test_work_on_a_row_goes_on_with_its_trace_and_is_linked_to_it(
    collector: Collector, started: Callable[..., None]
) -> None:
    started(collector.url)
    row = ("publish post", SAMPLED, "publishing", "usr_1")
    with (
        tracing.working(*row, post_id="pst_1", attempt=2),
        tracing.outbound("POST", "graph.facebook.com") as traced,
    ):
        traced.got(200)
    with tracing.working("publish post", None, "publishing"):
        pass
    telemetry.stop()
    call, work, untraced = collector.spans()
    assert (work.trace_id, work.parent_id, work.links) == (TRACE, SPAN, ((TRACE, SPAN),))
    assert work.attributes == {
        "posthaste.service": "publishing", "posthaste.post_id": "pst_1", "posthaste.attempt": 2,
        "posthaste.account": account_hash("usr_1"),
    }  # fmt: skip
    assert (call.parent_id, call.name) == (work.span_id, "POST graph.facebook.com")
    assert (untraced.parent_id, untraced.links) == ("", ())
    assert untraced.trace_id != TRACE


def test_a_refusal_is_an_answer_and_an_outage_an_error(
    collector: Collector, started: Callable[..., None]
) -> None:
    started(collector.url)
    for row in (NOT_FOUND, SERVICE_UNAVAILABLE):
        with pytest.raises(ApiError), tracing.serving("media", "get_media", CALLER, SAMPLED):
            raise ApiError(row, "a message with somebody's words")
    with pytest.raises(ZeroDivisionError), tracing.serving("media", "get_media", CALLER, SAMPLED):
        raise ZeroDivisionError("somebody's words")
    telemetry.stop()
    assert [(seen.attributes["error.type"], seen.has_failed) for seen in collector.spans()] == [
        ("NOT_FOUND", False), ("SERVICE_UNAVAILABLE", True), ("ZeroDivisionError", True),
    ]  # fmt: skip
    assert "somebody" not in str(collector.spans())
    found = {point.attributes["error.type"] for point in collector.points("rpc.server.call.duration")}
    assert found == {"NOT_FOUND", "SERVICE_UNAVAILABLE", "ZeroDivisionError"}


def test_hosts_of_a_platform_count_as_one() -> None:
    assert [
        site_of(host) for host in ("open-upload-i18n.tiktokapis.com", "localhost", "127.0.0.1", "::1")
    ] == [*("tiktokapis.com", "localhost", "127.0.0.1", "::1")]


@pytest.mark.parametrize(
    ("name", "ratio", "kept"),
    [
        ("parentbased_traceidratio", 0.0, {"sampled": True, "not": False, "none": False}),
        ("parentbased_always_on", 0.0, {"sampled": True, "not": False, "none": True}),
        ("parentbased_always_off", 1.0, {"sampled": True, "not": False, "none": False}),
        ("traceidratio", 1.0, {"sampled": True, "not": True, "none": True}),
        ("always_on", 0.0, {"sampled": True, "not": True, "none": True}),
        ("always_off", 1.0, {"sampled": False, "not": False, "none": False}),
    ],
)
def test_a_sampler_does_what_its_name_says(
    name: str, ratio: float, kept: dict[str, bool], collector: Collector, started: Callable[..., None]
) -> None:
    causes = {"sampled": SAMPLED, "not": f"00-{TRACE}-{'1' * 16}-00", "none": ""}
    started(collector.url, sampler=name, sampler_ratio=ratio)
    for which, cause in causes.items():
        with tracing.request("GET", f"/{which}", cause, "req_1"):
            pass
    telemetry.stop(10.0)
    recorded = {seen.name for seen in collector.spans()}
    assert {which: f"GET /{which}" in recorded for which in causes} == kept


def test_every_process_decides_alike_on_a_trace_by_its_ids_lower_half(
    collector: Collector, started: Callable[..., None]
) -> None:
    started(collector.url, sampler="traceidratio", sampler_ratio=0.5)
    for low in (0, 2**63 - 1, 2**63, 2**64 - 1):
        with tracing.request("GET", f"/{low}", f"00-{(7 << 64) + low:032x}-{SPAN}-00", "req_1"):
            pass
    telemetry.stop(10.0)
    assert [seen.name for seen in collector.spans()] == ["GET /0", f"GET /{2**63 - 1}"]


def test_an_unknown_sampler_is_a_wrong_setting() -> None:
    with pytest.raises(ConfigError, match="OTEL_TRACES_SAMPLER"):
        sampler_of("sometimes", 0.5)


@pytest.mark.parametrize("ratio", [10.0, -0.1, float("nan")])
def test_a_ratio_that_is_no_part_of_the_whole_is_a_wrong_setting(ratio: float) -> None:
    with pytest.raises(ConfigError, match="OTEL_TRACES_SAMPLER_ARG"):
        sampler_of("parentbased_traceidratio", ratio)


def test_a_gauge_that_cannot_be_read_hides_no_other(
    collector: Collector, started: Callable[..., None]
) -> None:
    def broken() -> list[metrics.Reading]:
        raise ApiError(SERVICE_UNAVAILABLE)

    gauge = metrics.Gauge("test.gauge", "s", "For this test.")
    try:
        gauge.watch(broken)
        gauge.watch(lambda: [(4.0, {"pool": "one"})])
        started(collector.url)
        telemetry.stop()
        assert [(point.value, point.attributes) for point in collector.points("test.gauge")] == [
            (4.0, {"pool": "one"})
        ]
    finally:
        del metrics.DECLARED["test.gauge"]


@pytest.mark.parametrize("kind", ["closed", "silent", "refusing"])
def test_an_absent_collector_delays_no_request_and_costs_bounded_memory(
    kind: str, collector: Collector, started: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from chassis.telemetry import exporting

    monkeypatch.setattr(exporting, "_MAX_WAITING", 100)
    monkeypatch.setattr(exporting, "_INTERVAL_SECONDS", 0.01)
    with closing(create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1]
        if kind == "closed":
            silent.close()
        collector.status = 503
        started(collector.url if kind == "refusing" else f"http://127.0.0.1:{port}", timeout_seconds=60.0)
        began = time.monotonic()
        for _ in range(1000):
            with tracing.request("GET", "/", SAMPLED, "req_1") as traced:
                traced.answered(200, CALLER)
        assert time.monotonic() - began < 30.0
        running = telemetry._running
        assert running is not None
        assert len(running._waiting) <= 100
        assert sum(metrics.DROPPED_SPANS.sums.values()) >= 800  # all but those that wait and those being sent
        began = time.monotonic()
        telemetry.stop(0.5)
        assert time.monotonic() - began < 30.0


def test_nothing_is_retried_after_the_stop(
    collector: Collector, started: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from chassis.telemetry import exporting

    monkeypatch.setattr(exporting, "_INTERVAL_SECONDS", 0.01)
    collector.status = 503
    started(collector.url, timeout_seconds=300.0)
    with tracing.request("GET", "/", SAMPLED, "req_1") as traced:
        traced.answered(200, CALLER)
    running = telemetry._running
    assert running is not None
    telemetry.stop(0.1)
    assert running._ended.wait(30.0)


def test_sending_begins_again_when_the_collector_is_back(
    collector: Collector, started: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from chassis.telemetry import exporting

    monkeypatch.setattr(exporting, "_INTERVAL_SECONDS", 0.01)
    monkeypatch.setattr(exporting, "_PAUSE_SECONDS", 0.05)
    collector.status = 400
    started(collector.url)
    with tracing.request("GET", "/lost", SAMPLED, "req_1"):
        pass
    running = telemetry._running
    assert running is not None
    collector.wait_for(lambda: running._fails)
    collector.status = 200
    with tracing.request("GET", "/kept", SAMPLED, "req_1"):
        pass
    collector.wait_for(lambda: collector.spans(name="GET /kept"))
    lost = collector.wait_for(lambda: collector.points("posthaste.telemetry.dropped"))
    assert lost[0].value >= 1


def test_threads_do_not_see_each_others_trace(collector: Collector, started: Callable[..., None]) -> None:
    started(collector.url)
    barrier, wrong = threading.Barrier(8), []

    def work(number: int) -> None:
        cause = f"00-{number + 1:032x}-{SPAN}-01"
        with tracing.request("GET", "/", cause, "req_1"):
            barrier.wait(30)
            if tracing.traceparent().split("-")[1] != f"{number + 1:032x}":
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def _event(number: int) -> Event:
    return Event(id=f"evt_{number}", event="post.published", created_at=datetime.now(UTC), account_id="usr_1")
