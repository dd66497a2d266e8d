"""deploy/kubernetes is valid by the schemas of Kubernetes, and every image, port, variable, secret and metric in it
exists.
"""

import importlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import custom_resources
import kubernetes_validate
import pytest
import yaml
from composed import SERVICES as COMPOSE
from kustomized import (
    FOLDER,
    JOBS,
    OVERLAYS,
    SECRETS,
    UNITS,
    VERSION,
    Resource,
    build,
    containers,
    documents,
    jobs_of,
    of_kind,
    pods_of,
    selected,
    volumes,
    with_components,
)

from chassis.runtime.loops import Loop
from gateway.config import Config as GatewayConfig
from gateway.routes import ENDPOINTS
from local.paths import ROOT
from local.stack import units

#: The oldest that is still maintained when this was written, and the newest that the schemas know.
KUBERNETES = ("1.34.1", "1.37.0")
#: From the last request's end to that of the process: what was staged is sent, connections and telemetry are closed.
LEAVING_SECONDS = 5
#: The kubelet starts a container anew ever later, and forgets that once one has run for so long.
BACK_OFF_FORGOTTEN_SECONDS = 600


@pytest.mark.parametrize(
    ("folder", "version"),
    [
        *(("production", version) for version in KUBERNETES),
        ("small", KUBERNETES[-1]),
        ("production/migrations", KUBERNETES[-1]),
        ("production/databases", KUBERNETES[-1]),
        ("small/databases", KUBERNETES[-1]),
        ("small/migrations", KUBERNETES[-1]),
    ],
)
def test_kubernetes_accepts_every_resource(folder: str, version: str) -> None:
    resources = build(FOLDER / "overlays" / folder)
    for resource in resources:
        assert resource["metadata"]["namespace"] == "posthaste"
        validate(resource, version)
    names = [(it["kind"], it["metadata"]["name"]) for it in resources]
    assert len(names) == len(set(names))


def validate(resource: Resource, version: str) -> None:
    """Raises an error for a resource that Kubernetes or a custom resource's definition would refuse or change."""
    if resource["kind"] in custom_resources.definitions():
        custom_resources.check(resource, version)
    else:
        kubernetes_validate.validate(resource, version, strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize(
    "components",
    [["gateway-api"], ["annotations/nginx"], ["annotations/haproxy"], ["registry", "ai-providers", "mail"]],
    ids=lambda it: it[0],
)
def test_kubernetes_accepts_every_component(overlay: str, components: list[str], tmp_path: Path) -> None:
    for resource in with_components(tmp_path, overlay, *components):
        validate(resource, KUBERNETES[-1])


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("RabbitmqCluster", "spec.replica", 3),
        ("RabbitmqCluster", "spec.tls.secret", "rabbitmq-tls"),
        ("RabbitmqCluster", "spec.replicas", "3"),
        ("RabbitmqCluster", "spec.override.statefulSet.spec.template.spec.volume", []),
        ("RabbitmqCluster", "spec.affinity.podAntiAfinity", {}),
        ("Gateway", "spec.listeners.0.host", "api.example.com"),
        ("HTTPRoute", "spec.rules.0.timeout", "0s"),
        ("HTTPRoute", "spec.rules.0.backendRefs.0.port", "http"),
        ("HTTPRoute", "spec.hostnames.0", "https://api.example.com"),
    ],
)
def test_a_mistake_in_a_custom_resource_is_found(kind: str, path: str, value: Any, tmp_path: Path) -> None:
    production = with_components(tmp_path, "production", "gateway-api")
    resource = of_kind(production, kind)[{"RabbitmqCluster": "rabbitmq"}.get(kind, "posthaste")]
    *way, last = (int(it) if it.isdigit() else it for it in path.split("."))
    at: Any = resource
    for one in way:
        at = at[one]
    at[last] = value
    with pytest.raises((AssertionError, kubernetes_validate.ValidationError)):
        validate(resource, KUBERNETES[-1])


def test_the_template_of_the_secrets_is_valid_and_empty() -> None:
    for secret in documents(FOLDER / "secrets.yaml"):
        kubernetes_validate.validate(secret, KUBERNETES[-1], strict=True)
        assert set(secret["stringData"].values()) == {""}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl here")
@pytest.mark.parametrize("folder", [*OVERLAYS, *(f"{name}/{jobs}" for name in OVERLAYS for jobs in JOBS)])
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
            name, _, tag = container["image"].partition(":")
            if name.startswith("posthaste/"):
                assert name.removeprefix("posthaste/") in built
                assert tag == VERSION
            else:
                assert re.fullmatch(r"v?\d+\.\d+[\w.-]*@sha256:[0-9a-f]{64}", tag), container["image"]
    assert {f"{unit}-service" for unit in UNITS} <= of_kind(overlay, "Deployment").keys()


def test_what_waits_in_the_gateway_s_temporary_files_fits(overlay: list[Resource]) -> None:
    gateway = of_kind(overlay, "Deployment")["gateway-service"]
    [container] = containers(gateway)
    [workers] = [int(it["value"]) for it in container["env"] if it["name"] == "WORKERS"]
    [size] = [it["emptyDir"]["sizeLimit"] for it in volumes(gateway) if it["name"] == "tmp"]
    most = GatewayConfig(amqp_url="", database_url="").upload_spool_bytes
    assert workers * most < int(size.removesuffix("Gi")) * 2**30


