"""deploy/kubernetes: each secret, setting and certificate is defined, is used, and reaches the processes that read
it.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
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
    jobs_of,
    of_kind,
    shared_settings,
    volumes,
    with_components,
)

from dashboard.config import Config
from local.stack import units

#: Where the production overlay has the authorities of each server's certificate.
AUTHORITIES = {
    "AMQP_TLS_CA": ("/etc/posthaste/broker/ca.crt", "rabbitmq-tls"),
    "DATABASE_TLS_CA": ("/etc/posthaste/database/ca.crt", "posthaste-database-ca"),
}


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_is_told_what_it_reads_and_nothing_else(
    overlay: list[Resource], unit: str, settings_of: Any
) -> None:
    settings = settings_of(unit)
    [container] = containers(of_kind(overlay, "Deployment")[f"{unit}-service"])
    told = {it["name"] for it in container["env"]}
    for source in container["envFrom"]:
        told |= SECRETS[source["secretRef"]["name"]].keys()
    for variable in container["env"]:
        source = variable.get("valueFrom", {})
        if "configMapKeyRef" in source:
            assert source["configMapKeyRef"]["key"] in shared_settings(overlay)
        if "secretKeyRef" in source:
            assert source["secretKeyRef"]["key"] in SECRETS[source["secretKeyRef"]["name"]]
    assert told - settings.read == set()
    assert settings.required - told == set()
    assert [source["secretRef"]["name"] for source in container["envFrom"]] == [f"posthaste-{unit}"]


def test_the_dashboard_is_told_what_it_reads_and_no_secret(overlay: list[Resource]) -> None:
    [container] = containers(of_kind(overlay, "Deployment")["dashboard-service"])
    told = {it["name"] for it in container["env"]}
    pages = {"TERMS_URL", "PRIVACY_URL"}
    assert told - pages == {"API_URL", "DASHBOARD_URL", "PUBLIC_BASE_URL", "TRUSTED_PROXY_HOPS", "LOG_LEVEL"}
    assert "envFrom" not in container
    Config.from_env(dict.fromkeys(told - {"TRUSTED_PROXY_HOPS"}, "http://host") | {"TRUSTED_PROXY_HOPS": "1"})


def secrets_of(resources: list[Resource]) -> set[str]:
    """Returns all Secrets that variables, volumes and certificates refer to."""
    found = {tls["secretName"] for it in of_kind(resources, "Ingress").values() for tls in it["spec"]["tls"]}
    for resource in resources:
        for container in containers(resource):
            found |= {it["secretRef"]["name"] for it in container.get("envFrom", ())}
            sources = [it.get("valueFrom", {}) for it in container.get("env", ())]
            found |= {it["secretKeyRef"]["name"] for it in sources if "secretKeyRef" in it}
        for volume in volumes(resource):
            if "secret" in volume:
                found.add(volume["secret"]["secretName"])
    return found


def settings_in(resources: list[Resource]) -> Iterator[tuple[str, str]]:
    """Yields the settings of all containers, from the ConfigMap and from the container itself."""
    shared = shared_settings(resources)
    for resource in resources:
        for container in containers(resource):
            for variable in container.get("env", ()):
                source = variable.get("valueFrom", {})
                if "configMapKeyRef" in source:
                    assert (
                        of_kind(resources, "ConfigMap")[source["configMapKeyRef"]["name"]]["data"] == shared
                    )
                    yield source["configMapKeyRef"]["key"], shared[source["configMapKeyRef"]["key"]]
                elif not source:
                    yield "", variable["value"]


def test_every_secret_that_is_named_has_its_template_or_its_maker(production: list[Resource]) -> None:
    everything = [*production, *jobs_of("production")]
    of_broker = {"rabbitmq-definitions"}
    assert secrets_of(everything) | of_broker == SECRETS.keys()
    small = [*build(FOLDER / "overlays/small"), *jobs_of("small")]
    assert secrets_of(small) <= SECRETS.keys()


def test_every_setting_that_is_shared_is_used_by_somebody(overlay: list[Resource]) -> None:
    used = {key for key, _ in settings_in(overlay)} - {""}
    assert used == shared_settings(overlay).keys()


def test_an_address_without_a_dot_is_a_service_of_the_same_overlay(overlay: list[Resource]) -> None:
    services = of_kind(overlay, "Service")
    found = 0
    for _, value in settings_in(overlay):
        if address := re.fullmatch(r"(?:https?://)?([a-z][\w-]*):(\d+)/?", value):
            found += 1
            assert int(address[2]) in {it["port"] for it in services[address[1]]["spec"]["ports"]}, value
    assert found or not services.keys() - {"gateway-service"}


def test_production_has_every_connection_to_the_servers_encrypted_and_their_names_checked(
    production: list[Resource],
) -> None:
    shared = shared_settings(production)
    for resource in [*production, *jobs_of("production")]:
        for container in containers(resource):
            told = {it["name"]: it for it in container.get("env", ())}
            for server, url in (("AMQP", "AMQP_URL"), ("DATABASE", "DATABASE_URL")):
                if not any(name.startswith(url) for name in reads(container)):
                    continue
                path, secret = AUTHORITIES[f"{server}_TLS_CA"]
                variable = told[f"{server}_TLS_CA"]
                assert variable.get("value", shared[f"{server}_TLS_CA"]) == path
                mounted = {it["mountPath"]: it["name"] for it in container["volumeMounts"]}
                [volume] = [it for it in volumes(resource) if it["name"] == mounted[str(Path(path).parent)]]
                assert volume["secret"]["secretName"] == secret
                assert Path(path).name in SECRETS[secret]
    tls = of_kind(production, "RabbitmqCluster")["rabbitmq"]["spec"]["tls"]
    assert tls == {"secretName": "rabbitmq-tls", "disableNonTLSListeners": True}


def test_no_unit_sees_the_broker_s_key(overlay: list[Resource]) -> None:
    mounts = [
        it["secret"] for resource in overlay for it in volumes(resource)
        if it.get("secret", {}).get("secretName") == "rabbitmq-tls"
    ]  # fmt: skip
    assert len(mounts) == len(UNITS) + 1  # and the operator's command line
    assert all(it["items"] == [{"key": "ca.crt", "path": "ca.crt"}] for it in mounts)


@pytest.mark.parametrize("name", OVERLAYS)
def test_a_job_makes_the_role_and_the_database_that_each_service_is_told(name: str) -> None:
    [job] = build(FOLDER / "overlays" / name / "databases")
    [container] = containers(job)
    assert container["image"] == f"posthaste/gateway:{VERSION}"
    assert container["args"][:3] == ["python", "-m", "chassis.database_roles"]
    assert sorted(container["args"][3:]) == sorted(units.DATABASES)
    sources = {it["name"]: it["valueFrom"]["secretKeyRef"] for it in container["env"] if "valueFrom" in it}
    for unit in units.DATABASES:
        assert sources.pop(f"DATABASE_URL_{unit.upper()}") == {
            "name": f"posthaste-{unit}",
            "key": "DATABASE_URL",
        }
    assert {it["name"] for it in sources.values()} == {"posthaste-database-admin"}
    assert sources.keys() == SECRETS["posthaste-database-admin"].keys()
    everything = [*build(FOLDER / "overlays" / name), *build(FOLDER / "overlays" / name / "migrations")]
    assert "posthaste-database-admin" not in secrets_of(everything)


def reads(container: Resource) -> set[str]:
    """Returns the names of a container's variables."""
    shared = [SECRETS[it["secretRef"]["name"]] for it in container.get("envFrom", ())]
    return {it["name"] for it in container.get("env", ())}.union(*shared)


