"""Checks custom resources by strict forms of their definitions: a field that a definition does not have is refused.

A cluster would drop a field with a wrong name without a word.
"""

import os
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml
from jsonschema import Draft202012Validator
from kubernetes_validate import utils
from kustomized import Resource

#: The fields that we use; `CRDS` names a folder with whole definitions instead.
OURS = Path(__file__).with_suffix(".yaml")
# Otherwise it reads 2 MB of schemas for each resource that it checks.
utils.schema_contents = cache(utils.schema_contents)


def check(resource: Resource, version: str) -> None:
    """Raises AssertionError if the definition of a custom resource refuses any of its fields. The message names them
    all.

    A broker's `override` becomes part of a StatefulSet, so it is checked by the schema of StatefulSets in this version
    of Kubernetes.
    """
    schema = definitions()[resource["kind"]]
    found = [f"{it.json_path}: {it.message}" for it in Draft202012Validator(schema).iter_errors(resource)]
    assert not found, found
    if resource["kind"] == "RabbitmqCluster":
        kubernetes_validate.validate(stateful_set(resource), version, strict=True)


def stateful_set(broker: Resource) -> Resource:
    """Returns a StatefulSet with the pods that a RabbitmqCluster overrides."""
    spec = broker["spec"]
    pod = {
        "containers": [],
        **spec["override"]["statefulSet"]["spec"]["template"]["spec"],
        "affinity": spec["affinity"],
    }
    for container in pod["containers"]:
        container.setdefault("resources", spec["resources"])
    labels = {"app.kubernetes.io/name": broker["metadata"]["name"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": broker["metadata"]["name"]},
        "spec": {
            "serviceName": "nodes",
            "replicas": spec["replicas"],
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


@cache
def definitions() -> dict[str, Any]:
    """Returns the strict schema of each kind."""
    if folder := os.environ.get("CRDS"):
        files = [yaml.safe_load(path.read_text()) for path in sorted(Path(folder).glob("*.yaml"))]
        return {it["spec"]["names"]["kind"]: strict(served(it)) for it in files}
    return {kind: strict(it) for kind, it in yaml.safe_load(OURS.read_text()).items()}


def served(definition: Resource) -> Any:
    """Returns the schema of a definition's stored version."""
    [stored] = [it for it in definition["spec"]["versions"] if it["storage"]]
    return stored["schema"]["openAPIV3Schema"]


def strict(schema: Any, top: bool = True) -> Any:
    """Returns a structural schema of Kubernetes as a JSON schema that refuses unknown fields.

    It leaves out the resource's own `metadata`, which `kubernetes_validate` checks for every resource.
    """
    made = {key: value for key, value in schema.items() if not key.startswith("x-") and key != "format"}
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("anyOf", None)
        made["type"] = ["integer", "string"]
    if "properties" in schema:
        made["properties"] = {
            name: True if top and name == "metadata" else strict(it, top=False)
            for name, it in schema["properties"].items()
        }
        made["additionalProperties"] = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if isinstance(schema.get("additionalProperties"), dict):
        made["additionalProperties"] = strict(schema["additionalProperties"], top=False)
    if "items" in schema:
        made["items"] = strict(schema["items"], top=False)
    return made
