"""`./dev release VERSION`: writes the version everywhere and the section of the changelog, makes a commit and a tag.
Publishes nothing.

The version stands in the packages, in `docker-compose.yml`, in the Kubernetes manifests, and in commands of
docs/operations.md. The default in `docker-compose.yml` is the reference; a test compares the others with it. The
version of the API (`gateway.API_VERSION`) and those of the clients are separate and stay unchanged.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from local.paths import ROOT
from local.processes.table import NotReady

Version = tuple[int, int, int]
UNRELEASED = "## [Unreleased]\n"
#: The part of a release's section for operators; it says how long the API is away, and gets the migrations here.
UPGRADE, DOWNTIME = "### Upgrade\n", "- Downtime: "
#: Glob of the files → the words around the version in them; `{dashed}`: with dashes, as in the names of jobs.
PLACES = {
    "docker-compose.yml": r"POSTHASTE_VERSION:-{}}}",
    "libs/*/pyproject.toml": r'^version = "{}"$',
    "services/*/pyproject.toml": r'^version = "{}"$',
    "simulator/pyproject.toml": r'^version = "{}"$',
    "deploy/kubernetes/unit/deployment.yaml": r"image: posthaste/service:{}$",
    "deploy/kubernetes/unit/migration/job.yaml": r"image: posthaste/service:{}$",
    "deploy/kubernetes/unit/migration/kustomization.yaml": r"^nameSuffix: -{dashed}$",
    "deploy/kubernetes/base/dashboard/deployment.yaml": r"image: posthaste/dashboard:{}$",
    "deploy/kubernetes/components/ctl/ctl.yaml": r"image: posthaste/ctl:{}$",
    "docs/operations.md": r"posthaste[/_][a-z]+[:_]{}\b",
}


def parsed(text: str) -> Version:
    """Returns the three numbers of a version. Raises NotReady if the text is not a version."""
    found = re.fullmatch(r"v?(\d+)\.(\d+)\.(\d+)", text)
    if found is None:
        raise NotReady(f"{text!r} is no version: write three numbers, such as 1.4.0")
    return int(found[1]), int(found[2]), int(found[3])


def present(root: Path = ROOT) -> str:
    """Returns the version of the release that `docker-compose.yml` names."""
    versions = {*re.findall(r"POSTHASTE_VERSION:-([\d.]+)\}", (root / "docker-compose.yml").read_text())}
    if len(versions) != 1:
        raise NotReady(f"docker-compose.yml names several versions: {', '.join(sorted(versions))}")
    return str(versions.pop())


def places(root: Path, version: str) -> dict[Path, int]:
    """Counts how often `version` stands in each file that must name the release's version (PLACES). Returns file →
    count.
    """
    return {
        path: len(re.findall(_around(pattern, version), path.read_text(), re.MULTILINE))
        for glob, pattern in PLACES.items()
        for path in sorted(root.glob(glob))
    }


def _around(pattern: str, version: str) -> str:
    return pattern.format(re.escape(version), dashed=version.replace(".", "-"))


def _replaced(text: str, old: str, new: str) -> str:
    return text.replace(old, new).replace(old.replace(".", "-"), new.replace(".", "-"))


def follows(new: Version, old: Version) -> bool:
    """Whether `new` is a version that may come next after `old` (Semantic Versioning): the next major, minor or patch
    version.
    """
    major, minor, patch = old
    return new in {(major, minor, patch + 1), (major, minor + 1, 0), (major + 1, 0, 0)}


def migrations(root: Path) -> str:
    """Returns the newest migration of each database, such as "accounts 0014, ai 0010"."""
    newest = {path.parts[-3]: path.name[:4] for path in sorted(root.glob("services/*/migrations/[0-9]*.py"))}
    return ", ".join(f"{service} {revision}" for service, revision in sorted(newest.items()))


def with_section(changelog: str, version: str, day: date, revisions: str) -> str:
    """Returns the changelog with its unreleased entries moved under the new version and its day. Adds a line with
    `revisions`, the newest migration of each database, to the part about upgrading.

    Raises NotReady if there are no unreleased entries, or if their part about upgrading does not begin with the
    downtime.
    """
    head, found, tail = changelog.partition(UNRELEASED)
    entries = tail.partition("\n## ")[0].strip()
    if not found or not entries:
        raise NotReady(
            "CHANGELOG.md has nothing under [Unreleased]: say what changed, and what an upgrade asks for"
        )
    if f"{UPGRADE}{DOWNTIME}" not in entries:
        raise NotReady(
            f"CHANGELOG.md has no {UPGRADE.strip()!r} under [Unreleased] that begins with {DOWNTIME.strip()!r}"
        )
    told = tail.lstrip().replace(UPGRADE, f"{UPGRADE}- Migrations, up to: {revisions}.\n", 1)
    return f"{head}{UNRELEASED}\n## [{version}] - {day.isoformat()}\n{told}"


def rewrite(root: Path, old: str, new: str, day: date) -> list[Path]:
    """Writes the new version everywhere, and returns the changed files. Raises NotReady if a place has a version other
    than `old`.
    """
    strange = [str(path.relative_to(root)) for path, count in places(root, old).items() if count == 0]
    if strange:
        raise NotReady(f"not at {old}: {', '.join(strange)}")
    changelog = root / "CHANGELOG.md"
    changelog.write_text(with_section(changelog.read_text(), new, day, migrations(ROOT)))
    for glob, pattern in PLACES.items():
        for path in root.glob(glob):
            expression = re.compile(_around(pattern, old), re.MULTILINE)
            path.write_text(expression.sub(lambda found: _replaced(found[0], old, new), path.read_text()))
    return [changelog, *places(root, new)]


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotReady(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def main(arguments: Sequence[str], lint: Callable[[Sequence[str]], int]) -> int:
    """Writes the new version, checks the files with `lint`, and makes the commit and the tag of a release. Raises
    NotReady if a check fails; then nothing is committed.
    """
    if len(arguments) != 1:
        raise NotReady("usage: ./dev release 1.4.0")
    new, old = parsed(arguments[0]), present()
    version = ".".join(map(str, new))
    if not follows(new, parsed(old)):
        raise NotReady(f"{version} does not follow {old}")
    if git("status", "--porcelain"):
        raise NotReady("commit or undo your changes first (git status)")
    if git("tag", "--list", f"v{version}"):
        raise NotReady(f"the tag v{version} exists")
    files = rewrite(ROOT, old, version, datetime.now(UTC).date())
    if lint(()) != 0:
        git("checkout", "--", ".")
        raise NotReady("./dev lint failed (see above): nothing was changed")
    git("add", "--", *map(str, files))
    git("commit", "--message", f"Release {version}")
    git("tag", "--annotate", f"v{version}", "--message", f"Posthaste {version}")
    print(
        f"""Committed and tagged v{version}. Run .ci/run on it, then:
  git push origin HEAD v{version}
  docker compose build && docker compose build ctl      # POSTHASTE_IMAGES=your registry; COMPOSE_PROFILES=core,compact
  docker compose push && docker compose push ctl""",
        file=sys.stdout,
    )
    return 0
