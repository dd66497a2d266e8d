"""Reads docker-compose.yml, and tells which processes each of its containers runs."""

from collections.abc import Mapping
from typing import Any

import yaml

from local.paths import ROOT
from local.stack import compact, units

COMPOSE = yaml.load((ROOT / "docker-compose.yml").read_text(), yaml.CSafeLoader)
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = {name: row for name, row in SERVICES.items() if "posthaste" in row["image"]}
#: Container → the services in it.
PROCESSES = {name: (name,) for name in (*units.SERVICES, "gateway")} | {"services": compact.SERVICES}
MIGRATIONS = {name: row for name, row in SERVICES.items() if name.startswith("migrate-")}
ENV_FILES = {name: ROOT / "deploy" / "compose" / f"{name}.env" for name in ("compact", "demo", "tls")}


def names(environment: Mapping[str, Any]) -> set[str]:
    return {name.removesuffix("_FILE") for name in environment}
