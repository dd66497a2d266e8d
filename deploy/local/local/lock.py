"""`./dev lock`: exact versions of everything, from the pyproject.toml files.

One lock for the checkout (every package, the servers and the developers' tools) and one for each thing that
is deployed alone, cut from the same versions. A line is `name==version` and nothing else: no address, so that
any registry serves. Standard library and pip only, because it runs before anything is installed.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

from local.paths import ROOT

HEADER = "# Written by ./dev lock from the pyproject.toml files; do not edit.\n"
OWN_PREFIX = "posthaste-"
REQUIREMENT = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:\[(?P<extras>[^]]*)])?")


def packages() -> dict[str, Path]:
    """Our own distributions: name → folder."""
    found = sorted([*ROOT.glob("libs/*/pyproject.toml"), *ROOT.glob("services/*/pyproject.toml"),
                    *ROOT.glob("simulator/pyproject.toml"), *ROOT.glob("clients/python/pyproject.toml")])  # fmt: skip
    return {tomllib.loads(path.read_text())["project"]["name"]: path.parent for path in found}


def third_party(distribution: str, extras: Iterable[str] = ()) -> set[str]:
    """What one of our distributions needs from a registry, through our other distributions."""
    project = tomllib.loads((packages()[distribution] / "pyproject.toml").read_text())["project"]
    wanted = list(project.get("dependencies", []))
    for extra in extras:
        wanted += project.get("optional-dependencies", {})[extra]
    needed: set[str] = set()
    for requirement in wanted:
        match = REQUIREMENT.match(requirement)
        if match is None:
            raise SystemExit(f"{distribution}: cannot read the dependency {requirement!r}")
        if match["name"].startswith(OWN_PREFIX):
            needed |= third_party(
                match["name"], (match["extras"] or "").replace(" ", "").split(",") if match["extras"] else ()
            )
        else:
            needed.add(requirement)
    return needed


def resolve(requirements: Iterable[str], constraints: Iterable[str] = ()) -> list[str]:
    """The closure of `requirements` as sorted `name==version` lines; nothing is installed.

    Raises SystemExit with pip's own words when there is no answer.
    """
    with tempfile.TemporaryDirectory() as folder:
        wanted, held, report = (Path(folder, name) for name in ("wanted", "held", "report"))
        wanted.write_text("\n".join(sorted(requirements)))
        held.write_text("\n".join(constraints))
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet",
             "--report", str(report), "-r", str(wanted), "-c", str(held)],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"pip found no set of versions that fits:\n{done.stderr}")
        rows = [row["metadata"] for row in json.loads(report.read_text())["install"]]
    return sorted((f"{row['name']}=={row['version']}" for row in rows), key=str.lower)


def write(folder: Path, lines: list[str]) -> None:
    path = folder / "requirements.lock"
    path.write_text(HEADER + "".join(f"{line}\n" for line in lines))
    print(f"{path.relative_to(ROOT)}: {len(lines)} distributions", flush=True)


def main() -> int:
    """Resolve the whole first, then cut each deployable's part out of it, so that versions never differ."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    everything = {requirement for group in groups.values() for requirement in group}
    for name, folder in packages().items():
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        everything |= third_party(name, project.get("optional-dependencies", {}))
    whole = resolve(everything)
    write(ROOT, whole)
    for name, folder in packages().items():
        if folder.parent.name == "services" or folder.name in ("simulator", "ctl"):
            write(folder, resolve(third_party(name), whole))
    return 0
