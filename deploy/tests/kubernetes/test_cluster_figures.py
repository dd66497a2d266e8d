"""deploy/kubernetes: metrics reach the autoscalers and the alerts."""

import importlib

import yaml
from composed import SERVICES as COMPOSE
from kustomized import FOLDER, UNITS, Resource, build, containers, of_kind, selected, volumes

from chassis.telemetry import metrics
from local.paths import ROOT
from local.testing.observability import prometheus_names, series_in

ADAPTER = yaml.safe_load((FOLDER / "components/metrics-adapter/values.yaml").read_text())


def test_a_small_one_scales_by_nothing_that_it_does_not_measure() -> None:
    small = build(FOLDER / "overlays/small")
    assert of_kind(small, "ConfigMap")["posthaste"]["data"]["OTEL_EXPORTER_OTLP_ENDPOINT"] == ""
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
    """Collector → Prometheus → adapter: each connects to a Service port that a container serves."""
    files = of_kind(production, "ConfigMap")["posthaste-observability"]["data"]
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
    assert ours["name"] == "posthaste-observability"
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
