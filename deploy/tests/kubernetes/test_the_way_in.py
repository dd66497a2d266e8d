"""deploy/kubernetes: the way of requests from outside to gateway and dashboard, with an Ingress or the Gateway API."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from kustomized import (
    FOLDER,
    OVERLAYS,
    SECRETS,
    Resource,
    documents,
    of_kind,
    selected,
    shared_settings,
    with_components,
)

from dashboard.app import create_app
from dashboard.config import Config
from gateway.routes import ENDPOINTS


@pytest.fixture(params=OVERLAYS)
def with_gateway_api(request: pytest.FixtureRequest, tmp_path: Path) -> list[Resource]:
    return with_components(tmp_path, request.param, "gateway-api")


def paths_of_the_ingress(resources: list[Resource]) -> dict[str, tuple[str, Any]]:
    [rule] = of_kind(resources, "Ingress")["gateway"]["spec"]["rules"]
    backends = {it["path"]: it["backend"]["service"] for it in rule["http"]["paths"]}
    assert {it["pathType"] for it in rule["http"]["paths"]} == {"Prefix"}
    return {path: (it["name"], it["port"]["name"]) for path, it in backends.items()}


def paths_of_the_route(resources: list[Resource]) -> dict[str, tuple[str, Any]]:
    found = {}
    for rule in of_kind(resources, "HTTPRoute")["posthaste"]["spec"]["rules"]:
        [backend] = rule["backendRefs"]
        for match in rule["matches"]:
            assert match["path"]["type"] == "PathPrefix"
            found[match["path"]["value"]] = (backend["name"], backend["port"])
    return found


def test_the_paths_of_the_api_lead_to_the_gateway_and_all_others_to_the_dashboard(
    with_gateway_api: list[Resource],
) -> None:
    outside = {f"/{endpoint.path.split('/')[1]}" for endpoint in ENDPOINTS if endpoint.outside}
    ours = {rule.rule.split("/")[1] for rule in create_app(Config(api_url="http://x")).url_map.iter_rules()}
    services = of_kind(with_gateway_api, "Service")
    for leads in (paths_of_the_ingress(with_gateway_api), paths_of_the_route(with_gateway_api)):
        for service, port in leads.values():
            assert [it for it in services[service]["spec"]["ports"] if port in (it["name"], it["port"])]
        assert leads.pop("/")[0] == "dashboard-service"
        assert {service for service, _ in leads.values()} == {"gateway-service"}
        assert outside | {"/api", "/mcp", "/docs", "/llms.txt", "/healthz", "/readyz"} == leads.keys()
        assert not {f"/{it}" for it in ours} & leads.keys() - {"/healthz"}


def test_the_host_is_that_of_the_public_address(with_gateway_api: list[Resource]) -> None:
    told = shared_settings(with_gateway_api)
    host = urlsplit(told["PUBLIC_BASE_URL"]).hostname
    assert urlsplit(told["DASHBOARD_URL"]).hostname == host
    ingress = of_kind(with_gateway_api, "Ingress")["gateway"]["spec"]
    assert [it["host"] for it in ingress["rules"]] == [host]
    assert [it["hosts"] for it in ingress["tls"]] == [[host]]
    [gateway] = of_kind(with_gateway_api, "Gateway").values()
    assert {it["hostname"] for it in gateway["spec"]["listeners"]} == {host}
    routes = of_kind(with_gateway_api, "HTTPRoute")
    assert {host for it in routes.values() for host in it["spec"]["hostnames"]} == {host}


def test_plain_http_leads_to_https_alone(with_gateway_api: list[Resource]) -> None:
    [gateway] = of_kind(with_gateway_api, "Gateway").values()
    protocols = {it["name"]: it["protocol"] for it in gateway["spec"]["listeners"]}
    [certificate] = [
        ref for it in gateway["spec"]["listeners"] for ref in it.get("tls", {}).get("certificateRefs", ())
    ]
    assert certificate["name"] in SECRETS
    for name, route in of_kind(with_gateway_api, "HTTPRoute").items():
        [parent] = route["spec"]["parentRefs"]
        assert parent["name"] == gateway["metadata"]["name"]
        if protocols[parent["sectionName"]] == "HTTP":
            [rule] = route["spec"]["rules"]
            assert rule == {
                "filters": [
                    {"type": "RequestRedirect", "requestRedirect": {"scheme": "https", "statusCode": 301}}
                ]
            }, name


def test_no_proxy_gives_up_before_the_api_does(with_gateway_api: list[Resource]) -> None:
    longest = max(endpoint.deadline_seconds for endpoint in ENDPOINTS)
    for rule in of_kind(with_gateway_api, "HTTPRoute")["posthaste"]["spec"]["rules"]:
        assert rule["timeouts"] == {"request": "0s"}  # none
    for name in ("nginx", "haproxy"):
        [component] = documents(FOLDER / "components/annotations" / name / "kustomization.yaml")
        text = component["patches"][0]["patch"]
        waits = [
            int(line.rsplit(" ", 1)[1].removesuffix("s")) for line in text.splitlines() if "timeout" in line
        ]
        assert waits
        assert min(waits) > longest


def test_one_label_opens_the_way_in_and_the_ingress_names_no_controller(overlay: list[Resource]) -> None:
    way_in = of_kind(overlay, "NetworkPolicy")["way-in"]["spec"]
    assert selected(overlay, way_in["podSelector"]) == {"gateway-service", "dashboard-service"}
    [rule] = way_in["ingress"]
    assert rule["from"] == [{"namespaceSelector": {"matchLabels": {"posthaste-way-in": "true"}}}]
    ingress = of_kind(overlay, "Ingress")["gateway"]
    assert "annotations" not in ingress["metadata"]
    assert "ingressClassName" not in ingress["spec"]
