"""A real Prometheus for Compose: every query of dashboards and alerts has data, and alerts begin and end.

In Prometheus' copies of our files, every length of time is a tenth (FACTOR), and the processes send their metrics as
much more often. A stand-in replaces the collector.
"""

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from container_kit import tell
from deploy_kit import wait_until
from provocations import SETTINGS, Traffic

from local.containers import images
from local.containers.compose import Composed
from local.testing.observability import FOLDER, queries_of_dashboards, rules
from local.testing.programs import program_or_skip
from local.testing.prometheus import Ask, running

FACTOR = 10
_MILLISECONDS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
#: Only failures give these data: parts of queries.
FAILURES = (
    '=~"5.."}[',
    "absent(",
    "error_type=~",
    'error!="none"',
    'attempt="later"',
    "requests_failed:rate5m",
    "posthaste_quota_refusals_total",
    "posthaste_messages_quarantined_total",
    "posthaste_messages_refused_total",
    "posthaste_credits_refunded_total",
    "posthaste_credits_clawback_total",
    "posthaste_credits_owed_total",
    "posthaste_telemetry_dropped_total",
    'outcome=~"failed|queued|unknown"',
)
#: Caused by the last test: its 10,000 requests that are no failures would hide those of the alerts' test.
UNLOGGED = "posthaste_requests_unlogged_total"
#: Ten minutes of a panel.
DATA_SECONDS = 90.0
ALERT_SECONDS = 120.0


def shortened(text: str) -> str:
    """Divides every length of time in a file of Prometheus or in a query by FACTOR."""

    def tenth(found: re.Match[str]) -> str:
        return f"{int(found[1]) * _MILLISECONDS[found[2]] // FACTOR}ms"

    return re.sub(r"\b(\d+)([smhd])\b", tenth, text)


def of_alert(expression: str) -> str:
    """Returns the part of an alert's expression that it compares with a limit. This part has a value even while the
    alert does not fire.
    """
    return re.sub(r"\s>\s[\d.]+(\s\*\s[\d.]+)?", "", expression)


def queries() -> list[str]:
    """Returns the queries of panels and rules. Leaves out the limits with which alerts compare them."""
    panels = [it.replace("$__rate_interval", "10m") for it in queries_of_dashboards()]
    return [shortened(it) for it in (*panels, *(of_alert(rule["expr"]) for rule in rules()))]


