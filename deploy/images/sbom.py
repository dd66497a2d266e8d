"""Writes an image's software bill of materials into the image while it is built: CycloneDX 1.6 as JSON.

    python sbom.py [--base IMAGE] >posthaste.cdx.json

It lists what the image really contains: the distributions of its Python environment with their licences and
dependencies, Python itself, the Debian packages, and the operating system. It uses the standard library only, because
the image has no other libraries for it. `./dev sbom IMAGE` extracts the file and checks it against the schema.
"""

import argparse
import json
import os
import platform
import re
import sys
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from email.message import Message
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote

Component = dict[str, Any]
#: Our own distributions. No registry has them: a scanner must not take a stranger's package of that name for ours.
OWN_PREFIX = "posthaste-"
LIBRARIES = {"posthaste-contracts", "posthaste-chassis"}
REQUIRED_NAME = re.compile(r"[A-Za-z0-9._-]+")
#: A licence that is longer than a name is the licence's text.
LICENCE_NAME_CHARACTERS = 80


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def licences(metadata: Message) -> list[dict[str, Any]]:
    """Returns the licences in a distribution's metadata: the SPDX expression, else the classifiers, else the name."""
    if expression := metadata.get("License-Expression"):
        return [{"expression": expression}]
    classifiers = [it.split(" :: ") for it in metadata.get_all("Classifier", [])]
    named = [it[-1] for it in classifiers if it[0] == "License" and len(it) > 2]
    words = " ".join((metadata.get("License") or "").split())
    if not named and words and words != "UNKNOWN" and len(words) <= LICENCE_NAME_CHARACTERS:
        named = [words]
    return [{"license": {"name": name}} for name in sorted(set(named))]


def python_component(distribution: Distribution) -> Component:
    name, version = canonical(distribution.metadata["Name"]), distribution.version
    kind = "generic" if name.startswith(OWN_PREFIX) else "pypi"
    purl = f"pkg:{kind}/{name}@{quote(version)}"
    component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    found = licences(distribution.metadata)  # type: ignore[arg-type] # a Message, by another name
    return component | ({"licenses": found} if found else {})


def debian_components(status: str, system: dict[str, str]) -> dict[str, tuple[Component, set[str]]]:
    """Returns package → (component, names of its dependencies), from dpkg's status file."""
    found = {}
    for paragraph in status.split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): *(.*)$", paragraph, re.MULTILINE))
        if not fields.get("Status", "").endswith(" installed"):
            continue
        name, version, architecture = fields["Package"], fields["Version"], fields["Architecture"]
        # Debian's advisories are about source packages, which only the binary ones of other names have to say.
        upstream = f"&upstream={quote(fields['Source'].split()[0], safe='')}" if "Source" in fields else ""
        distro = f"{system.get('ID', 'debian')}-{system.get('VERSION_ID', '')}"
        purl = (
            f"pkg:deb/{system.get('ID', 'debian')}/{quote(name, safe='')}@{quote(version, safe=':~')}"
            f"?arch={architecture}&distro={distro}{upstream}"
        )
        component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
        needed = f"{fields.get('Pre-Depends', '')},{fields.get('Depends', '')}"
        found[name] = (component, set(re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9.+-]*)", needed)))
    return found


def values_of(text: str) -> dict[str, str]:
    """Returns the values of an os-release file by name."""
    return {name: value.strip("\"'") for name, value in re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)}


def interpreter() -> Component:
    version = platform.python_version()
    purl = f"pkg:generic/python@{version}"
    cpe = f"cpe:2.3:a:python:python:{version}:*:*:*:*:*:*:*"
    return {
        "type": "platform", "bom-ref": purl, "name": "python", "version": version, "purl": purl, "cpe": cpe,
    }  # fmt: skip


def bill(
    found: Iterable[Distribution], status: str, os_release: str, base: str, now: datetime
) -> dict[str, Any]:
    """Returns the whole document. `now`: when the image was built, in UTC."""
    python = {canonical(it.metadata["Name"]): it for it in found}
    own = sorted(name for name in python if name.startswith(OWN_PREFIX))
    units = [name for name in own if name not in LIBRARIES]
    if not units:
        raise SystemExit(
            "sbom.py: no package of ours is in this environment: run it with the image's own Python"
        )
    system = values_of(os_release)
    debian = debian_components(status, system)
    refs = {name: python_component(it)["bom-ref"] for name, it in python.items()}

    image = {
        "type": "container", "bom-ref": "image",
        "name": f"posthaste/{units[0].removeprefix(OWN_PREFIX) if len(units) == 1 else 'services'}",
        "version": python[units[0]].version,
    }  # fmt: skip
    if base:
        image["properties"] = [{"name": "posthaste:base-image", "value": base}]
    running = interpreter()
    os_version = system.get("VERSION_ID", "")
    os_ref = f"os:{system.get('ID', 'unknown')}-{os_version}"
    components: list[Component] = [
        running,
        {
            "type": "operating-system",
            "bom-ref": os_ref,
            "name": system.get("ID", "unknown"),
            "version": os_version,
        },
        *(python_component(it) for it in python.values()),
        *(component for component, _ in debian.values()),
    ]
    needs = {"image": {running["bom-ref"], os_ref, *(refs[name] for name in own)}}
    needs["image"] |= {component["bom-ref"] for component, _ in debian.values()}
    for name, distribution in python.items():
        # Also what an extra would need, where it is here: markers cannot be judged without a library.
        asked = (REQUIRED_NAME.match(it) for it in distribution.requires or ())
        names = {canonical(it[0]) for it in asked if it}
        needs[refs[name]] = {refs[it] for it in names & refs.keys() - {name}}
    for component, names in debian.values():
        needs[component["bom-ref"]] = {debian[it][0]["bom-ref"] for it in names & debian.keys()}

    components.sort(key=lambda it: it["bom-ref"])
    dependencies = [{"ref": ref, "dependsOn": sorted(needed)} for ref, needed in sorted(needs.items())]
    content = json.dumps([image, components, dependencies], sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        # The same contents have the same number.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
        "version": 1,
        "metadata": {
            "timestamp": now.isoformat(timespec="seconds").replace("+00:00", "Z"),
            "authors": [{"name": "Posthaste"}],
            "tools": {"components": [{"type": "application", "name": "posthaste deploy/images/sbom.py"}]},
            "component": image,
        },
        "components": components,
        "dependencies": dependencies,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the bill of materials of this image.")
    parser.add_argument("--root", type=Path, default=Path("/"), help="where the system's files are")
    parser.add_argument("--base", default="", help="the image that this one is built on")
    options = parser.parse_args()
    # This environment, and what the base image's own Python has besides.
    sites = [*sys.path, *map(str, (options.root / "usr/local/lib").glob("python3*/site-packages"))]
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    document = bill(
        distributions(path=sites),
        (options.root / "var/lib/dpkg/status").read_text(),
        (options.root / "etc/os-release").read_text(),
        options.base,
        now,
    )
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
