"""Dashboards, rules and settings use only metrics that exist, and the guide has an entry for each alert."""

import importlib
import importlib.util
import re
from types import ModuleType
from typing import Any

import pytest
import yaml

from chassis.telemetry import metrics
from local.paths import ROOT
from local.testing.observability import (
    FOLDER,
    all_queries,
    labels_in,
    recorded_in,
    rules,
    series_in,
)
from local.testing.prometheus_names import prometheus_names

PAGE = ROOT / "docs" / "observability.md"
OPERATIONS = ROOT / "docs" / "operations.md"
#: It raises an alert itself.
BACKUP = ROOT / "deploy" / "backup" / "backup.sh"
KINDS = {metrics.Gauge: "gauge", metrics.Counter: "sum", metrics.Histogram: "histogram"}


@pytest.fixture(scope="module")
def declared() -> dict[str, metrics.Instrument]:
    """Returns the metrics of chassis and all services."""
    for path in (ROOT / "services").glob("*/*/**/metrics.py"):
        importlib.import_module(".".join(path.relative_to(ROOT / "services").with_suffix("").parts[1:]))
    return metrics.DECLARED


@pytest.fixture(scope="module")
def dashboards() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dashboards", FOLDER / "dashboards.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def exported(declared: dict[str, metrics.Instrument]) -> set[str]:
    return {
        series
        for name, instrument in declared.items()
        for series in prometheus_names(name, KINDS[type(instrument)], instrument.unit)
    }


def test_a_querys_series_are_told_from_its_labels() -> None:
    query = (
        'sum by (rpc_service, le) (rate(rpc_x_bucket{rpc_service=~"a|b"}[5m])) / on (db_x) posthaste:y:rate5m'
    )
    assert (series_in([query]), recorded_in([query])) == ({"rpc_x_bucket"}, {"posthaste:y:rate5m"})
    assert labels_in([query]) == {"rpc_service", "le", "db_x"}


def test_every_series_that_is_asked_for_is_one_of_ours(declared: dict[str, metrics.Instrument]) -> None:
    asked = series_in(all_queries())
    assert len(asked) > 20
    assert asked - exported(declared) == set()


def test_every_metric_of_ours_is_looked_at_by_somebody(declared: dict[str, metrics.Instrument]) -> None:
    asked = series_in(all_queries())
    unseen = {
        name
        for name, instrument in declared.items()
        if not asked & set(prometheus_names(name, KINDS[type(instrument)], instrument.unit))
    }
    assert unseen == {"posthaste.outbox.waiting"}  # for scaling (docs/observability.md)


def test_recorded_figures_that_are_asked_for_are_recorded() -> None:
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    assert recorded_in(all_queries()) <= recorded


def test_each_dashboard_is_what_its_code_says(dashboards: ModuleType) -> None:
    files = {
        path.stem: path.read_text(encoding="utf-8") for path in (FOLDER / "grafana" / "dashboards").iterdir()
    }
    assert files == {one.uid: dashboards.rendered(one) for one in dashboards.ALL}


def test_each_alert_says_what_is_wrong_and_has_its_entry_on_the_page() -> None:
    alerts = [rule for rule in rules() if "alert" in rule]
    page = PAGE.read_text(encoding="utf-8")
    entries = set(re.findall(r"^### (\w+)$", page, re.MULTILINE))
    [of_backups] = re.findall(r'"alertname\\": \\"(\w+)', BACKUP.read_text(encoding="utf-8"))
    assert {*(alert["alert"] for alert in alerts), of_backups} == entries
    for alert in alerts:
        assert alert["labels"]["severity"] in ("page", "ticket"), alert
        assert alert["annotations"]["summary"], alert
        # As the page's own headings are linked to, from the root of the repository.
        assert alert["annotations"]["runbook_url"] == f"docs/observability.md#{alert['alert'].lower()}"
        assert alert["alert"] in OPERATIONS.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("metric", "kind", "unit", "series"),
    [
        ("http.server.request.duration", "histogram", "s", "http_server_request_duration_seconds_bucket"),
        ("posthaste.credits.spent", "sum", "{credit}", "posthaste_credits_spent_total"),
        ("posthaste.pool.used", "gauge", "{task}", "posthaste_pool_used"),
        ("posthaste.share", "gauge", "1", "posthaste_share_ratio"),
        ("posthaste.share", "sum", "1", "posthaste_share_total"),
        ("posthaste.sent", "sum", "By", "posthaste_sent_bytes_total"),
        ("posthaste.held", "gauge", "By", "posthaste_held_bytes"),
    ],
)
def test_names_for_prometheus_are_those_of_the_collector(
    metric: str, kind: str, unit: str, series: str
) -> None:
    """The names follow github.com/prometheus/otlptranslator 1.0. All our metrics were compared by hand on
    2026-11-27.
    """
    assert prometheus_names(metric, kind, unit)[0] == series


def test_every_unit_is_one_whose_spelling_is_known_and_no_name_repeats_it(
    declared: dict[str, metrics.Instrument],
) -> None:
    """Our code spells names as the collector does, but only for these units. The collector does not append a word that
    the name already has.
    """
    for name, it in declared.items():
        assert it.unit in ("s", "By", "1") or re.fullmatch(r"\{[a-z ]+\}", it.unit), name
        assert re.fullmatch(r"[a-z]+(\.[a-z]+)+", name), name
        assert not {"total", "ratio", "seconds", "bytes"} & set(name.split(".")), name


def test_the_page_names_every_metric_with_its_unit(declared: dict[str, metrics.Instrument]) -> None:
    page = PAGE.read_text(encoding="utf-8").partition("## Metrics")[2].partition("## Logs")[0]
    for name, instrument in declared.items():
        assert f"| `{name}` | {instrument.unit} |" in page, name
    assert set(re.findall(r"^\| `([a-z.]+)` \|", page, re.MULTILINE)) == set(declared)


@pytest.mark.parametrize("name", ["collector.yaml", "prometheus.yaml", "rules.yaml"])
def test_settings_are_yaml_and_lead_to_each_other(name: str) -> None:
    document: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    if name == "collector.yaml":
        for pipeline in document["service"]["pipelines"].values():
            for kind, used in pipeline.items():
                assert set(used) <= set(document[kind])
        assert set(document["service"]["extensions"]) <= set(document["extensions"])
    elif name == "prometheus.yaml":
        assert document["rule_files"] == ["rules.yaml"]
        collector = yaml.safe_load((FOLDER / "collector.yaml").read_text(encoding="utf-8"))
        port = collector["exporters"]["prometheus"]["endpoint"].rpartition(":")[2]
        assert document["scrape_configs"][0]["static_configs"][0]["targets"] == [f"collector:{port}"]


def test_dashboards_ask_sources_that_are_set_up() -> None:
    sources = yaml.safe_load(
        (FOLDER / "grafana" / "provisioning" / "datasources" / "posthaste.yaml").read_text(encoding="utf-8")
    )["datasources"]
    uids = {source["uid"] for source in sources}
    text = "".join(path.read_text(encoding="utf-8") for path in (FOLDER / "grafana" / "dashboards").iterdir())
    assert set(re.findall(r'"uid": "(prometheus|jaeger|[a-z]+)"', text)) == uids
