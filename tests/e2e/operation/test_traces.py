"""Tests the traces and metrics of a whole stack, as a collector receives them: the trace of one post from its request
to its webhook, and every metric that dashboards and alerts use.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pika
import pytest
from e2e_kit.api import Json
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.posting import await_post, schedule
from e2e_kit.private import private_stack
from e2e_kit.receiver import Receiver, subscribe
from e2e_kit.simulator import Simulator
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

from local.testing.observability import all_queries, labels_in, series_in
from local.testing.prometheus_names import prometheus_names
from testkit.collector import Collector, Seen

#: Spans are dropped when the collector is away (libs/chassis, test_telemetry).
NOT_IN_A_GOOD_RUN = {"posthaste_telemetry_dropped_total", "posthaste_requests_unlogged_total"}
WORDS = "Fresh bread at eight, and nobody else's business"
SPAN = "00f067aa0ba902b7"
JOURNEY_SECONDS = 30.0
#: Longest time from the request for a video to its event, on a busy machine.
FILM_SECONDS = 60.0


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


@pytest.fixture(scope="module")
def stack(collector: Collector) -> Iterator[Stack]:
    """A stack that records only the traces that a test has started."""
    told = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_TRACES_SAMPLER": "parentbased_always_off",
        "OTEL_METRIC_EXPORT_INTERVAL": "500",
    }
    with private_stack(Path(os.environ["TEST_RUN_DIR"]) / "traces", told, payments=True) as stack:
        yield stack


@pytest.fixture(scope="module")
def operator(stack: Stack) -> Iterator[Operator]:
    operator = Operator(stack)
    yield operator
    operator.close()


@pytest.fixture(scope="module")
def simulator(stack: Stack) -> Iterator[Simulator]:
    simulator = Simulator(stack.env["SIMULATOR_URL"])
    yield simulator
    simulator.close()


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


class Journey:
    """The spans of one trace, followed from parent to child."""

    def __init__(self, collector: Collector, trace_id: str) -> None:
        self.spans = collector.spans(trace_id=trace_id)

    def below(self, parent: Seen | None, kind: str, name: str) -> Seen:
        """Returns the only child of this kind whose name begins with `name`. Raises AssertionError with all spans if
        there is not exactly one.
        """
        parent_id = parent.span_id if parent is not None else SPAN
        found = [
            s for s in self.spans if s.parent_id == parent_id and s.kind == kind and s.name.startswith(name)
        ]
        assert len(found) == 1, f"{kind} {name}: {len(found)} of\n" + "\n".join(
            f"{s.kind} {s.service} {s.name} {s.span_id} < {s.parent_id}" for s in self.spans
        )
        return found[0]


def test_one_trace_leads_from_the_request_to_the_webhook_of_a_scheduled_post(
    account: Account, operator: Operator, collector: Collector, receiver: Receiver
) -> None:
    path, trace_id, request_id = f"/{uuid.uuid4().hex}", uuid.uuid4().hex, uuid.uuid4().hex
    secret = subscribe(account, receiver.url(path), "post.published")["secret"]
    account.api.session.headers.update(
        {"traceparent": f"00-{trace_id}-{SPAN}-01", "X-Request-Id": request_id}
    )
    post = schedule(account, message=WORDS)
    del account.api.session.headers["traceparent"]
    operator("post", "due", post["id"])
    await_post(account.api, post["id"], status="published")
    [arrival] = receiver.await_arrivals(path, 1)
    assert arrival.verified(secret).data["post"]["id"] == post["id"]
    assert "traceparent" not in arrival.headers
    ends = {
        ("server", "POST /api/v1/posts/schedule"),
        ("server", "quota/admit_all"),
        ("producer", "send post.published"),
        ("consumer", "deliver webhook"),
    }
    collector.wait_for(
        lambda: ends <= {(span.kind, span.name) for span in collector.spans(trace_id=trace_id)},
        JOURNEY_SECONDS,
    )

    journey = Journey(collector, trace_id)
    request = journey.below(None, "server", "POST /api/v1/posts/schedule")
    asked = journey.below(request, "client", "publishing/schedule_post")
    served = journey.below(asked, "server", "publishing/schedule_post")
    assert any(
        s.kind == "client" and s.parent_id == served.span_id and "publishing" in s.name for s in journey.spans
    )
    sent = journey.below(served, "consumer", "publish post")
    journey.below(sent, "client", "POST 127.0.0.1")
    told = journey.below(sent, "producer", "send post.published")
    heard = journey.below(told, "consumer", "handle post.published")
    attempt = journey.below(heard, "consumer", "deliver webhook")
    journey.below(attempt, "client", "POST 127.0.0.1")
    journey.below(journey.below(request, "client", "quota/admit_all"), "server", "quota/admit_all")

    assert [span.service for span in (request, served, sent, told, heard, attempt)] == [
        *("gateway", "publishing", "publishing", "publishing", "webhooks", "webhooks")
    ]
    for later, cause in ((sent, served), (heard, told), (attempt, heard)):
        assert (cause.trace_id, cause.span_id) in later.links
    assert (
        request.attributes["posthaste.request_id"] == served.attributes["posthaste.request_id"] == request_id
    )
    accounts = {s.attributes["posthaste.account"] for s in (request, served, sent, attempt)}
    assert len(accounts) == 1
    assert served.attributes["posthaste.operation_id"] == request.attributes["posthaste.operation_id"]
    assert not any(s.has_failed for s in journey.spans)
    everything = str([(s.name, s.attributes) for s in journey.spans])
    token = account.api.token
    assert token is not None
    for private in (WORDS, token, secret, account.user_id, account.email, path):
        assert private not in everything


def test_one_trace_leads_from_the_request_for_a_video_to_the_webhook_that_tells_of_it(
    account: Account, collector: Collector, receiver: Receiver
) -> None:
    path, trace_id = f"/{uuid.uuid4().hex}", uuid.uuid4().hex
    subscribe(account, receiver.url(path), "ai.job.completed")
    headers = {"traceparent": f"00-{trace_id}-{SPAN}-01"}
    answer = account.api.call("POST", "/ai/videos", json={"prompt": WORDS}, headers=headers)
    assert answer.status_code == 202
    receiver.await_arrivals(path, 1, FILM_SECONDS)

    def is_whole() -> bool:
        """The span that stages the event ends when the delivery may already have begun. So it can arrive last."""
        spans = collector.spans(trace_id=trace_id)
        causes = {s.parent_id for s in spans if s.name == "send ai.job.completed"}
        ends = {"POST /api/v1/ai/videos", "deliver webhook"}
        return ends <= {s.name for s in spans} and bool(causes) and causes <= {s.span_id for s in spans}

    collector.wait_for(is_whole, JOURNEY_SECONDS)

    journey = Journey(collector, trace_id)
    request = journey.below(None, "server", "POST /api/v1/ai/videos")
    served = journey.below(
        journey.below(request, "client", "ai/generate_video"), "server", "ai/generate_video"
    )
    steps = [s for s in journey.spans if s.name == "make video"]
    assert len(steps) >= 2
    for step in steps:  # started by a worker loop, which runs every few seconds
        assert (step.parent_id, step.links) == (served.span_id, ((trace_id, served.span_id),))
        assert step.attributes["posthaste.job_id"] == answer.json()["job"]["job_id"]
    calls = [s for s in journey.spans if s.name in ("POST 127.0.0.1", "GET 127.0.0.1") and s.service == "ai"]
    assert {s.parent_id for s in calls} <= {s.span_id for s in steps}
    assert len(calls) >= 3
    told = next(s for s in journey.spans if s.name == "send ai.job.completed")
    assert told.parent_id in {s.span_id for s in steps}
    attempt = journey.below(journey.below(told, "consumer", "handle ai.job.completed"), "consumer", "deliver")
    journey.below(attempt, "client", "POST 127.0.0.1")


def test_lines_of_the_log_name_the_request_and_its_trace(
    account: Account, stack: Stack, collector: Collector
) -> None:
    trace_id, request_id = uuid.uuid4().hex, uuid.uuid4().hex
    headers = {"traceparent": f"00-{trace_id}-{SPAN}-01", "X-Request-Id": request_id}
    account.api.call("DELETE", "/posts/scheduled/pst_unknown", headers=headers)

    def look() -> str:
        lines = (stack.run / "logs" / "gateway.log").read_text().splitlines()
        return next((line for line in lines if request_id in line), "")

    assert f'"trace_id": "{trace_id}"' in until(look, 30)


def test_a_request_that_nobody_wants_recorded_leaves_no_span(account: Account, collector: Collector) -> None:
    trace_id = uuid.uuid4().hex
    for flags in ("00", "02"):
        account.api.call("GET", "/me", headers={"traceparent": f"00-{trace_id}-{SPAN}-{flags}"})
    asked = uuid.uuid4().hex
    account.api.call("GET", "/me", headers={"traceparent": f"00-{asked}-{SPAN}-01"})
    collector.wait_for(lambda: collector.spans(trace_id=asked, kind="server", service="gateway"))
    assert collector.spans(trace_id=trace_id) == []


def refund_a_spent_pack(account: Account, simulator: Simulator) -> None:
    """Sells a pack of credits and refunds it after some are spent. The rest is taken back, and the account owes the
    spent ones.
    """
    payment = {"payment_intent": f"pi_{uuid.uuid4().hex}", "currency": "usd"}
    sold = {
        "id": f"cs_{uuid.uuid4().hex}", "payment_status": "paid", "client_reference_id": account.user_id,
        "metadata": {"credits": "500"}, "amount_total": 900, **payment,
    }  # fmt: skip
    refunded = {"id": "ch_1", "amount": 900, "amount_captured": 900, "amount_refunded": 900, **payment}

    def tell(kind: str, thing: Json) -> None:
        told = [simulator.tell_payment(kind, thing)]
        until(lambda: simulator.delivered(told), 30, kind)

    tell("checkout.session.completed", sold)
    for _ in range(4):  # the plan has 30 credits, an image costs 10
        account.api.post("/ai/images", {"prompt": "A loaf"})
    tell("charge.refunded", refunded)
    assert account.api.get("/account/credits")["credits"]["owed"] > 0


@pytest.fixture(scope="module")
def exercised(
    accounts: Accounts, operator: Operator, simulator: Simulator, receiver: Receiver, stack: Stack
) -> None:
    """Causes every event that is counted by a metric."""
    account = accounts.new(pages=("FB",))
    subscribe(account, receiver.url("/metrics"), "post.published")
    operator("post", "due", schedule(account, message=WORDS)["id"])
    receiver.await_arrivals("/metrics", 1)
    account.api.post("/ai/captions", {"instruction": "Fresh bread", "brand_id": account.brand_id}, 200)
    simulator.fault_of_provider("gemini", "image", "reject")
    account.api.call("POST", "/ai/images", json={"prompt": "A loaf"})  # refused: its credits are refunded
    simulator.clear_faults()
    refund_a_spent_pack(accounts.new(tier="free", pages=()), simulator)
    free = accounts.new(tier="free", pages=())
    until(lambda: free.api.call("GET", "/me").status_code == 429, 20, "a minute's requests are used up")
    with pika.BlockingConnection(pika.URLParameters(stack.env["AMQP_ADMIN_URL"])) as connection:
        channel = connection.channel()
        channel.basic_publish("", "events.webhooks", b"nobody can read this")
        unsigned = pika.BasicProperties(reply_to="nowhere")
        frame = b'{"steady": 1, "connection": "c", "number": 1, "calls": []}'
        channel.basic_publish("", "rpc.quota", frame, unsigned)


@pytest.mark.usefixtures("exercised")
def test_every_metric_that_a_dashboard_or_an_alert_names_is_exported(collector: Collector) -> None:
    named = series_in(all_queries()) - NOT_IN_A_GOOD_RUN
    assert len(named) > 20

    def missing() -> set[str]:
        came = collector.metrics().items()
        return named - {
            name for metric, (kind, unit) in came for name in prometheus_names(metric, kind, unit)
        }

    with suppress(AssertionError):
        until(lambda: not missing(), 30)
    assert missing() == set()


@pytest.mark.usefixtures("exercised")
def test_every_label_that_a_dashboard_or_an_alert_asks_for_is_an_attribute(collector: Collector) -> None:
    """Two labels are no attributes: `le` is the bucket of a histogram, `instance` the exporting process."""
    asked = labels_in(all_queries()) - {"le", "instance"}
    assert len(asked) > 10

    def missing() -> set[str]:
        points = [point for metric in collector.metrics() for point in collector.points(metric)]
        return asked - {name.replace(".", "_") for point in points for name in point.attributes}

    with suppress(AssertionError):
        until(lambda: not missing(), 30)
    assert missing() == set()


@pytest.mark.usefixtures("exercised")
def test_attributes_of_metrics_are_few_and_name_nobody(collector: Collector) -> None:
    def values() -> dict[str, set[Any]]:
        found: dict[str, set[Any]] = {}
        for metric in collector.metrics():
            for point in collector.points(metric):
                for name, value in point.attributes.items():
                    found.setdefault(name, set()).add(value)
        return found

    collector.wait_for(lambda: collector.points("posthaste.credits.refunded"))
    found = values()
    ids = ("usr_", "brd_", "pag_", "pst_", "tok_", "whk_", "evt_", "dlv_", "med_", "job_", "@")
    assert not [v for shown in found.values() for v in shown if any(mark in str(v) for mark in ids)]
    assert (
        max((len(shown), name) for name, shown in found.items() if name not in ("http.route", "rpc.method"))[
            0
        ]
        < 20
    )
    spent = {p.attributes["action"] for p in collector.points("posthaste.credits.spent")}
    assert spent >= {"caption", "image"}
