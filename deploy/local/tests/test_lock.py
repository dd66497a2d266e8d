"""The lock files say what the pyproject.toml files ask for, exactly and without addresses."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from local import lock
from local.paths import ROOT

DEPLOYABLE = sorted(
    [
        *(path.parent for path in ROOT.glob("services/*/pyproject.toml")),
        ROOT / "libs/ctl",
        ROOT / "simulator",
    ]
)


def read(path: Path) -> dict[str, str]:
    """name → version."""
    rows = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+", row) for row in rows)
    return {canonicalize_name(row.split("==")[0]): row.split("==")[1] for row in rows}


def unmet(requirements: set[str], versions: dict[str, str]) -> list[str]:
    """Requirements that the versions do not satisfy."""
    parsed = [Requirement(it) for it in requirements]
    return [
        str(it)
        for it in parsed
        if not it.specifier.contains(versions.get(canonicalize_name(it.name), "0"), prereleases=True)
        or canonicalize_name(it.name) not in versions
    ]


def test_the_root_lock_satisfies_every_package_and_tool() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    asked = {requirement for group in groups.values() for requirement in group}
    for name in lock.packages():
        asked |= lock.third_party(name)
    assert unmet(asked, read(ROOT / "requirements.lock")) == []


@pytest.mark.parametrize("folder", DEPLOYABLE, ids=lambda folder: folder.name)
def test_what_is_deployed_alone_has_a_lock_of_its_own_with_the_same_versions(folder: Path) -> None:
    own, whole = read(folder / "requirements.lock"), read(ROOT / "requirements.lock")
    assert unmet(lock.third_party(f"posthaste-{folder.name}"), own) == []
    assert own.items() <= whole.items()


def test_requirements_are_followed_through_our_own_packages_and_their_extras() -> None:
    assert "nameko==2.14.1" in lock.third_party("posthaste-quota")
    assert "msgspec" in lock.third_party("posthaste-quota")
    assert not any(it.startswith(("posthaste", "nameko")) for it in lock.third_party("posthaste-gateway"))
