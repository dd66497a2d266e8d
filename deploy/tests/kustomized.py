"""Computes what `kubectl apply -k` would send: the part of kustomize that our folders use.

Resources, components, namePrefix, nameSuffix, namespace, labels, images, patches (strategic merge, and JSON patches
with a target by kind and labels), `$patch: delete` of such, and configMapGenerator with files. Anything else in a
kustomization is an error here.
"""

import copy
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from contracts.services import SERVICES
from local.paths import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
OVERLAYS = ("small", "production")
UNITS = ("gateway", *SERVICES)
VERSION = tomllib.loads((ROOT / "services/gateway/pyproject.toml").read_text())["project"]["version"]
#: Folders of an overlay beside its units: what is applied before them.
JOBS = ("databases", "migrations")
Resource = dict[str, Any]
#: Lists that a strategic merge joins by the name of their elements; all others it replaces.
_MERGED_BY = {
    "containers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "ports": "name",
}
_KNOWN = {
    *("apiVersion", "kind", "resources", "components", "namePrefix", "nameSuffix", "namespace", "labels"),
    *("images", "patches", "configMapGenerator", "generatorOptions"),
}


def build(folder: Path) -> list[Resource]:
    return _apply(folder, _read(folder), [])


def _read(folder: Path) -> Resource:
    [found] = documents(folder / "kustomization.yaml")
    assert not found.keys() - _KNOWN, f"{folder}: {found.keys() - _KNOWN} is not known here"
    return found


def _apply(folder: Path, settings: Resource, below: list[Resource]) -> list[Resource]:
    """Returns the resources `below` and those of the folder, changed as the folder says."""
    resources = list(below)
    for name in settings.get("resources", ()):
        path = (folder / name).resolve()
        resources += build(path) if path.is_dir() else documents(path)
    for generator in settings.get("configMapGenerator", ()):
        files = {name: (folder / name).read_text() for name in generator["files"]}
        named = {"name": generator["name"]}
        resources.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": files})
    for name in settings.get("components", ()):
        path = (folder / name).resolve()
        resources = _apply(path, _read(path), resources)
    for patch in settings.get("patches", ()):
        _patch(resources, folder, patch)
    for resource in resources:
        _transform(resource, settings)
    return resources


def documents(path: Path) -> list[Resource]:
    return copy.deepcopy(_documents(path))


@cache
def _documents(path: Path) -> list[Resource]:
    return [it for it in yaml.safe_load_all(path.read_text()) if it]


def _patch(resources: list[Resource], folder: Path, patch: Resource) -> None:
    text = (folder / patch["path"]).read_text() if "path" in patch else patch["patch"]
    for one in yaml.safe_load_all(text):
        if isinstance(one, list):
            for resource in resources:
                if _is_meant(resource, patch["target"]):
                    for operation in one:
                        _change(resource, operation)
        elif one.get("$patch") == "delete":
            resources[:] = [it for it in resources if not _is_meant(it, patch["target"])]
        else:
            same = [it for it in resources if it["kind"] == one["kind"] and _name(it) == _name(one)]
            assert len(same) == 1, f"{folder}: {one['kind']} {_name(one)} is there {len(same)} times"
            same[0].update(_merged(same[0], one))


def _is_meant(resource: Resource, target: Resource) -> bool:
    wanted = dict(it.split("=") for it in target.get("labelSelector", "").split(",") if it)
    labels = resource["metadata"].get("labels", {})
    return bool(resource["kind"] == target["kind"] and wanted.items() <= labels.items())


def _name(resource: Resource) -> str:
    return str(resource["metadata"]["name"])


def _change(resource: Resource, operation: Resource) -> None:
    """Applies one operation of a JSON patch."""
    *way, last = operation["path"].strip("/").split("/")
    place: Any = resource
    for step in way:
        place = place[int(step)] if isinstance(place, list) else place[step]
    assert operation["op"] in ("add", "replace")
    assert operation["op"] == "add" or last in place
    if last == "-":
        place.append(copy.deepcopy(operation["value"]))
    else:
        place[last] = operation["value"]


def _merged(base: Any, patch: Any, field: str = "") -> Any:
    if isinstance(base, dict) and isinstance(patch, dict):
        merged = {key: _merged(base[key], patch[key], key) if key in patch else base[key] for key in base}
        return merged | {key: patch[key] for key in patch if key not in base}
    if isinstance(base, list) and isinstance(patch, list) and (key := _MERGED_BY.get(field)):
        there = {one[key]: one for one in base}
        return [_merged(there.pop(one[key], {}), one) for one in patch] + list(there.values())
    return copy.deepcopy(patch)


def _transform(resource: Resource, settings: Resource) -> None:
    prefix, suffix = settings.get("namePrefix", ""), settings.get("nameSuffix", "")
    resource["metadata"]["name"] = prefix + _name(resource) + suffix
    if resource["kind"] == "HorizontalPodAutoscaler":
        target = resource["spec"]["scaleTargetRef"]
        target["name"] = prefix + target["name"] + suffix
    if "namespace" in settings:
        resource["metadata"]["namespace"] = settings["namespace"]
    for labels in settings.get("labels", ()):
        for place in _label_places(resource, selectors=labels.get("includeSelectors", False)):
            place.update(labels["pairs"])
    for image in settings.get("images", ()):
        for container in containers(resource):
            if container["image"] == image["name"]:
                container["image"] = f"{image['newName']}:{image['newTag']}"


def _label_places(resource: Resource, *, selectors: bool) -> Iterator[dict[str, str]]:
    yield resource["metadata"].setdefault("labels", {})
    spec = resource.get("spec", {})
    if "template" in spec:
        yield spec["template"]["metadata"].setdefault("labels", {})
    if selectors and resource["kind"] == "Service":
        yield spec["selector"]
    elif selectors and "matchLabels" in spec.get("selector", {}):
        yield spec["selector"]["matchLabels"]
        for spread in spec.get("template", {}).get("spec", {}).get("topologySpreadConstraints", ()):
            yield spread["labelSelector"]["matchLabels"]


def containers(resource: Resource) -> list[Resource]:
    found: list[Resource] = resource.get("spec", {}).get("template", {}).get("spec", {}).get("containers", [])
    return found


def volumes(resource: Resource) -> list[Resource]:
    found: list[Resource] = resource.get("spec", {}).get("template", {}).get("spec", {}).get("volumes", [])
    return found


def of_kind(resources: list[Resource], kind: str) -> dict[str, Resource]:
    return {it["metadata"]["name"]: it for it in resources if it["kind"] == kind}


def pods_of(resource: Resource) -> dict[str, str]:
    labels: dict[str, str] = resource["spec"]["template"]["metadata"]["labels"]
    return labels


def selected(resources: list[Resource], selector: Resource) -> set[str]:
    """Returns the names of the workloads whose pods a selector matches."""
    found = set()
    for one in resources:
        if one["kind"] in ("Deployment", "Job"):
            labels = pods_of(one)
            listed = all(labels.get(it["key"]) in it["values"] for it in selector.get("matchExpressions", ()))
            if listed and selector.get("matchLabels", {}).items() <= labels.items():
                found.add(one["metadata"]["name"])
    return found


def jobs_of(overlay: str) -> list[Resource]:
    return [it for jobs in JOBS for it in build(FOLDER / "overlays" / overlay / jobs)]


#: Secret → the keys that an operator fills in.
SECRETS = {it["metadata"]["name"]: it["stringData"] for it in documents(FOLDER / "secrets.yaml")}
