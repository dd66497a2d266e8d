"""Each alert, checked by promtool with sample data: it fires when it should, and not otherwise.

A case names the alert, the situation, the series (in promtool's notation, with one value a minute), the minute of the
check, and the labels of each alert that must be firing then, without the severity. The figures are those of the goals
in docs/observability.md.
"""

import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from contracts.services import SERVICES
from local.testing.observability import FOLDER, rules

ALERTS = {rule["alert"]: rule for rule in rules() if "alert" in rule}
HOUR = 60

Labels = dict[str, str]


class Case(NamedTuple):
    alert: str
    seen: str
    series: dict[str, str]
    after_minutes: int
    firing: tuple[Labels, ...] = ()


def steady(value: float, minutes: int = 2 * HOUR) -> str:
    return f"{value}x{minutes}"


def growing(a_minute: float, minutes: int = 2 * HOUR) -> str:
    return f"0+{a_minute}x{minutes}"


def requests(failed: str, answered: str) -> dict[str, str]:
    name = "http_server_request_duration_seconds_count"
    routes = 'http_route="/api/v1/me", http_request_method="GET"'
    return {
        f'{name}{{{routes}, http_response_status_code="503"}}': failed,
        f'{name}{{{routes}, http_response_status_code="200"}}': answered,
    }


def waits(name: str, up_to: dict[str, float], labels: str = "") -> dict[str, str]:
    """Returns the series of a histogram. `up_to` maps each bucket to its growth per minute."""
    return {f'{name}_bucket{{{labels}le="{le}"}}': growing(count) for le, count in up_to.items()}


def late(**up_to: float) -> dict[str, str]:
    return waits("posthaste_publish_lateness_seconds", {"0.5": 0, **up_to}, 'platform="FB", ')


def lag(attempt: str, up_to: dict[str, float]) -> dict[str, str]:
    return waits("posthaste_webhook_lag_seconds", up_to, f'attempt="{attempt}", ')


def attempts(platform: str, **a_minute: float) -> dict[str, str]:
    name = "posthaste_publish_attempts_total"
    return {
        f'{name}{{platform="{platform}", outcome="{outcome}"}}': growing(count)
        for outcome, count in a_minute.items()
    }


QUARANTINED = (
    'posthaste_messages_quarantined_total{messaging_destination_name="events.webhooks", instance="a"}'
)
REFUSED = (
    'posthaste_messages_refused_total{kind="call", sender="quota", reason="not its method", instance="a"}'
)
NOT_LET_IN: Labels = {"kind": "call", "sender": "quota", "reason": "not its method"}
SET_ASIDE: Labels = {"messaging_destination_name": "events.webhooks"}
USED = 'db_client_connection_count{posthaste_service="quota", instance="a", state="used"}'
IDLE = 'db_client_connection_count{posthaste_service="quota", instance="a", state="idle"}'
MAX = 'db_client_connection_max{posthaste_service="quota", instance="a"}'
LANES = 'posthaste_service="publishing", pool="lanes", instance="a"'
OUTBOX = 'posthaste_outbox_age_seconds{posthaste_service="quota"'
DISPUTED: Labels = {"reason": "dispute"}
DROPPED = 'posthaste_telemetry_dropped_total{instance="a"}'
PUBLISHING, WEBHOOKS = "posthaste_publish_backlog", "posthaste_webhook_backlog"
UNITS = ("gateway", *SERVICES)


def credits_gone(counter: str) -> str:
    return f'posthaste_credits_{counter}_total{{reason="dispute", instance="a"}}'


def pools(*services: str, instance: str = "a", values: str = "16x120") -> dict[str, str]:
    """Returns the metric of the maximum of database connections for a process of each service, in promtool's
    notation.
    """
    name = "db_client_connection_max"
    return {f'{name}{{posthaste_service="{it}", instance="{instance}"}}': values for it in services}