def test_how_payments_are_made_is_said_in_one_place_and_not_in_the_deployment(
    overlay: list[Resource],
) -> None:
    [container] = containers(of_kind(overlay, "Deployment")["ai-service"])
    [variable] = [it for it in container["env"] if it["name"] == "PAYMENT_PROVIDER"]
    assert variable["valueFrom"]["configMapKeyRef"]["key"] == "PAYMENT_PROVIDER"


@pytest.mark.parametrize("file", ["overlays/production/settings/settings.env", "../observability/rules.yaml"])
def test_a_changed_setting_or_rule_replaces_the_pods_that_read_it(file: str, tmp_path: Path) -> None:
    copy = tmp_path / "deploy"
    for folder in ("kubernetes", "observability"):
        shutil.copytree(FOLDER.parent / folder, copy / folder)
    before = templates(copy / "kubernetes")
    changed = copy / "kubernetes" / file
    text = changed.read_text()
    changed.write_text(text + ("\nLOG_LEVEL=debug\n" if file.endswith(".env") else "# changed\n"))
    (copy / "kubernetes").rename(tmp_path / "deploy" / "changed")
    after = templates(copy / "changed")
    units = {*(f"{unit}-service" for unit in UNITS), "dashboard-service", "collector", "ctl"}
    replaced = {name for name in before if before[name] != after[name]}
    assert replaced == (units if file.endswith(".env") else {"collector", "prometheus"})


def templates(folder: Path) -> dict[str, Resource]:
    """Returns the pod template of each Deployment."""
    deployments = of_kind(build(folder / "overlays/production"), "Deployment")
    return {name: it["spec"]["template"] for name, it in deployments.items()}


def test_every_pod_pulls_with_the_login_of_the_registry(tmp_path: Path) -> None:
    login = [{"name": "posthaste-registry"}]
    for name in (*OVERLAYS, *(f"{overlay}/{jobs}" for overlay in OVERLAYS for jobs in JOBS)):
        (folder := tmp_path / name.replace("/", "-")).mkdir()
        built = with_components(folder, name, "registry")
        for resource in built:
            if containers(resource):
                assert resource["spec"]["template"]["spec"]["imagePullSecrets"] == login
        for broker in of_kind(built, "RabbitmqCluster").values():
            assert broker["spec"]["imagePullSecrets"] == login
