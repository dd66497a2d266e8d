"""The resources that `kubectl apply -k` would send, as kustomize builds them, and functions that search in them."""

import copy
import os
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from contracts.services import SERVICES
from local.paths import ROOT
from local.testing.programs import program_or_skip

FOLDER = ROOT / "deploy" / "kubernetes"
#: The first release of Debian that has kustomize. `kubectl apply -k` has the same inside.
KUSTOMIZE_RELEASE = "trixie"
OVERLAYS = ("small", "production")
UNITS = ("gateway", *SERVICES)
VERSION = tomllib.loads((ROOT / "services/gateway/pyproject.toml").read_text())["project"]["version"]
#: Folders of an overlay beside its units: what is applied before them.
JOBS = ("databases", "migrations")
Resource = dict[str, Any]


def build(folder: Path) -> list[Resource]:
    """Returns the resources that kustomize builds from the folder. Raises AssertionError with kustomize's message.

    Skips the test if kustomize is not available, except in CI.
    """
    return copy.deepcopy(_built(folder.resolve()))


@cache
def _built(folder: Path) -> list[Resource]:
    program = program_or_skip("kustomize", "kustomize", KUSTOMIZE_RELEASE)
    done = subprocess.run([program, "build", folder], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", f"{folder}: {done.stderr}"
    return [it for it in yaml.load_all(done.stdout, yaml.CSafeLoader) if it]


def documents(path: Path) -> list[Resource]:
    return copy.deepcopy(_documents(path))


@cache
def _documents(path: Path) -> list[Resource]:
    return [it for it in yaml.load_all(path.read_text(), yaml.CSafeLoader) if it]


def containers(resource: Resource) -> list[Resource]:
    found: list[Resource] = resource.get("spec", {}).get("template", {}).get("spec", {}).get("containers", [])
    return found


def volumes(resource: Resource) -> list[Resource]:
    found: list[Resource] = resource.get("spec", {}).get("template", {}).get("spec", {}).get("volumes", [])
    return found


def of_kind(resources: list[Resource], kind: str) -> dict[str, Resource]:
    return {it["metadata"]["name"]: it for it in resources if it["kind"] == kind}


def shared_settings(resources: list[Resource]) -> dict[str, str]:
    """Returns the data of the ConfigMap `posthaste`. kustomize appends a hash to its name."""
    return config_map(resources, "posthaste")


def config_map(resources: list[Resource], name: str) -> dict[str, str]:
    """Returns the data of the ConfigMap that was generated under this name. Raises ValueError unless there is exactly
    one.
    """
    [data] = [
        it["data"] for full, it in of_kind(resources, "ConfigMap").items()
        if re.fullmatch(rf"{name}(-[a-z0-9]{{10}})?", full)
    ]  # fmt: skip
    return dict(data)


def with_components(folder: Path, overlay: str, *components: str) -> list[Resource]:
    """Returns an overlay with further components, built in this empty folder."""
    parts = {
        "resources": [FOLDER / "overlays" / overlay],
        "components": [FOLDER / "components" / it for it in components],
    }
    added = {kind: [os.path.relpath(it, folder) for it in paths] for kind, paths in parts.items()}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(added))
    return build(folder)


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
