"""Reads the PromQL queries in `deploy/observability`."""

import json
import re
from collections.abc import Iterable
from typing import Any

import yaml

from local.paths import ROOT

FOLDER = ROOT / "deploy" / "observability"
_LABELS = re.compile(r"\{[^{}]*\}|\b(?:by|without|on|ignoring)\s*\([^()]*\)")
_SERIES = re.compile(r"\b(?:http|rpc|db|messaging|posthaste)_[a-z0-9_]+\b")
_RECORDED = re.compile(r"\bposthaste:[a-z0-9_:]+")


def rules() -> list[dict[str, Any]]:
    """Returns the recording rules and alerts of Prometheus."""
    document = yaml.safe_load((FOLDER / "rules.yaml").read_text(encoding="utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def queries_of_dashboards() -> list[str]:
    """Returns the queries of all panels of Grafana's dashboards."""
    return [
        target["expr"]
        for path in sorted((FOLDER / "grafana" / "dashboards").glob("*.json"))
        for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]
        for target in panel["targets"]
        if target["datasource"]["type"] == "prometheus"
    ]


def series_in(queries: Iterable[str]) -> set[str]:
    """Returns the names of the time series that queries read. Leaves out series that recording rules make."""
    return {name for query in queries for name in _SERIES.findall(_LABELS.sub(" ", query))}


def labels_in(queries: Iterable[str]) -> set[str]:
    """Returns the labels that queries select or group by."""
    shown = [part for query in queries for part in _LABELS.findall(query)]
    quoted = re.compile(r'"[^"]*"')
    return {
        name
        for part in shown
        for name in re.findall(r"\b[a-z_]+\b", quoted.sub("", part))
        if name not in ("by", "without", "on", "ignoring")
    }


def recorded_in(queries: Iterable[str]) -> set[str]:
    """Returns the names of the time series that queries read, but only of those that recording rules make."""
    return {name for query in queries for name in _RECORDED.findall(query)}


def all_queries() -> list[str]:
    return [*queries_of_dashboards(), *(rule["expr"] for rule in rules())]
