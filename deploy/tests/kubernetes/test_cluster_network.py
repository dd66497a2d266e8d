"""deploy/kubernetes: the network policies allow exactly the needed connections."""

from ipaddress import ip_network
from pathlib import Path

import pytest
from kustomized import (
    FOLDER,
    OVERLAYS,
    UNITS,
    Resource,
    build,
    containers,
    of_kind,
    selected,
    shared_settings,
    with_components,
)

NOBODY = {"matchLabels": {"none": "such"}}
PRIVATE = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"}


def world(resources: list[Resource]) -> set[str]:
    """Returns the workloads that may connect to any public address."""
    found = set()
    for policy in of_kind(resources, "NetworkPolicy").values():
        for rule in policy["spec"].get("egress", ()):
            blocks = [to["ipBlock"] for to in rule.get("to", ()) if "ipBlock" in to]
            assert rule.get("to"), "a rule without `to` leads everywhere"
            for block in blocks:
                if not ip_network(block["cidr"]).is_private:
                    assert block["cidr"] == "::/0" or set(block["except"]) >= PRIVATE
                    found |= selected(resources, policy["spec"]["podSelector"])
    return found


def test_publishing_and_webhooks_alone_reach_the_world(overlay: list[Resource]) -> None:
    base = build(FOLDER / "base")
    assert world(base) == world(overlay) == {"publishing-service", "webhooks-service"}


@pytest.mark.parametrize("name", OVERLAYS)
@pytest.mark.parametrize(
    ("component", "service"), [("ai-providers", "ai-service"), ("mail", "accounts-service")]
)
def test_one_more_reaches_it_where_its_component_is_added(
    name: str, component: str, service: str, tmp_path: Path
) -> None:
    assert world(with_components(tmp_path, name, component)) == {
        "publishing-service",
        "webhooks-service",
        service,
    }


def test_nothing_is_open_that_is_not_said(overlay: list[Resource]) -> None:
    policies = of_kind(overlay, "NetworkPolicy")
    closed = policies["nothing"]["spec"]
    assert set(closed["policyTypes"]) == {"Ingress", "Egress"}
    assert not {"ingress", "egress"} & closed.keys()
    ours = {f"{unit}-service" for unit in UNITS}
    assert selected(overlay, closed["podSelector"]) == ours | {"ctl", "dashboard-service"}
    assert selected(overlay, policies["names"]["spec"]["podSelector"]) == ours | {"ctl", "dashboard-service"}
    let_in = {
        name
        for policy in policies.values()
        if policy["spec"].get("ingress")
        for name in selected(overlay, policy["spec"]["podSelector"])
    }
    assert let_in & (ours | {"dashboard-service"}) == {"gateway-service", "dashboard-service"}
    for name in ("database", "broker-and-collector"):
        assert selected(overlay, policies[name]["spec"]["podSelector"]) == ours


def test_the_dashboard_reaches_the_gateway_and_nothing_else(overlay: list[Resource]) -> None:
    dashboard = of_kind(overlay, "Deployment")["dashboard-service"]
    ways = {
        name: it["spec"]["egress"]
        for name, it in of_kind(overlay, "NetworkPolicy").items()
        if "egress" in it["spec"] and selected([dashboard], it["spec"]["podSelector"])
    }
    assert ways.keys() == {"names", "dashboard"}
    [way] = ways["dashboard"]
    [to] = way["to"]
    assert selected(overlay, to["podSelector"]) == {"gateway-service"}


def test_the_operator_s_command_line_is_there_on_demand_and_reaches_the_broker_alone(
    overlay: list[Resource],
) -> None:
    ctl = of_kind(overlay, "Deployment")["ctl"]
    assert ctl["spec"]["replicas"] == 0
    [container] = containers(ctl)
    told = {variable["name"]: variable for variable in container["env"]}
    assert told.keys() == {"AMQP_TLS_CA", "AMQP_URL", "MESSAGE_KEYS"}
    for name in ("AMQP_URL", "MESSAGE_KEYS"):
        assert told[name]["valueFrom"]["secretKeyRef"] == {"name": "posthaste-ctl", "key": name}
    policies = of_kind(overlay, "NetworkPolicy")
    ways = {
        name: it["spec"]["egress"]
        for name, it in policies.items()
        if "egress" in it["spec"] and selected([ctl], it["spec"]["podSelector"])
    }
    assert ways.keys() == {"names", "ctl"}
    broker = policies["rabbitmq"]["spec"]
    [way] = ways["ctl"]
    assert [it["podSelector"] for it in way["to"]] == [broker["podSelector"]]
    [let_in] = [it for it in broker["ingress"] if selected([ctl], it["from"][0].get("podSelector", NOBODY))]
    assert way["ports"] == let_in["ports"] == [{"protocol": "TCP", "port": port} for port in (5672, 5671)]


def ways_out(resources: list[Resource], workload: str) -> dict[str, list[Resource]]:
    one = of_kind(resources, "Deployment")[workload]
    return {
        name: it["spec"]["egress"]
        for name, it in of_kind(resources, "NetworkPolicy").items()
        if "egress" in it["spec"] and selected([one], it["spec"]["podSelector"])
    }


def test_every_pod_may_ask_for_names_also_of_the_cache_on_its_node(overlay: list[Resource]) -> None:
    for name in of_kind(overlay, "Deployment"):
        [names] = [rules for policy, rules in ways_out(overlay, name).items() if policy.endswith("names")]
        [rule] = names
        assert {"ipBlock": {"cidr": "169.254.20.10/32"}} in rule["to"]
        assert [to["podSelector"] for to in rule["to"] if "podSelector" in to] == [
            {"matchLabels": {"k8s-app": "kube-dns"}}
        ]
        assert {(it["protocol"], it["port"]) for it in rule["ports"]} == {("UDP", 53), ("TCP", 53)}


def test_metrics_flow_from_the_units_to_the_collector_and_prometheus_and_nowhere_else(
    production: list[Resource],
) -> None:
    policies = of_kind(production, "NetworkPolicy")
    units = {f"{unit}-service" for unit in UNITS}
    let_in = {
        name: [
            (set().union(*(selected(production, it["podSelector"]) for it in rule["from"] if "podSelector" in it)),
             rule["ports"][0]["port"])
            for rule in policies[name]["spec"]["ingress"]
        ]
        for name in ("collector", "prometheus")
    }  # fmt: skip
    assert let_in == {"collector": [(units, 4318), ({"prometheus"}, 8889)], "prometheus": [(set(), 9090)]}
    for name in let_in:
        assert set(policies[name]["spec"]["policyTypes"]) == {"Ingress", "Egress"}
        assert ways_out(production, name).keys() == {name, f"{name}-names"}
    [traces] = ways_out(production, "collector")["collector"]
    [receiver] = [it["namespaceSelector"]["matchLabels"] for it in traces["to"]]
    host, _, port = shared_settings(production)["JAEGER_OTLP_ENDPOINT"].partition(":")
    assert receiver == {"kubernetes.io/metadata.name": host.split(".")[1]}
    assert [it["port"] for it in traces["ports"]] == [int(port)]
    [_, scraped] = ways_out(production, "prometheus")["prometheus"]
    assert selected(production, scraped["to"][0]["podSelector"]) == {"collector"}
    assert [it["port"] for it in scraped["ports"]] == [8889]
