"""Grafana's dashboards as code: `python deploy/observability/dashboards.py` writes `grafana/dashboards/*.json`.

A dashboard is a list of rows, a row a list of panels, and a panel has a title, a unit and queries. The dashboards are
never edited in Grafana. A test compares the files with this module, and the metrics in them with those that the
processes export.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent / "grafana" / "dashboards"
PROMETHEUS = {"type": "prometheus", "uid": "prometheus"}
JAEGER = {"type": "jaeger", "uid": "jaeger"}
_WIDTH, _HEIGHT = 24, 8


class Panel(NamedTuple):
    """A panel of a dashboard. `queries`: legend → PromQL. `unit`: the name of the unit in Grafana."""

    title: str
    unit: str
    queries: dict[str, str]
    about: str = ""
    kind: str = "timeseries"


class Dashboard(NamedTuple):
    uid: str
    title: str
    rows: Sequence[Sequence[Panel]]
    variables: Sequence[dict[str, Any]] = ()


def rate(metric: str, by: str = "", where: str = "") -> str:
    grouped = f" by ({by})" if by else ""
    return f"sum{grouped} (rate({metric}{where}[$__rate_interval]))"


def increase(metric: str, by: str = "", over: str = "$__rate_interval") -> str:
    grouped = f" by ({by})" if by else ""
    return f"sum{grouped} (increase({metric}[{over}]))"


def quantile(part: float, metric: str, by: str = "", where: str = "") -> str:
    return (
        f"histogram_quantile({part}, {rate(f'{metric}_bucket', ', '.join(filter(None, ('le', by))), where)})"
    )


def top(query: str) -> str:
    return f"topk(12, {query})"


def share(used: str, all_: str, by: str) -> str:
    return f"sum by ({by}) ({used}) / sum by ({by}) ({all_})"


def quantiles(metric: str, where: str = "") -> dict[str, str]:
    return {f"p{part * 100:g}": quantile(part, metric, where=where) for part in (0.5, 0.95, 0.99)}


HTTP, RPC = "http_server_request_duration_seconds", "rpc_server_call_duration_seconds"
OUTBOUND, EVENTS = "http_client_request_duration_seconds", "messaging_process_duration_seconds"
LATENESS, LAG = "posthaste_publish_lateness_seconds", "posthaste_webhook_lag_seconds"
_ROUTE = "http_request_method, http_route"
_FAILED = '{http_response_status_code=~"5.."}'
_OURS = '{error_type=~"SERVER_ERROR|SERVICE_UNAVAILABLE|[A-Z][a-z].*"}'

BACKLOG = Panel(
    "Due posts that wait", "short", {"posts": "max(posthaste_publish_backlog)"}, "The same from each replica."
)
OUTBOX = Panel(
    "Oldest event in an outbox",
    "s",
    {"{{posthaste_service}}": "max by (posthaste_service) (posthaste_outbox_age_seconds)"},
)
LATE = Panel("Lateness of posts", "s", quantiles(LATENESS), "From due to taken by a worker. Goal: p99 ≤ 1 s.")

OVERVIEW = Dashboard(
    "posthaste-overview",
    "Posthaste: overview",
    [
        [
            Panel(
                "Requests",
                "reqps",
                {"all": rate(f"{HTTP}_count"), "5xx": rate(f"{HTTP}_count", where=_FAILED)},
            ),
            Panel("Duration of requests", "s", quantiles(HTTP)),
            Panel(
                "Error budget burnt (1 = 99.9 % just kept)",
                "short",
                {
                    "1 h": "posthaste:requests_failed:ratio1h / 0.001",
                    "6 h": "posthaste:requests_failed:ratio6h / 0.001",
                },
            ),
        ],
        [
            Panel(
                "Requests by route",
                "reqps",
                {"{{http_request_method}} {{http_route}}": top(rate(f"{HTTP}_count", _ROUTE))},
            ),
            Panel(
                "p95 by route",
                "s",
                {"{{http_request_method}} {{http_route}}": top(quantile(0.95, HTTP, _ROUTE))},
            ),
            Panel(
                "Answers by status",
                "reqps",
                {"{{http_response_status_code}}": rate(f"{HTTP}_count", "http_response_status_code")},
            ),
        ],
        [
            Panel("Calls by service", "reqps", {"{{rpc_service}}": rate(f"{RPC}_count", "rpc_service")}),
            Panel(
                "p95 of calls by method",
                "s",
                {"{{rpc_service}}/{{rpc_method}}": top(quantile(0.95, RPC, "rpc_service, rpc_method"))},
            ),
            Panel(
                "Calls that failed by our own fault",
                "reqps",
                {"{{rpc_service}} {{error_type}}": rate(f"{RPC}_count", "rpc_service, error_type", _OURS)},
            ),
        ],
        [LATE, BACKLOG, OUTBOX],
        [
            Panel(
                "Database connections in use",
                "percentunit",
                {
                    "{{posthaste_service}}": share(
                        'db_client_connection_count{state="used"}',
                        "db_client_connection_max",
                        "posthaste_service",
                    )
                },
            ),
            Panel(
                "Workers in use",
                "percentunit",
                {
                    "{{posthaste_service}} {{pool}}": share(
                        "posthaste_pool_used", "posthaste_pool_size", "posthaste_service, pool"
                    )
                },
            ),
            Panel(
                "Set aside, dropped",
                "short",
                {
                    # Not their increase: the first one of a process is none.
                    "quarantined on {{messaging_destination_name}}": "sum by (messaging_destination_name) "
                    "(posthaste_messages_quarantined_total)",
                    "refused {{kind}} of {{sender}}: {{reason}}": "sum by (kind, sender, reason) "
                    "(posthaste_messages_refused_total)",
                    "spans dropped": increase("posthaste_telemetry_dropped_total"),
                    "requests missing from the log": increase("posthaste_requests_unlogged_total"),
                },
            ),
        ],
    ],
)

_SCHEDULED = '{http_route=~"/api/v1/posts/(schedule|publish)"}'
_TRACES = Panel(
    "Traces of the post",
    "",
    {"post": '{"posthaste.post_id":"$post_id"}'},
    "Open one: it leads from the request to the webhook.",
    "traces",
)
JOURNEY = Dashboard(
    "posthaste-journey",
    "Posthaste: one post's journey",
    [
        [_TRACES],
        [
            Panel("1. Accepted: requests that schedule or publish", "s", quantiles(HTTP, _SCHEDULED)),
            Panel(
                "2. Waited: from due to taken",
                "s",
                {"{{platform}} p99": quantile(0.99, LATENESS, "platform")},
            ),
            Panel(
                "3. Sent: calls to the platforms, p95",
                "s",
                {"{{server_address}}": quantile(0.95, OUTBOUND, "server_address")},
            ),
        ],
        [
            Panel(
                "What became of attempts",
                "short",
                {"{{platform}} {{outcome}}": rate("posthaste_publish_attempts_total", "platform, outcome")},
            ),
            Panel(
                "4. Told: oldest event of publishing's outbox",
                "s",
                {"age": 'max(posthaste_outbox_age_seconds{posthaste_service="publishing"})'},
            ),
            Panel(
                "5. Heard: events handled, p95",
                "s",
                {
                    "{{posthaste_service}} {{messaging_destination_name}}": quantile(
                        0.95, EVENTS, "posthaste_service, messaging_destination_name"
                    )
                },
            ),
        ],
        [
            Panel("6. Delivered: first attempts, from the event", "s", quantiles(LAG, '{attempt="first"}')),
            BACKLOG,
            Panel(
                "Longest due",
                "s",
                {
                    "post": "max(posthaste_publish_backlog_age_seconds)",
                    "delivery": "max(posthaste_webhook_backlog_age_seconds)",
                },
            ),
        ],
    ],
    [
        {"name": "post_id", "label": "Post id (pst_…)", "type": "textbox"},
        # posthaste: all services in one process
        {"name": "service", "label": "Process", "type": "custom", "query": "publishing,posthaste"},
    ],
)

_ATTEMPTS = "posthaste_webhook_attempts_total"
_ACKNOWLEDGED = rate(_ATTEMPTS, where='{state="delivered"}') + " / " + rate(_ATTEMPTS)
WEBHOOKS = Dashboard(
    "posthaste-webhooks",
    "Posthaste: webhooks",
    [
        [
            Panel("Attempts that were acknowledged", "percentunit", {"success": _ACKNOWLEDGED}),
            Panel(
                "Attempts by what the delivery is afterwards",
                "short",
                {"{{state}}": rate("posthaste_webhook_attempts_total", "state")},
            ),
            Panel(
                "What went wrong",
                "short",
                {"{{error}}": rate("posthaste_webhook_attempts_total", "error", '{error!="none"}')},
            ),
        ],
        [
            Panel(
                "Lag, first attempt",
                "s",
                quantiles(LAG, '{attempt="first"}'),
                "From the event's arrival to its acknowledgement.",
            ),
            Panel(
                "Lag, later attempts",
                "s",
                quantiles(LAG, '{attempt="later"}'),
                "Mostly the retry schedule's waits.",
            ),
            Panel(
                "Events handled",
                "short",
                {
                    "{{messaging_destination_name}}": rate(
                        f"{EVENTS}_count", "messaging_destination_name", '{posthaste_service="webhooks"}'
                    )
                },
            ),
        ],
        [
            Panel("Due deliveries", "short", {"waiting": "max(posthaste_webhook_backlog)"}),
            Panel("Longest due", "s", {"age": "max(posthaste_webhook_backlog_age_seconds)"}),
            Panel(
                "Deliveries beyond the month's units",
                "short",
                {"{{code}}": rate("posthaste_quota_refusals_total", "code", '{bucket="webhooks"}')},
            ),
        ],
    ],
)

QUOTA = Dashboard(
    "posthaste-quota-credits",
    "Posthaste: quota and credits",
    [
        [
            Panel("Refusals by code", "reqps", {"{{code}}": rate("posthaste_quota_refusals_total", "code")}),
            Panel(
                "Refusals by the month's bucket",
                "reqps",
                {"{{bucket}}": rate("posthaste_quota_refusals_total", "bucket", '{bucket!="none"}')},
            ),
            Panel("Admission", "s", quantiles(RPC, '{rpc_service="quota", rpc_method="admit_all"}')),
        ],
        [
            Panel(
                "Credits spent an hour",
                "short",
                {"{{action}}": increase("posthaste_credits_spent_total", "action", "1h")},
            ),
            Panel(
                "Credits given back an hour",
                "short",
                {"{{action}}": increase("posthaste_credits_refunded_total", "action", "1h")},
                "Of generations that failed.",
            ),
            Panel(
                "Bought credits whose payment went back, an hour",
                "short",
                {
                    "taken back: {{reason}}": increase("posthaste_credits_clawback_total", "reason", "1h"),
                    "owed: {{reason}}": increase("posthaste_credits_owed_total", "reason", "1h"),
                },
                "Refunds and disputes. Owed: those that were spent already.",
            ),
            Panel("Providers, p95", "s", {"{{server_address}}": quantile(0.95, OUTBOUND, "server_address")}),
        ],
    ],
)

ALL = (OVERVIEW, JOURNEY, WEBHOOKS, QUOTA)


def rendered(dashboard: Dashboard) -> str:
    """Returns a dashboard as JSON for Grafana."""
    document = {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "schemaVersion": 39,
        "editable": False,
        "refresh": "30s",
        "tags": ["posthaste"],
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": list(dashboard.variables)},
        "panels": list(_placed(dashboard.rows)),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _placed(rows: Sequence[Sequence[Panel]]) -> Iterator[dict[str, Any]]:
    number = 0
    for y, row in enumerate(rows):
        width = _WIDTH // len(row)
        for x, panel in enumerate(row):
            number += 1
            at = {"x": x * width, "y": y * _HEIGHT, "w": width, "h": _HEIGHT}
            yield {"id": number, "gridPos": at, **_shown(panel)}


def _shown(panel: Panel) -> dict[str, Any]:
    if panel.kind == "traces":
        [tags] = panel.queries.values()
        target = {
            "refId": "A",
            "datasource": JAEGER,
            "queryType": "search",
            "service": "$service",
            "tags": tags,
        }
        return {
            "type": "table",
            "title": panel.title,
            "description": panel.about,
            "datasource": JAEGER,
            "targets": [target],
        }
    targets = [
        {"refId": chr(ord("A") + i), "datasource": PROMETHEUS, "expr": expr, "legendFormat": legend}
        for i, (legend, expr) in enumerate(panel.queries.items())
    ]
    defaults = {"unit": panel.unit, "min": 0, "custom": {"fillOpacity": 10, "showPoints": "never"}}
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": PROMETHEUS,
        "targets": targets,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
    }


def main() -> None:
    for dashboard in ALL:
        (FOLDER / f"{dashboard.uid}.json").write_text(rendered(dashboard), encoding="utf-8")


if __name__ == "__main__":
    main()
