"""`./dev lint --audit`: compares every locked version with a database of security advisories on this machine.

The database is a folder or a zip file of advisories in the OSV format, JSON or YAML: OSV's own export of an ecosystem,
or a checkout of the Python Packaging Advisory Database. Nothing is downloaded.
"""

import json
import os
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from local.paths import ROOT
from local.processes.table import NotReady
from local.supply_chain import lock

#: The default database for --audit.
VARIABLE = "ADVISORY_DATABASE"
SUFFIXES = (".json", ".yaml", ".yml")
PYPI, NPM = "PyPI", "npm"
#: Folders with a package-lock.json.
NODE_LOCKS = (
    ROOT / "clients" / "node",
    ROOT / "clients" / "n8n",
    ROOT / "simulator" / "tests" / "foreign",
    ROOT / "services" / "gateway" / "tests" / "foreign",
)


class Package(msgspec.Struct):
    ecosystem: str
    name: str


class Range(msgspec.Struct):
    type: str
    #: Each has one of introduced, fixed, last_affected and limit.
    events: list[dict[str, str]]


class Affected(msgspec.Struct):
    package: Package | None = None
    ranges: list[Range] = []
    versions: list[str] = []


class Advisory(msgspec.Struct):
    """An advisory: the fields of an OSV record that are used here."""

    id: str
    modified: Any = None  # text in JSON, in YAML also a time
    withdrawn: Any = None
    aliases: list[str] | None = None
    summary: str = ""
    details: str = ""
    affected: list[Affected] = []

    @property
    def names(self) -> set[str]:
        return {self.id, *(self.aliases or ())}

    @property
    def headline(self) -> str:
        return self.summary or next(iter(self.details.strip().splitlines()), "").strip()[:120]


@dataclass(frozen=True)
class Pin:
    """A locked version of a package, and the names of everything whose lock file contains it."""

    ecosystem: str
    name: str
    version: str
    locks: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    pin: Pin
    advisory: Advisory
    fixed: tuple[str, ...]

    def __str__(self) -> str:
        others = ", ".join(sorted(self.advisory.names - {self.advisory.id}))
        fixed = f"Fixed in {', '.join(self.fixed)}." if self.fixed else "No version is named that mends it."
        return (
            f"{self.pin.name} {self.pin.version}: {self.advisory.id}{f' ({others})' if others else ''}: "
            f"{self.advisory.headline} {fixed} In {', '.join(self.pin.locks)}."
        )


@dataclass
class Report:
    findings: list[Finding] = field(default_factory=list)
    #: Ids of advisories that pyproject.toml accepts for now.
    accepted: list[str] = field(default_factory=list)
    advisories: int = 0
    newest: str = ""


def pins() -> list[Pin]:
    """Returns every locked version: those of the checkout, of the images, and of tests with their own lock."""
    folders = {str(folder.relative_to(ROOT)): folder for folder in sorted(lock.cuts())}
    parts = {name: lock.read(folder / "requirements.lock") for name, folder in folders.items()}
    found = []
    for name, entry in lock.read(ROOT / "requirements.lock").items():
        where = tuple(part for part, entries in parts.items() if name in entries)
        found.append(Pin(PYPI, name, entry.version, where or ("the tools of the checkout",)))
    for folder in lock.APART.values():
        where = (f"the tests in {folder.relative_to(ROOT)}",)
        entries = lock.read(folder / "requirements.lock").items()
        found += [Pin(PYPI, name, entry.version, where) for name, entry in entries]
    for folder in NODE_LOCKS:
        where = (f"the tests in {folder.relative_to(ROOT)}",)
        packages = json.loads((folder / "package-lock.json").read_text())["packages"]
        for path, package in packages.items():
            if path:
                found.append(Pin(NPM, path.rpartition("node_modules/")[2], package["version"], where))
    return found


