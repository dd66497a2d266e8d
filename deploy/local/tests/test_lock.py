"""The lock files satisfy the pyproject.toml files, with exact versions and hashes and without index addresses."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from local.paths import ROOT
from local.supply_chain import lock

PARTS = lock.cuts()


def versions(folder: Path) -> dict[str, str]:
    """Returns the version of each package in the lock, by name."""
    return {name: entry.version for name, entry in lock.read(folder / "requirements.lock").items()}


def unmet(requirements: set[str], versions: dict[str, str]) -> list[str]:
    """Returns the requirements that the versions do not satisfy."""
    parsed = [Requirement(it) for it in requirements]
    return [
        str(it)
        for it in parsed
        if not it.specifier.contains(versions.get(canonicalize_name(it.name), "0"), prereleases=True)
        or canonicalize_name(it.name) not in versions
    ]


def test_the_root_lock_satisfies_every_package_and_tool() -> None:
    asked = {it for name, group in lock.groups().items() if name not in lock.APART for it in group}
    for name in lock.packages():
        asked |= lock.third_party(name)
    assert unmet(asked, versions(ROOT)) == []


@pytest.mark.parametrize("folder", PARTS, ids=lambda folder: folder.name)
def test_each_part_has_a_lock_of_its_own_with_the_same_versions_and_hashes(folder: Path) -> None:
    own, whole = lock.read(folder / "requirements.lock"), lock.read(ROOT / "requirements.lock")
    assert unmet(PARTS[folder], versions(folder)) == []
    assert own.items() <= whole.items()


@pytest.mark.parametrize("name", lock.APART)
def test_a_group_apart_has_a_lock_that_satisfies_it(name: str) -> None:
    assert unmet({*lock.groups()[name]}, versions(lock.APART[name])) == []


@pytest.mark.parametrize("folder", [ROOT, *PARTS, *lock.APART.values()], ids=lambda folder: folder.name)
def test_every_file_of_every_distribution_has_its_hash_and_no_address(folder: Path) -> None:
    text = (folder / "requirements.lock").read_text()
    assert "://" not in text
    assert not re.search(r"^\s*-(?!-hash=)", text, re.MULTILINE)
    entries = lock.read(folder / "requirements.lock")
    assert "".join(map(str, entries.values())) == text.removeprefix(lock.HEADER)
    assert all(len(set(entry.hashes)) == len(entry.hashes) > 0 for entry in entries.values())


def test_everything_that_is_deployed_has_a_lock() -> None:
    deployed = {path.parent for path in ROOT.glob("services/*/pyproject.toml")}
    assert deployed | {ROOT / "libs/ctl", ROOT / "simulator", ROOT / "deploy/images"} == PARTS.keys()


@pytest.mark.parametrize("line", ["click==8.5.1", "click>=8 \\\n    --hash=sha256:" + "0" * 64, "-e ."])
def test_a_lock_without_hashes_is_not_read(tmp_path: Path, line: str) -> None:
    path = tmp_path / "requirements.lock"
    path.write_text(f"{lock.HEADER}{lock.Entry('vine', '5.1.0', ('0' * 64,))}{line}\n")
    with pytest.raises(ValueError, match=r"write it anew with \./dev lock"):
        lock.read(path)


def test_requirements_are_followed_through_our_own_packages_and_their_extras() -> None:
    assert "nameko==2.14.1" in lock.third_party("posthaste-quota")
    assert "msgspec" in lock.third_party("posthaste-quota")
    assert not any(it.startswith(("posthaste", "nameko")) for it in lock.third_party("posthaste-gateway"))
