"""deploy/kubernetes: valid to Kubernetes' own schemas, and every image, port, variable, secret and metric is there."""

import importlib
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from kustomized import Resource, build, containers, documents

from chassis.loops import Loop
from chassis.telemetry import metrics
from contracts.services import SERVICES
from gateway.config import Config as GatewayConfig
from gateway.routes import ENDPOINTS
from local import house
from local.observability import prometheus_names, series_in
from local.paths import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
OVERLAYS = ("small", "production")
UNITS = ("gateway", *SERVICES)
#: The oldest that is still maintained when this was written, and the newest that the schemas know.
KUBERNETES = ("1.34.1", "1.37.0")
#: Of operators; Kubernetes itself has no schema of them.
NOT_KUBERNETES = {"RabbitmqCluster"}
VERSION = tomllib.loads((ROOT / "services/gateway/pyproject.toml").read_text())["project"]["version"]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
SECRETS = {it["metadata"]["name"]: it["stringData"] for it in documents(FOLDER / "secrets.yaml")}
#: Made by operators: name → keys.
MADE_SECRETS = {"rabbitmq-default-user": {"connection_string", "username", "password", "host", "port"}}
#: From the last request's end to that of the process: what was staged is sent, connections and telemetry are closed.
LEAVING_SECONDS = 5
#: The kubelet starts a container anew ever later, and forgets that once one has run for so long.
BACK_OFF_FORGOTTEN_SECONDS = 600
PRIVATE = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"}
ADAPTER = yaml.safe_load((FOLDER / "components/metrics-adapter/values.yaml").read_text())["rules"]["external"]