@pytest.fixture(scope="module")
def traffic(stack: Composed) -> Iterator[Traffic]:
    """The stack with a collector, and traffic on it."""
    if stack.profile != "core":
        pytest.skip("the profile core has a process for each service")
    before = stack.settings.read_text()
    images_of_gateway = stack.compose("config", "--images", "gateway").stdout.split()
    base = next(it for it in images_of_gateway if "/gateway:" in it)  # the others: of what it depends on
    images.make_collector(stack.engine, base, 120 // FACTOR)
    stack.set(
        SETTINGS
        | {
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318",
            "OTEL_METRIC_EXPORT_INTERVAL": str(15_000 // FACTOR),
            "OTEL_TRACES_SAMPLER_ARG": "1",
        }
    )
    stack.compose("up", "--detach", "collector")
    stack.up()
    with Traffic(stack, stack.receiver_host()) as traffic:
        yield traffic
    stack.settings.write_text(before)
    stack.compose("rm", "--force", "--stop", "collector")  # the next `up` brings the settings back


@pytest.fixture(scope="module")
def ask(traffic: Traffic, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    settings = (FOLDER / "prometheus.yaml").read_text()
    assert "collector:8889" in settings
    files = {
        "prometheus.yml": shortened(settings).replace("collector", traffic.stack.address("collector")),
        "rules.yaml": shortened((FOLDER / "rules.yaml").read_text()),
    }
    folder: Path = tmp_path_factory.mktemp("prometheus")
    with running(program_or_skip("prometheus", "prometheus"), folder, files) as ask:
        yield ask


def has_data(ask: Ask, query: str) -> bool:
    return any(row["value"][1] != "NaN" for row in ask("query", query=query)["result"])


def is_of_failures(query: str) -> bool:
    return any(part in query for part in FAILURES)


def without_data(ask: Ask, asked: list[str]) -> list[str]:
    """Repeats the queries until each has had data, or the time is over. Returns the queries that never had any."""
    left, end = asked, time.monotonic() + DATA_SECONDS
    while left and time.monotonic() < end:
        left = [query for query in left if not has_data(ask, query)]
        time.sleep(0.5)
    return left


def test_every_query_of_dashboards_and_alerts_has_data_but_those_of_failures(ask: Ask) -> None:
    usual = [query for query in queries() if not is_of_failures(query) and UNLOGGED not in query]
    assert len(usual) > 40
    assert without_data(ask, usual) == []


def test_a_failure_gives_data_to_each_query_that_has_none_without(ask: Ask, traffic: Traffic) -> None:
    left = [query for query in queries() if is_of_failures(query) and "absent(" not in query]
    assert len(left) > 10

    def cause(*failures: Callable[[], None]) -> None:
        for failure in failures:
            failure()

    with ThreadPoolExecutor() as pool:
        causes = (
            pool.submit(cause, traffic.fail_deliveries),
            pool.submit(
                cause,
                traffic.fail_posts,
                traffic.send_garbage,
                traffic.give_and_take_back_credits,
                traffic.lose_a_database,
                traffic.lose_traces,
                traffic.use_up_limits,
            ),
        )
        # Asked meanwhile: a minute later the percentiles of what has been repeated have no value again.
        while not all(it.done() for it in causes):
            left = [query for query in left if not has_data(ask, query)]
            time.sleep(0.5)
    for it in causes:
        it.result()
    assert without_data(ask, left) == []


def firing(ask: Ask) -> set[tuple[str, str]]:
    """Returns the name and the service of each alert that is firing."""
    return {
        (it["labels"]["alertname"], it["labels"].get("posthaste_service", ""))
        for it in ask("alerts")["alerts"]
        if it["state"] == "firing"
    }


def test_the_alerts_of_a_service_that_is_away_begin_and_end(ask: Ask, traffic: Traffic) -> None:
    expected = {("ServiceIsAway", "quota"), ("ErrorBudgetBurnsFast", "")}
    wait_until(lambda: not firing(ask) & expected, "the alerts are silent", ALERT_SECONDS)
    with traffic.without("quota"):
        begun_at = time.monotonic()
        wait_until(lambda: firing(ask) >= expected, f"{expected} are firing", ALERT_SECONDS)
        tell(f"firing after {time.monotonic() - begun_at:.0f} s: {sorted(firing(ask))}")
    ended_at = time.monotonic()
    wait_until(lambda: not firing(ask) & expected, f"{expected} have ended", ALERT_SECONDS)
    tell(f"ended after {time.monotonic() - ended_at:.0f} s")


def test_an_alert_fires_while_nothing_is_measured(ask: Ask, traffic: Traffic) -> None:
    [query] = [query for query in queries() if query.startswith("absent(")]
    assert not has_data(ask, query)
    with traffic.without("collector"):
        wait_until(lambda: has_data(ask, query), "nothing is measured", ALERT_SECONDS)
        fires = {("NothingIsMeasured", "")}
        wait_until(lambda: firing(ask) >= fires, f"{fires} are firing", ALERT_SECONDS)
    wait_until(lambda: not firing(ask) & fires, f"{fires} have ended", ALERT_SECONDS)


def test_requests_that_the_log_has_no_room_for_are_counted(ask: Ask, traffic: Traffic) -> None:
    [query] = [query for query in queries() if UNLOGGED in query]
    traffic.overflow_the_request_log(lambda: has_data(ask, query))
