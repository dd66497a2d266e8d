"""`./dev lock`: writes lock files with exact versions and the hashes of their files, from the pyproject.toml files.

There is one lock for the checkout (every package, the servers and the developers' tools), one for each thing that is
deployed alone, and one for what builds our packages. All of them have the same versions. Three more locks (APART) have
versions of their own: they are for other people's packages that only tests run. An entry is `name==version` with the
SHA-256 of every file of that release, for every platform. It has no address, so that any registry may be used. pip
installs with --require-hashes and refuses other files. uv resolves the versions, because pip cannot list the hashes of
files that it does not install.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from local.paths import ROOT

HEADER = "# Written by ./dev lock from the pyproject.toml files; do not edit.\n"
OWN_PREFIX = "posthaste-"
#: Dependency groups that are no part of the checkout's lock: group → folder of its own lock.
APART = {
    "foreign": ROOT / "simulator" / "tests" / "foreign",
    "mcp": ROOT / "tests" / "e2e" / "mcp",
    "readers": ROOT / "services" / "gateway" / "tests" / "foreign",
}
#: Locks are resolved for the oldest Python and the oldest C library that are supported; hashes are of all files.
TARGET = ("--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_28")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
ENTRY = re.compile(
    r"^(?P<name>[a-z0-9-]+)==(?P<version>[A-Za-z0-9.!+_-]+)(?P<hashes>(?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n",
    re.MULTILINE,
)
REQUIREMENT = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:\[(?P<extras>[^]]*)])?")


def packages() -> dict[str, Path]:
    """Returns name → folder of our own distributions."""
    found = sorted([*ROOT.glob("libs/*/pyproject.toml"), *ROOT.glob("services/*/pyproject.toml"),
                    *ROOT.glob("simulator/pyproject.toml"), *ROOT.glob("clients/python/pyproject.toml")])  # fmt: skip
    return {tomllib.loads(path.read_text())["project"]["name"]: path.parent for path in found}


def third_party(distribution: str, extras: Iterable[str] = ()) -> set[str]:
    """Returns the third-party requirements of one of our distributions, including those of our other distributions
    that it needs.
    """
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


class Entry(NamedTuple):
    """One distribution in a lock: its version and the hashes of its files."""

    name: str
    version: str
    #: SHA-256 of the files of the release, in hexadecimal.
    hashes: tuple[str, ...]

    def __str__(self) -> str:
        """Returns the entry in the format of a lock."""
        return (
            f"{self.name}=={self.version}"
            + "".join(f" \\\n    --hash=sha256:{it}" for it in self.hashes)
            + "\n"
        )


def read(path: Path) -> dict[str, Entry]:
    """Returns a lock's entries by name. Raises ValueError for a malformed line."""
    text = re.sub(r"^#.*\n", "", path.read_text(), flags=re.MULTILINE)
    entries = {}
    for match in ENTRY.finditer(text):
        entries[match["name"]] = Entry(match["name"], match["version"], tuple(HASH.findall(match["hashes"])))
    if rest := ENTRY.sub("", text).strip():
        raise ValueError(
            f"{path}: {rest.splitlines()[0]!r} is no entry with hashes: write it anew with ./dev lock"
        )
    return entries


def resolve(requirements: Iterable[str], held: Path, options: Sequence[str]) -> str:
    """Returns the text of a lock, in pip's format with hashes, for the `requirements` and all packages that these need
    in turn. Installs nothing.

    `held`: a lock whose versions are kept where they fit, unless `options` say otherwise. Raises SystemExit with uv's
    message when no set of versions fits.
    """
    with tempfile.TemporaryDirectory() as folder:
        wanted, made = Path(folder, "wanted.in"), Path(folder, "requirements.lock")
        wanted.write_text("\n".join(sorted(requirements)))
        if held.exists():
            shutil.copy(held, made)
        done = subprocess.run(
            [Path(sys.executable).parent / "uv", "pip", "compile", wanted, "--output-file", made, "--generate-hashes",
             "--no-build", "--quiet", "--no-config", "--no-header", "--no-annotate", "--python", sys.executable,
             *TARGET, *options],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"uv found no set of versions that fits:\n{done.stderr}")
        return made.read_text()


def write(folder: Path, text: str) -> None:
    path = folder / "requirements.lock"
    path.write_text(HEADER + text)
    print(f"{path.relative_to(ROOT)}: {len(read(path))} distributions", flush=True)


def groups() -> dict[str, list[str]]:
    """Returns the checkout's dependency groups: name → requirements."""
    found: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    return found


def build_requirements() -> set[str]:
    """Returns the requirements for building our packages into wheels."""
    files = (folder / "pyproject.toml" for folder in packages().values())
    return {it for path in files for it in tomllib.loads(path.read_text())["build-system"]["requires"]}


def cuts() -> dict[Path, set[str]]:
    """Returns folder → requirements, for each lock file that is derived from the checkout's: one for each thing that is
    deployed alone, and one for what builds our packages.
    """
    deployed = {
        folder: third_party(name)
        for name, folder in packages().items()
        if folder.parent.name == "services" or folder.name in ("simulator", "ctl")
    }
    return deployed | {ROOT / "deploy" / "images": build_requirements()}


def main(arguments: Sequence[str]) -> int:
    """Writes the checkout's lock, and derives the other locks from it, so that their versions never differ. Only the
    locks in APART are resolved separately.

    Versions that still fit are kept. The named distributions get their newest version; with --upgrade all do.
    """
    options = [it if it == "--upgrade" else f"--upgrade-package={it}" for it in arguments]
    everything = {
        requirement for name, group in groups().items() if name not in APART for requirement in group
    }
    everything |= build_requirements()
    for name, folder in packages().items():
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        everything |= third_party(name, project.get("optional-dependencies", {}))
    whole = ROOT / "requirements.lock"
    write(ROOT, resolve(everything, whole, options))
    for folder, requirements in cuts().items():
        write(folder, resolve(requirements, whole, ["--constraints", str(whole)]))
    for name, folder in APART.items():
        write(folder, resolve(groups()[name], folder / "requirements.lock", options))
    return 0