@pytest.fixture(scope="module", params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> list[Resource]:
    return build(FOLDER / "overlays" / request.param)


@pytest.fixture(scope="module")
def base() -> list[Resource]:
    return build(FOLDER / "base")


@pytest.fixture(scope="module")
def production() -> list[Resource]:
    return build(FOLDER / "overlays" / "production")


def of_kind(resources: list[Resource], kind: str) -> dict[str, Resource]:
    return {it["metadata"]["name"]: it for it in resources if it["kind"] == kind}


def pods_of(resource: Resource) -> dict[str, str]:
    labels: dict[str, str] = resource["spec"]["template"]["metadata"]["labels"]
    return labels


def selected(resources: list[Resource], selector: Resource) -> set[str]:
    """Names of the workloads whose pods a selector means."""
    found = set()
    for one in resources:
        if one["kind"] in ("Deployment", "Job"):
            labels = pods_of(one)
            listed = all(labels.get(it["key"]) in it["values"] for it in selector.get("matchExpressions", ()))
            if listed and selector.get("matchLabels", {}).items() <= labels.items():
                found.add(one["metadata"]["name"])
    return found


@pytest.mark.parametrize(
    ("folder", "version"),
    [
        *(("production", version) for version in KUBERNETES),
        ("small", KUBERNETES[-1]),
        ("production/migrations", KUBERNETES[-1]),
    ],
)
def test_kubernetes_accepts_every_resource(folder: str, version: str) -> None:
    resources = build(FOLDER / "overlays" / folder)
    for resource in resources:
        assert resource["metadata"]["namespace"] == "posthaste"
        if resource["kind"] not in NOT_KUBERNETES:
            kubernetes_validate.validate(resource, version, strict=True)
    names = [(it["kind"], it["metadata"]["name"]) for it in resources]
    assert len(names) == len(set(names))


def test_the_template_of_the_secrets_is_valid_and_empty() -> None:
    for secret in documents(FOLDER / "secrets.yaml"):
        kubernetes_validate.validate(secret, KUBERNETES[-1], strict=True)
        assert set(secret["stringData"].values()) == {""}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl here")
@pytest.mark.parametrize("folder", [*OVERLAYS, *(f"{name}/migrations" for name in OVERLAYS)])
def test_kubectl_builds_what_these_tests_look_at(folder: str) -> None:
    path = FOLDER / "overlays" / folder
    done = subprocess.run(["kubectl", "kustomize", path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr

    def by_name(resources: list[Resource]) -> dict[tuple[str, str], Resource]:
        return {(it["kind"], it["metadata"]["name"]): it for it in resources}

    assert by_name(list(yaml.safe_load_all(done.stdout))) == by_name(build(path))


@pytest.mark.parametrize("name", OVERLAYS)
def test_a_selector_means_the_pods_of_its_own_deployment_and_no_job_s(name: str) -> None:
    folder = FOLDER / "overlays" / name
    everything = build(folder) + build(folder / "migrations")
    for unit, deployment in of_kind(everything, "Deployment").items():
        pods = deployment["spec"]["template"]["spec"]
        spread = [it["labelSelector"] for it in pods.get("topologySpreadConstraints", ())]
        for selector in [deployment["spec"]["selector"], *spread]:
            assert selected(everything, selector) == {unit}
    for unit, budget in of_kind(everything, "PodDisruptionBudget").items():
        assert selected(everything, budget["spec"]["selector"]) == {unit}
    for service in of_kind(everything, "Service").values():
        [behind] = selected(everything, {"matchLabels": service["spec"]["selector"]})
        assert behind in of_kind(everything, "Deployment")


def test_a_small_one_scales_by_nothing_that_it_does_not_measure() -> None:
    small = build(FOLDER / "overlays/small")
    assert of_kind(small, "ConfigMap")["posthaste"]["data"]["OTEL_EXPORTER_OTLP_ENDPOINT"] == ""
    assert not of_kind(small, "HorizontalPodAutoscaler")
    # Of one replica a budget has nothing to keep.
    assert not of_kind(small, "PodDisruptionBudget")
    for unit in UNITS:
        assert of_kind(small, "Deployment")[f"{unit}-service"]["spec"]["replicas"] == 1


def test_each_unit_is_whole_when_it_is_applied_alone() -> None:
    for unit in UNITS:
        kinds = {it["kind"] for it in build(FOLDER / "base" / unit)}
        assert kinds >= {"Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget"}, unit


def test_every_image_is_one_that_is_built_and_pinned(overlay: list[Resource]) -> None:
    built = {
        Path(row["image"].split("}/")[-1].split(":")[0]).name for row in COMPOSE.values() if "build" in row
    }
    for resource in overlay:
        for container in containers(resource):
            name, _, tag = container["image"].rpartition(":")
            if name.startswith("posthaste/"):
                assert name.removeprefix("posthaste/") in built
                assert tag == VERSION
            else:
                assert re.match(r"v?\d+\.\d+", tag), container["image"]
    assert {f"{unit}-service" for unit in UNITS} <= of_kind(overlay, "Deployment").keys()


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_is_told_what_it_reads_and_nothing_else(
    overlay: list[Resource], unit: str, settings_of: Any
) -> None:
    settings = settings_of(unit)
    [container] = containers(of_kind(overlay, "Deployment")[f"{unit}-service"])
    maps = of_kind(overlay, "ConfigMap")
    told = {it["name"] for it in container["env"]}
    for source in container["envFrom"]:
        told |= SECRETS[source["secretRef"]["name"]].keys()
    for variable in container["env"]:
        source = variable.get("valueFrom", {})
        if "configMapKeyRef" in source:
            assert source["configMapKeyRef"]["key"] in maps[source["configMapKeyRef"]["name"]]["data"]
        if "secretKeyRef" in source:
            assert source["secretKeyRef"]["key"] in MADE_SECRETS[source["secretKeyRef"]["name"]]
    assert told - {"EVENTLET_THREADPOOL_SIZE"} - settings.read == set()
    assert settings.required - told == set()
    assert [source["secretRef"]["name"] for source in container["envFrom"]] == [f"posthaste-{unit}"]


def test_every_setting_that_is_shared_is_used_by_somebody(overlay: list[Resource]) -> None:
    used = {
        variable["valueFrom"]["configMapKeyRef"]["key"]
        for deployment in of_kind(overlay, "Deployment").values()
        for container in containers(deployment)
        for variable in container.get("env", ())
        if "configMapKeyRef" in variable.get("valueFrom", {})
    }
    assert used == of_kind(overlay, "ConfigMap")["posthaste"]["data"].keys()
    mounted = {
        source["secretRef"]["name"]
        for deployment in of_kind(overlay, "Deployment").values()
        for container in containers(deployment)
        for source in container.get("envFrom", ())
    }
    assert mounted == SECRETS.keys()


def test_ports_lead_to_what_listens(overlay: list[Resource]) -> None:
    exposed = re.search(r"^EXPOSE (\d+)$", (ROOT / "deploy/images/Dockerfile").read_text(), re.MULTILINE)
    assert exposed is not None
    for name, deployment in of_kind(overlay, "Deployment").items():
        for container in containers(deployment):
            named = {it["name"]: it["containerPort"] for it in container["ports"]}
            if "posthaste/" in container["image"]:
                assert named == {"http": int(exposed[1])}
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                assert (
                    container.get(probe, {"httpGet": {"port": next(iter(named))}})["httpGet"]["port"] in named
                )
        assert deployment["spec"]["selector"]["matchLabels"].items() <= pods_of(deployment).items(), name
    for service in of_kind(overlay, "Service").values():
        [behind] = selected(overlay, {"matchLabels": service["spec"]["selector"]})
        [container] = containers(of_kind(overlay, "Deployment")[behind])
        targets = {port["targetPort"] for port in service["spec"]["ports"]}
        assert targets <= {it["name"] for it in container["ports"]}
    for ingress in of_kind(overlay, "Ingress").values():
        for rule in ingress["spec"]["rules"]:
            for path in rule["http"]["paths"]:
                backend = path["backend"]["service"]
                ports = of_kind(overlay, "Service")[backend["name"]]["spec"]["ports"]
                assert backend["port"]["name"] in {it["name"] for it in ports}


def test_each_unit_scales_by_figures_that_are_exported_and_keeps_a_replica_up(
    production: list[Resource],
) -> None:
    offered = {rule["name"]["as"] for rule in ADAPTER}
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
    for path in ROOT.glob("services/*/*/measures.py"):
        importlib.import_module(f"{path.parent.name}.measures")
    kinds = {metrics.Gauge: "gauge", metrics.Counter: "sum", metrics.Histogram: "histogram"}
    exported = {
        series
        for name, it in metrics.DECLARED.items()
        for series in prometheus_names(name, kinds[type(it)], it.unit)
    }
    queries = [rule["metricsQuery"].replace(",<<.LabelMatchers>>", "") for rule in ADAPTER]
    assert series_in([*queries, *(rule["seriesQuery"] for rule in ADAPTER)]) <= exported


def world(resources: list[Resource]) -> set[str]:
    """Who may reach any public address."""
    found = set()
    for policy in of_kind(resources, "NetworkPolicy").values():
        for rule in policy["spec"].get("egress", ()):
            blocks = [to["ipBlock"] for to in rule.get("to", ()) if "ipBlock" in to]
            assert rule.get("to"), "a rule without `to` leads everywhere"
            for block in blocks:
                if block["cidr"] == "0.0.0.0/0":
                    assert set(block["except"]) >= PRIVATE
                    found |= selected(resources, policy["spec"]["podSelector"])
    return found


def test_publishing_and_webhooks_alone_reach_the_world(overlay: list[Resource], base: list[Resource]) -> None:
    assert world(base) == world(overlay) == {"publishing-service", "webhooks-service"}


@pytest.mark.parametrize("name", OVERLAYS)
def test_ai_reaches_it_too_where_its_component_is_added(name: str, tmp_path: Path) -> None:
    parts = {"resources": FOLDER / "overlays" / name, "components": FOLDER / "components/ai-providers"}
    added = {kind: [os.path.relpath(path, tmp_path)] for kind, path in parts.items()}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(added))
    assert world(build(tmp_path)) == {"publishing-service", "webhooks-service", "ai-service"}


def entrypoints(module: str) -> Iterator[Any]:
    [service] = [
        it for it in vars(importlib.import_module(module)).values()
        if isinstance(it, type) and it.__module__ == module and vars(it).get("name")
    ]  # fmt: skip
    for method in vars(service).values():
        yield from getattr(method, "nameko_entrypoints", ())


def test_whoever_is_told_to_stop_has_the_time_to_finish(
    overlay: list[Resource], monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = max(endpoint.deadline_seconds for endpoint in ENDPOINTS)
    assert longest > 60
    for ingress in of_kind(overlay, "Ingress").values():
        waits = ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-read-timeout"]
        assert int(waits) > longest
    for unit in UNITS:
        pod = of_kind(overlay, "Deployment")[f"{unit}-service"]["spec"]["template"]["spec"]
        [container] = pod["containers"]
        grace = pod["terminationGracePeriodSeconds"]
        if unit == "gateway":
            told = {it["name"]: it.get("value", "") for it in container["env"]}
            if "GRACEFUL_SECONDS" in told:
                monkeypatch.setenv("GRACEFUL_SECONDS", told["GRACEFUL_SECONDS"])
            monkeypatch.setenv("AMQP_URL", "amqp://user@host/%2F")
            monkeypatch.setenv("DATABASE_URL", "postgresql://user@host/gateway")
            graceful = GatewayConfig.from_env().graceful_seconds
            [_, paused] = container["lifecycle"]["preStop"]["exec"]["command"]
            assert graceful >= longest
            assert grace >= int(paused) + graceful + LEAVING_SECONDS
        else:
            loops = [it._deadline_seconds for it in entrypoints(f"{unit}.service") if isinstance(it, Loop)]
            assert grace >= max([longest, *loops]) + LEAVING_SECONDS


def test_a_pod_waits_for_the_broker_longer_than_a_back_off_remembers(overlay: list[Resource]) -> None:
    for unit in UNITS:
        [container] = containers(of_kind(overlay, "Deployment")[f"{unit}-service"])
        probe = container["startupProbe"]
        assert probe["httpGet"]["path"] == "/healthz"
        assert probe["periodSeconds"] <= 5
        assert probe["periodSeconds"] * probe["failureThreshold"] > BACK_OFF_FORGOTTEN_SECONDS


def test_nothing_is_open_that_is_not_said(overlay: list[Resource]) -> None:
    policies = of_kind(overlay, "NetworkPolicy")
    closed = policies["nothing"]["spec"]
    assert set(closed["policyTypes"]) == {"Ingress", "Egress"}
    assert not {"ingress", "egress"} & closed.keys()
    ours = {f"{unit}-service" for unit in UNITS}
    assert selected(overlay, closed["podSelector"]) == ours
    let_in = {
        name
        for policy in policies.values()
        if policy["spec"].get("ingress")
        for name in selected(overlay, policy["spec"]["podSelector"])
    }
    assert let_in & ours == {"gateway-service"}
    for name in ("names", "database", "broker-and-collector"):
        assert selected(overlay, policies[name]["spec"]["podSelector"]) == ours


@pytest.mark.parametrize("name", OVERLAYS)
def test_every_database_is_migrated_by_a_job_of_this_release(name: str) -> None:
    jobs = of_kind(build(FOLDER / "overlays" / name / "migrations"), "Job")
    release = VERSION.replace(".", "-")
    assert jobs.keys() == {f"{unit}-migration-{release}" for unit in house.DATABASES}
    for unit in house.DATABASES:
        [container] = containers(jobs[f"{unit}-migration-{release}"])
        assert container["image"] == f"posthaste/{unit}:{VERSION}"
        assert container["args"] == COMPOSE[f"migrate-{unit}"]["command"]
        [variable] = container["env"]
        source = variable["valueFrom"]["secretKeyRef"]
        assert source["key"] in SECRETS[source["name"]]
        job = jobs[f"{unit}-migration-{release}"]
        policies = of_kind(build(FOLDER / "base"), "NetworkPolicy")
        allowed = {name for name, it in policies.items() if selected([job], it["spec"]["podSelector"])}
        assert allowed == {"nothing", "names", "database"}


def test_containers_are_nobody_write_nowhere_and_have_no_rights(overlay: list[Resource]) -> None:
    migrations = build(FOLDER / "overlays/production/migrations")
    for workload in [*overlay, *migrations]:
        for container in containers(workload):
            pod = workload["spec"]["template"]["spec"]
            assert pod["securityContext"]["runAsNonRoot"] is True
            assert pod["automountServiceAccountToken"] is False
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert {"requests", "limits"} <= container["resources"].keys()


def test_queues_are_replicated_where_there_is_more_than_one_broker() -> None:
    [broker] = of_kind(build(FOLDER / "overlays/production"), "RabbitmqCluster").values()
    assert broker["spec"]["replicas"] == 3
    assert "default_queue_type = quorum" in broker["spec"]["rabbitmq"]["additionalConfig"]
