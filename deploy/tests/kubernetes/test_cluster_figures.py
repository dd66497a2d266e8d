"""deploy/kubernetes: metrics reach the autoscalers and the alerts."""

import importlib
import re

import pytest
import yaml
from composed import SERVICES as COMPOSE
from kustomized import (
    FOLDER,
    OVERLAYS,
    UNITS,
    Resource,
    build,
    config_map,
    containers,
    of_kind,
    selected,
    shared_settings,
    volumes,
)

from chassis.telemetry import metrics
from gateway.config import Config as GatewayConfig
from local.paths import ROOT
from local.testing.observability import series_in
from local.testing.prometheus_names import prometheus_names

ADAPTER = yaml.load((FOLDER / "components/metrics-adapter/values.yaml").read_text(), yaml.CSafeLoader)


def test_a_small_one_scales_by_nothing_that_it_does_not_measure() -> None:
    small = build(FOLDER / "overlays/small")
    assert shared_settings(small)["OTEL_EXPORTER_OTLP_ENDPOINT"] == ""
    assert not of_kind(small, "HorizontalPodAutoscaler")
    # Of one replica a budget has nothing to keep.
    assert not of_kind(small, "PodDisruptionBudget")
    for unit in UNITS:
        assert of_kind(small, "Deployment")[f"{unit}-service"]["spec"]["replicas"] == 1


def test_each_unit_scales_by_figures_that_are_exported_and_keeps_a_replica_up(
    production: list[Resource],
) -> None:
    offered = {rule["name"]["as"] for rule in ADAPTER["rules"]["external"]}
    asked = set()
    for unit in UNITS:
        scaler = of_kind(production, "HorizontalPodAutoscaler")[f"{unit}-service"]
        assert scaler["spec"]["scaleTargetRef"]["name"] == f"{unit}-service"
        external = [it["external"]["metric"] for it in scaler["spec"]["metrics"] if it["type"] == "External"]
        assert external, unit
        asked |= {it["name"] for it in external}
        for metric in external:
            assert metric.get("selector", {}).get("matchLabels", {}) in ({}, {"posthaste_service": unit})
        assert f"{unit}-service" in of_kind(production, "PodDisruptionBudget")
    assert asked == offered
    for path in (ROOT / "services").glob("*/*/**/metrics.py"):
        importlib.import_module(".".join(path.relative_to(ROOT / "services").with_suffix("").parts[1:]))
    kinds = {metrics.Gauge: "gauge", metrics.Counter: "sum", metrics.Histogram: "histogram"}
    exported = {
        series
        for name, it in metrics.DECLARED.items()
        for series in prometheus_names(name, kinds[type(it)], it.unit)
    }
    queries = [
        rule["metricsQuery"].replace(",<<.LabelMatchers>>", "") for rule in ADAPTER["rules"]["external"]
    ]
    assert series_in([*queries, *(rule["seriesQuery"] for rule in ADAPTER["rules"]["external"])]) <= exported


def test_figures_find_their_way_to_those_who_scale(production: list[Resource]) -> None:
    """Metrics go from the collector to Prometheus and to the adapter. Each connects to a port that a container
    serves.
    """
    files = config_map(production, "posthaste-observability")
    [job] = yaml.safe_load(files["prometheus.yaml"])["scrape_configs"]
    assert job["honor_labels"] is True
    collector = yaml.safe_load(files["collector.yaml"])["exporters"]["prometheus"]["endpoint"]
    adapter = ADAPTER["prometheus"]
    host, _, namespace = adapter["url"].removeprefix("http://").removesuffix(".svc").partition(".")
    assert namespace == "posthaste"
    asked = [*job["static_configs"][0]["targets"], f"{host}:{adapter['port']}"]
    assert [listener(production, address) for address in asked] == [int(collector.rpartition(":")[2]), 9090]
    [prometheus] = containers(of_kind(production, "Deployment")["prometheus"])
    assert prometheus["image"] in COMPOSE["prometheus"]["image"]
    options = dict(it.removeprefix("--").split("=") for it in prometheus["args"])
    [settings] = [it for it in volumes(of_kind(production, "Deployment")["prometheus"]) if "projected" in it]
    [ours, _] = [it["configMap"] for it in settings["projected"]["sources"]]
    assert of_kind(production, "ConfigMap")[ours["name"]]["data"] == files
    [mount] = [it["mountPath"] for it in prometheus["volumeMounts"] if it["name"] == settings["name"]]
    paths = {f"{mount}/{it['path']}": it["key"] for it in ours["items"]}
    assert paths[options["config.file"]] == "prometheus.yaml"
    assert set(paths.values()) == {"prometheus.yaml", "rules.yaml"} <= files.keys()


def listener(resources: list[Resource], address: str) -> int:
    """Returns the container port behind `service:port`."""
    name, _, port = address.partition(":")
    service = of_kind(resources, "Service")[name]["spec"]
    [behind] = selected(resources, {"matchLabels": service["selector"]})
    [container] = containers(of_kind(resources, "Deployment")[behind])
    [target] = [it["targetPort"] for it in service["ports"] if it["port"] == int(port)]
    return next(int(it["containerPort"]) for it in container["ports"] if it["name"] == target)


#: PostgreSQL keeps three connections for superusers; ten are for dumps and psql.
RESERVED_CONNECTIONS, FOR_OPERATORS = 3, 10
#: Of a service (chassis.config); the gateway's is its own.
POOL_SIZE = 16


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_guide_says_how_many_connections_all_replicas_take(name: str) -> None:
    """Each process of a service takes one connection more than its pool, and each unit has one more replica while it is
    replaced.
    """
    resources = build(FOLDER / "overlays" / name)
    scalers = of_kind(resources, "HorizontalPodAutoscaler")
    gateway = GatewayConfig(amqp_url="", database_url="")
    used = RESERVED_CONNECTIONS + FOR_OPERATORS
    for unit in UNITS:
        deployment = of_kind(resources, "Deployment")[f"{unit}-service"]
        scaler = scalers.get(f"{unit}-service")
        most = scaler["spec"]["maxReplicas"] if scaler else deployment["spec"]["replicas"]
        [container] = containers(deployment)
        told = {it["name"]: it.get("value") for it in container["env"]}
        assert "DATABASE_POOL_SIZE" not in told
        each = int(told["WORKERS"]) * gateway.database_pool_size if unit == "gateway" else POOL_SIZE + 1
        used += (most + 1) * each
    said = {"production": r"at least (\d+) in production", "small": r"and (\d+) in small"}[name]
    [figure] = re.findall(said, (ROOT / "docs/operations.md").read_text())
    assert int(figure) == used
