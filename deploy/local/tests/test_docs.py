"""The documents: their links, the packages in the glossary, lists of modules, libraries, and quoted code."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from local.paths import ROOT
from local.supply_chain import lock

DOCS = sorted(
    path
    for pattern in (
        "*.md",
        "docs/*.md",
        "docs/api/*.md",
        "libs/*/*.md",
        "services/*/*.md",
        "simulator/*.md",
        "deploy/**/*.md",
        "clients/*/*.md",
    )
    for path in ROOT.glob(pattern)
)
PACKAGES = {folder.name: folder / folder.name for folder in (*ROOT.glob("libs/*"), *ROOT.glob("services/*"))}
#: The list of a package's files in its README: a table, or the first block of the runner's.
FILE_LIST = re.compile(
    r"^\| (?:File|Module) \| Holds \|\n.*?\n\n|^\./dev \(bash\) .*?^```$", re.MULTILINE | re.DOTALL
)
#: ctl has none: a command is in the file of its noun.
LISTED = [folder for folder in (*PACKAGES.values(), ROOT / "deploy/local/local") if folder.name != "ctl"]
GLOSSARY = ROOT / "docs" / "glossary.md"
GUIDES = [ROOT / "docs" / name for name in ("adding-an-endpoint.md", "adding-a-platform.md")]
#: A path on a line of its own, or a block of Python: which belongs to the path before it.
PATH_OR_BLOCK = re.compile(r"^`(?P<path>\S+\.py)`$|^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", DOCS, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_glossary_fits_a_page_and_names_packages_that_exist() -> None:
    rows = re.findall(r"^\| (?!Word|--)([^|]+) \|[^|]+\| ([^|]+) \|$", GLOSSARY.read_text(), re.MULTILINE)
    assert 40 < len(rows) < 70
    assert {name for _, names in rows for name in names.split(", ")} - PACKAGES.keys() == set()


@pytest.mark.parametrize("package", LISTED, ids=lambda package: package.name)
def test_every_module_stands_in_the_list_of_files_of_its_readme(package: Path) -> None:
    listed = FILE_LIST.search((package.parent / "README.md").read_text())
    assert listed
    named = set(re.findall(r"(?<![\w/])\w+(?:\.py|/)", listed[0]))
    modules = {path.name for path in package.glob("*.py")} - {"__init__.py", "__main__.py"}
    folders = {f"{path.parent.name}/" for path in package.glob("*/*.py")}
    assert (modules | folders) - named == set()


def test_every_library_we_ask_for_says_what_it_is_for() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"].values()
    asked = {requirement for group in groups for requirement in group}
    for name, folder in lock.packages().items():
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        asked |= lock.third_party(name, project.get("optional-dependencies", {}))
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "dependencies.md").read_text(), re.MULTILINE)
    told = {canonicalize_name(word) for row in rows for word in re.findall(r"[A-Za-z][\w.-]*", row)}
    assert {canonicalize_name(Requirement(it).name) for it in asked} - told == set()


def quotations() -> list[tuple[str, str]]:
    """Returns (path, code) of each quotation in the guides."""
    found, path = [], ""
    for match in PATH_OR_BLOCK.finditer("\n".join(guide.read_text() for guide in GUIDES)):
        path = match["path"] or path
        if match["code"]:
            found.append((path, match["code"]))
    return found


@pytest.mark.parametrize(("path", "code"), quotations())
def test_the_code_in_the_guides_is_the_code(path: str, code: str) -> None:
    assert code in (ROOT / path).read_text(), f"{path} has changed: change the guide in docs/ as well"