def documents(database: Path) -> Iterator[tuple[str, bytes]]:
    """Yields name and contents of every file of the database that may be an advisory."""
    if database.is_dir():
        for path in sorted(database.rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield str(path), path.read_bytes()
    elif zipfile.is_zipfile(database):
        with zipfile.ZipFile(database) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(SUFFIXES):
                    yield f"{database}/{name}", archive.read(name)
    else:
        raise NotReady(f"{database} is no advisory database: neither a folder nor a zip file")


def advisories(database: Path) -> Iterator[Advisory]:
    """Yields every advisory that is not withdrawn. Raises NotReady for one that cannot be read."""
    for name, text in documents(database):
        try:
            data = msgspec.json.decode(text) if name.endswith(".json") else yaml.load(text, yaml.CSafeLoader)
            if not isinstance(data, dict) or not {"id", "affected"} <= data.keys():
                continue  # another file of the same folder
            advisory = msgspec.convert(data, Advisory)
        except (msgspec.DecodeError, yaml.YAMLError) as error:
            raise NotReady(f"{name} cannot be read as an OSV advisory: {error}") from error
        if not advisory.withdrawn:
            yield advisory


def is_affected(version: str, affected: Affected) -> bool:
    """Whether a version is affected by OSV's rule: it is listed, or lies in one of the ranges. A range that cannot be
    read counts as a match.
    """
    if version in affected.versions:
        return True
    try:
        own = Version(version)
        if any(own == Version(it) for it in affected.versions if _is_version(it)):
            return True
        ranges = (it for it in affected.ranges if it.type in ("ECOSYSTEM", "SEMVER"))
        return any(_lies_in(own, it.events) for it in ranges)
    except InvalidVersion:
        return True


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def _lies_in(own: Version, events: list[dict[str, str]]) -> bool:
    """Whether the version `own` lies in a vulnerable range. `events`: the versions at which a problem was introduced or
    fixed; the last of them that is not newer than `own` decides. Raises InvalidVersion if an event has a malformed
    version.
    """
    inside = False
    steps = [(kind, text) for event in events for kind, text in event.items()]
    lowest = Version("0.dev0")
    for kind, at in sorted(
        ((kind, lowest if text == "0" else Version(text)) for kind, text in steps), key=lambda it: it[1]
    ):
        if kind == "introduced" and own >= at:
            inside = True
        elif (kind in ("fixed", "limit") and own >= at) or (kind == "last_affected" and own > at):
            inside = False
    return inside


def audit(pinned: Iterable[Pin], known: Iterable[Advisory], accepted: dict[str, date], today: date) -> Report:
    """Compares the locked versions with the known advisories. Returns a report of the advisories that affect a locked
    version. A vulnerability with two ids is reported once.

    `accepted`: advisory → last day on which it is accepted. Until then the report lists it separately.
    """
    by_name = {(it.ecosystem, canonicalize_name(it.name)): it for it in pinned}
    report, told = Report(), set[tuple[str, str]]()
    valid = {name for name, until in accepted.items() if today <= until}
    for advisory in known:
        report.advisories += 1
        report.newest = max(report.newest, str(advisory.modified or "")[:10])
        for affected in advisory.affected:
            if affected.package is None:
                continue
            key = (affected.package.ecosystem, canonicalize_name(affected.package.name))
            pin = by_name.get(key)
            if pin is None or not is_affected(pin.version, affected):
                continue
            if valid & advisory.names:
                report.accepted.append(advisory.id)
            elif not {(pin.name, it) for it in advisory.names} & told:
                report.findings.append(Finding(pin, advisory, _fixes(affected, pin.version)))
            told |= {(pin.name, it) for it in advisory.names}
    report.findings.sort(key=lambda it: (it.pin.ecosystem, it.pin.name, it.advisory.id))
    return report


def _fixes(affected: Affected, version: str) -> tuple[str, ...]:
    """Returns the versions newer than `version` in which the problem is fixed, oldest first."""
    texts = {
        event["fixed"]
        for it in affected.ranges
        if it.type in ("ECOSYSTEM", "SEMVER")
        for event in it.events
        if "fixed" in event and _is_version(event["fixed"])
    }
    above = [it for it in texts if not _is_version(version) or Version(it) > Version(version)]
    return tuple(sorted(above, key=Version))


def accepted(pyproject: str) -> dict[str, date]:
    """Returns advisory → last day on which it is accepted, from `[[tool.posthaste.accepted-advisories]]`.

    Raises NotReady for an entry without a reason or a date.
    """
    rows = tomllib.loads(pyproject)["tool"].get("posthaste", {}).get("accepted-advisories", [])
    for row in rows:
        if not row.get("reason") or not isinstance(row.get("until"), date):
            raise NotReady(
                f"pyproject.toml: the accepted advisory {row.get('id')} needs a reason and a date `until`"
            )
    return {row["id"]: row["until"] for row in rows}


def main(database: str) -> int:
    """Prints which locked versions have advisories, and returns 1 if any has. `database`: path of the advisory
    database; if empty, that in the environment variable ADVISORY_DATABASE.
    """
    database = database or os.environ.get(VARIABLE, "")
    if not database:
        print(
            "audit: nothing was compared, because no advisory database is named: "
            f"./dev lint --audit PATH, or {VARIABLE}=PATH (docs/dependencies.md says which there are)"
        )
        return 0
    pinned, exceptions = pins(), accepted((ROOT / "pyproject.toml").read_text())
    report = audit(pinned, advisories(Path(database)), exceptions, date.today())
    if not report.advisories:
        raise NotReady(f"{database} holds no advisory in the OSV format: nothing was compared")
    for finding in report.findings:
        print(f"audit: {finding}")
    for name in sorted(set(report.accepted)):
        print(f"audit: {name} is accepted for now (pyproject.toml)")
    against = f"{report.advisories} advisories, the newest of {report.newest or '?'}"
    print(f"audit: {len(pinned)} packages against {against}: {len(report.findings)} found", flush=True)
    return int(bool(report.findings))