CASES = (
    Case("ErrorBudgetBurnsFast", "2 % fail", requests(growing(2), growing(98)), 70, ({},)),
    Case("ErrorBudgetBurnsFast", "1 % fails", requests(growing(1), growing(99)), 70),
    Case("ErrorBudgetBurnsFast", "nothing fails", requests("_x120", growing(98)), 70),
    Case("ErrorBudgetBurnsFast", "nobody asks", requests(steady(5), steady(95)), 70),
    Case("ErrorBudgetBurnsFast", "it is over", requests("0+9x60 540x60", growing(91)), 70),
    Case("ErrorBudgetBurnsFast", "it has just begun", requests("0x118 0 9 18", growing(1)), 119),
    Case("ErrorBudgetBurnsSlowly", "0.2 % fail", requests(growing(2), growing(998)), 90, ({},)),
    Case("ErrorBudgetBurnsSlowly", "0.05 % fail", requests(growing(1), growing(1_999)), 90),
    Case("ErrorBudgetBurnsSlowly", "it has been over for seven hours",
         requests(f"0+9x{HOUR} {9 * HOUR}x{7 * HOUR}", growing(991, 8 * HOUR)), 8 * HOUR),
    Case("PostsAreLate", "one in twenty", late(**{"1": 95, "2": 100, "+Inf": 100}), 20, ({},)),
    Case("PostsAreLate", "all within the second", late(**{"1": 100, "2": 100, "+Inf": 100}), 20),
    Case("PostsAreLate", "no post", late(**{"1": 0, "2": 0, "+Inf": 0}), 20),
    Case("DuePostsWait", "31 s, of two replicas",
         {f'{PUBLISHING}_age_seconds{{instance="{name}"}}': steady(31) for name in "ab"}, 5, ({},)),
    Case("DuePostsWait", "29 s", {f"{PUBLISHING}_age_seconds": steady(29)}, 5),
    Case("DuePostsWait", "for a moment", {f"{PUBLISHING}_age_seconds": "0x4 31 0x9"}, 5),
    Case("PublishingFails", "three of ten, at one of two",
         attempts("FB", published=7, failed=1, queued=1, unknown=1) | attempts("TW", published=8, failed=2),
         40, ({"platform": "FB"},)),
    Case("PublishingFails", "two of ten", attempts("FB", published=8, failed=2), 40),
    Case("OutboxWaits", "31 s",
         {f'{OUTBOX}, instance="a"}}': steady(31), f'{OUTBOX}, instance="b"}}': steady(31)},
         5, ({"posthaste_service": "quota"},)),
    Case("OutboxWaits", "29 s", {f"{OUTBOX}}}": steady(29)}, 5),
    Case("MessagesQuarantined", "the first of a process", {QUARANTINED: f"_x20 {steady(1)}"}, 25, (SET_ASIDE,)),
    Case("MessagesQuarantined", "one more", {QUARANTINED: "3x20 4x40"}, 25, (SET_ASIDE,)),
    Case("MessagesQuarantined", "one more on one of two replicas",
         {QUARANTINED: "3x20 4x40", QUARANTINED.replace('"a"', '"b"'): steady(7)}, 25, (SET_ASIDE,)),
    Case("MessagesQuarantined", "long ago", {QUARANTINED: f"_x20 {steady(3)}"}, 60),
    Case("MessagesRefused", "the first of a process", {REFUSED: f"_x20 {steady(1)}"}, 25, (NOT_LET_IN,)),
    Case("MessagesRefused", "one more", {REFUSED: "3x20 4x40"}, 25, (NOT_LET_IN,)),
    Case("MessagesRefused", "long ago", {REFUSED: f"_x20 {steady(3)}"}, 60),
    Case("WebhooksWait", "61 s", {f"{WEBHOOKS}_age_seconds": steady(61)}, 10, ({},)),
    Case("WebhooksWait", "59 s", {f"{WEBHOOKS}_age_seconds": steady(59)}, 10),
    Case("WebhooksAreLate", "one in twenty",
         lag("first", {"30": 95, "60": 100, "+Inf": 100}), 30, ({},)),
    Case("WebhooksAreLate", "only later attempts, which wait by intention",
         lag("first", {"30": 100, "60": 100, "+Inf": 100}) | lag("later", {"30": 0, "60": 100, "+Inf": 100}), 30),
    *(Case("ServiceIsAway", f"no {name}", pools(*({*UNITS} - {name})), 10, ({"posthaste_service": name},))
      for name in UNITS),
    Case("ServiceIsAway", "one went", pools(*UNITS) | pools("gateway", values="16x5 _x20"), 15,
         ({"posthaste_service": "gateway"},)),
    Case("ServiceIsAway", "one of two replicas went",
         pools(*UNITS) | pools("gateway", instance="b", values="16x5 _x20"), 20),
    Case("ServiceIsAway", "six in one process, and the gateway",
         pools(*SERVICES, instance="one") | pools("gateway"), 10),
    Case("ServiceIsAway", "nobody at all", {PUBLISHING: "_x20"}, 10),
    Case("NothingIsMeasured", "nobody at all", {PUBLISHING: "_x20"}, 10, ({},)),
    Case("NothingIsMeasured", "one is left", pools("quota"), 10),
    Case("ConnectionsUsedUp", "15 of 16", {USED: steady(15), IDLE: steady(1), MAX: steady(16)}, 10,
         ({"posthaste_service": "quota", "instance": "a"},)),
    Case("ConnectionsUsedUp", "all open, one in use", {USED: steady(1), IDLE: steady(15), MAX: steady(16)}, 10),
    Case("ConnectionsUsedUp", "one of two replicas",
         {USED: steady(16), MAX: steady(16),
          USED.replace('"a"', '"b"'): steady(1), MAX.replace('"a"', '"b"'): steady(16)}, 10,
         ({"posthaste_service": "quota", "instance": "a"},)),
    Case("WorkersUsedUp", "all lanes",
         {f"posthaste_pool_used{{{LANES}}}": steady(12), f"posthaste_pool_size{{{LANES}}}": steady(12)}, 10,
         ({"posthaste_service": "publishing", "pool": "lanes", "instance": "a"},)),
    Case("WorkersUsedUp", "half of them",
         {f"posthaste_pool_used{{{LANES}}}": steady(6), f"posthaste_pool_size{{{LANES}}}": steady(12)}, 10),
    *(case for alert, name in (("CreditsClawedBack", "clawback"), ("CreditsOwed", "owed")) for case in (
        Case(alert, "the first of a process", {credits_gone(name): f"_x20 {steady(500)}"}, 25, (DISPUTED,)),
        Case(alert, "more of them", {credits_gone(name): "500x70 1000x10"}, 75, (DISPUTED,)),
        Case(alert, "long ago", {credits_gone(name): f"_x5 {steady(500)}"}, 80),
        Case(alert, "never any", {credits_gone(name): "_x120"}, 80),
    )),
    Case("TracesAreLost", "some each minute", {DROPPED: growing(1)}, 40, ({},)),
    Case("TracesAreLost", "a restart of the collector", {DROPPED: "0x20 500x40"}, 40),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[f"{case.alert}: {case.seen}" for case in CASES])
