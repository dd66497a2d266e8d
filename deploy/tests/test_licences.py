"""docs/dependencies.md names the licence of each package that is installed with Posthaste."""

import re
from importlib.metadata import Distribution, distribution

import pytest

from local.paths import ROOT

#: Licences that ask for no more than that their notices are kept, as packages name them.
PERMISSIVE = re.compile(
    r"MIT|BSD|ISC|Apache|PSF|Python Software Foundation|ZPL|Unlicense|3-Clause BSD", re.IGNORECASE
)
#: The other packages, as the table in docs/dependencies.md names them.
OTHERS = {
    "MPL 2.0": {"certifi", "pathspec", "hypothesis"},
    "LGPL": {"psycopg2-binary", "pi-heif"},
}
#: Licences under which Posthaste itself could no longer be under Apache 2.0.
REFUSED = re.compile(
    r"(?<!L)GPL|GNU General Public|Affero|SSPL|Business Source|Commons Clause", re.IGNORECASE
)


def locked() -> list[str]:
    return re.findall(r"^([A-Za-z0-9._-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)


def licence_of(package: Distribution) -> str:
    """Returns the licence in the package's metadata: an expression, classifiers, or a text."""
    metadata = package.metadata
    classifiers = [
        value.split(" :: ")[-1]
        for value in metadata.get_all("Classifier") or []
        if value.startswith("License :: ") and value != "License :: OSI Approved"
    ]
    return (
        metadata.get("License-Expression") or ", ".join(classifiers) or (metadata.get("License") or "")[:60]
    )


@pytest.mark.parametrize("name", locked())
def test_the_licence_of_a_locked_package_is_in_the_table(name: str) -> None:
    licence = licence_of(distribution(name))
    assert licence, f"{name} names no licence: look at its files, and say so here"
    assert not REFUSED.search(licence.replace("Lesser General Public", "Lesser")), f"{name}: {licence}"
    assert PERMISSIVE.search(licence) or any(name in names for names in OTHERS.values()), f"{name}: {licence}"


def test_the_table_names_every_package_that_asks_for_more_than_a_notice() -> None:
    rows = (ROOT / "docs/dependencies.md").read_text().split("## Licences")[1].split("## ")[0].splitlines()
    for licence, names in OTHERS.items():
        [row] = [line for line in rows if line.startswith(f"| {licence} |")]
        assert {name.strip() for name in row.split("|")[2].split(",")} == names
        for name in names:
            assert not PERMISSIVE.search(licence_of(distribution(name))), (
                f"{name} has a permissive licence now"
            )


def test_each_of_our_packages_names_the_licence_of_the_repository() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text()[:200]
    projects = [*ROOT.glob("*/*/pyproject.toml"), ROOT / "simulator/pyproject.toml"]
    assert len(projects) > 10
    for path in projects:
        assert 'license = "Apache-2.0"' in path.read_text(), path