def test_ports_lead_to_what_listens(overlay: list[Resource]) -> None:
    exposed = re.search(r"^EXPOSE (\d+)$", (ROOT / "deploy/images/Dockerfile").read_text(), re.MULTILINE)
    assert exposed is not None
    for name, deployment in of_kind(overlay, "Deployment").items():
        for container in containers(deployment):
            named = {it["name"]: it["containerPort"] for it in container.get("ports", ())}
            if name.endswith("-service"):
                assert named == {"http": int(exposed[1])}
            probes = [container[it] for it in container if it.endswith("Probe")]
            assert {probe["httpGet"]["port"] for probe in probes} <= named.keys()
            assert len(probes) == 3 or not name.endswith("-service")
        assert deployment["spec"]["selector"]["matchLabels"].items() <= pods_of(deployment).items(), name
    for service in of_kind(overlay, "Service").values():
        [behind] = selected(overlay, {"matchLabels": service["spec"]["selector"]})
        [container] = containers(of_kind(overlay, "Deployment")[behind])
        targets = {port["targetPort"] for port in service["spec"]["ports"]}
        assert targets <= {it["name"] for it in container["ports"]}


def entrypoints(module: str) -> Iterator[Any]:
    [service] = [
        it for it in vars(importlib.import_module(module)).values()
        if isinstance(it, type) and it.__module__ == module and vars(it).get("name")
    ]  # fmt: skip
    for method in vars(service).values():
        yield from getattr(method, "nameko_entrypoints", ())


def test_whoever_is_told_to_stop_has_the_time_to_finish(overlay: list[Resource]) -> None:
    longest = max(endpoint.deadline_seconds for endpoint in ENDPOINTS)
    assert longest > 60
    for unit in UNITS:
        pod = of_kind(overlay, "Deployment")[f"{unit}-service"]["spec"]["template"]["spec"]
        [container] = pod["containers"]
        grace = pod["terminationGracePeriodSeconds"]
        if unit == "gateway":
            assert "GRACEFUL_SECONDS" not in {it["name"] for it in container["env"]}
            gateway = GatewayConfig(amqp_url="", database_url="")
            [_, paused] = container["lifecycle"]["preStop"]["exec"]["command"]
            assert (
                gateway.graceful_seconds > longest + gateway.read_seconds
            )  # for the body, before its deadline
            assert grace >= int(paused) + gateway.graceful_seconds + LEAVING_SECONDS
        else:
            loops = [it.deadline_seconds for it in entrypoints(f"{unit}.service") if isinstance(it, Loop)]
            assert grace >= max([longest, *loops]) + LEAVING_SECONDS


def test_a_pod_waits_for_the_broker_longer_than_a_back_off_remembers(overlay: list[Resource]) -> None:
    for unit in UNITS:
        [container] = containers(of_kind(overlay, "Deployment")[f"{unit}-service"])
        probe = container["startupProbe"]
        assert probe["httpGet"]["path"] == "/healthz"
        assert probe["periodSeconds"] <= 5
        assert probe["periodSeconds"] * probe["failureThreshold"] > BACK_OFF_FORGOTTEN_SECONDS


@pytest.mark.parametrize("name", OVERLAYS)
def test_every_database_is_migrated_by_a_job_of_this_release(name: str) -> None:
    jobs = of_kind(build(FOLDER / "overlays" / name / "migrations"), "Job")
    release = VERSION.replace(".", "-")
    assert jobs.keys() == {f"{unit}-migration-{release}" for unit in units.DATABASES}
    for unit in units.DATABASES:
        [container] = containers(jobs[f"{unit}-migration-{release}"])
        assert container["image"] == f"posthaste/{unit}:{VERSION}"
        assert container["args"] == COMPOSE[f"migrate-{unit}"]["command"]
        [source] = [
            it["valueFrom"]["secretKeyRef"] for it in container["env"] if it["name"] == "DATABASE_URL"
        ]
        assert source["key"] in SECRETS[source["name"]]
        job = jobs[f"{unit}-migration-{release}"]
        policies = of_kind(build(FOLDER / "base"), "NetworkPolicy")
        allowed = {name for name, it in policies.items() if selected([job], it["spec"]["podSelector"])}
        assert allowed == {"nothing", "names", "database"}


def test_containers_are_nobody_write_nowhere_and_have_no_rights(overlay: list[Resource]) -> None:
    for workload in [*overlay, *jobs_of("production")]:
        for container in containers(workload):
            pod = workload["spec"]["template"]["spec"]
            assert pod["securityContext"]["runAsNonRoot"] is True
            assert pod["automountServiceAccountToken"] is False
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert {"requests", "limits"} <= container["resources"].keys()


@pytest.mark.parametrize("page", ["operations.md", "observability.md"])
def test_commands_of_the_guide_name_what_is_there(page: str, production: list[Resource]) -> None:
    text = (ROOT / "docs" / page).read_text()
    everything = [*production, *jobs_of("production")]
    commands = re.findall(r"kubectl [^`\n]+", text)
    assert commands
    for command in commands:
        for name in re.findall(r"\bdeploy(?:ment)?/([\w-]+)", command.replace("deploy/kubernetes", "")):
            assert name in of_kind(production, "Deployment"), command
        for labels in re.findall(r" -l (\S+)", command):
            chosen = dict(label.split("=") for label in labels.split(","))
            assert any(chosen.items() <= it["metadata"].get("labels", {}).items() for it in everything), (
                command
            )
        for folder in re.findall(r"-k (\S+)", command):
            assert (ROOT / folder / "kustomization.yaml").exists(), command