def test_an_alert_is_raised_when_it_should_be(case: Case, promtool: str, tmp_path: Path) -> None:
    path = tmp_path / "test.yaml"
    path.write_text(yaml.safe_dump(document(case)), encoding="utf-8")
    done = subprocess.run([promtool, "test", "rules", path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def document(case: Case) -> dict[str, Any]:
    rule = ALERTS[case.alert]
    expected = [
        {
            "exp_labels": {"severity": rule["labels"]["severity"], **labels},
            "exp_annotations": rule["annotations"]
            | {"summary": filled(rule["annotations"]["summary"], labels)},
        }
        for labels in case.firing
    ]
    return {
        "rule_files": [str(FOLDER / "rules.yaml")],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in case.series.items()],
                "alert_rule_test": [
                    {
                        "eval_time": f"{case.after_minutes}m",
                        "alertname": case.alert,
                        "exp_alerts": expected,
                    }
                ],
            }
        ],
    }


def filled(summary: str, labels: Labels) -> str:
    return re.sub(r"\{\{ \$labels\.(\w+) }}", lambda found: labels[found[1]], summary)


def test_each_alert_is_seen_raised_and_silent() -> None:
    assert {case.alert for case in CASES if case.firing} == set(ALERTS)
    assert {case.alert for case in CASES if not case.firing} == set(ALERTS)
