"""The tests of the Node.js client, of its types, and of its package as users install it."""

import json
import re
import tarfile
from pathlib import Path

import pytest

from testkit.node_client import copied, install_package, packed, run_node

CLIENT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the client."""
    return copied(tmp_path_factory.mktemp("client"))


@pytest.fixture(scope="module")
def package(folder: Path) -> Path:
    return packed(folder)


@pytest.fixture(scope="module")
def project(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a user's program, with the package installed."""
    project = tmp_path_factory.mktemp("project")
    install_package(package, project)
    return project


def test_the_tests_of_the_node_client_pass(folder: Path, package: Path) -> None:
    assert package.exists()  # which was built in the folder
    ran = re.search(r"^. tests (\d+)$", run_node(folder, "--test", "--test-reporter=spec"), re.MULTILINE)
    assert ran is not None
    assert int(ran[1]) > 210


def test_the_package_holds_programs_and_types_and_depends_on_nothing(package: Path) -> None:
    with tarfile.open(package) as archive:
        names = set(archive.getnames())
        file = archive.extractfile("package/package.json")
        assert file is not None
        told = json.load(file)
    assert {"package/README.md", "package/dist/index.js", "package/dist/index.d.ts"} <= names
    assert {name.split("/")[1] for name in names} == {"README.md", "dist", "package.json"}
    assert not {"dependencies", "peerDependencies", "optionalDependencies"} & told.keys()
    for entry in told["exports"].values():
        assert {f"package/{path.removeprefix('./')}" for path in entry.values()} <= names


def test_the_installed_package_verifies_webhooks_and_says_what_is_missing(project: Path) -> None:
    program = (
        "import { Posthaste } from '@posthaste/client'; import { verify } from '@posthaste/client/webhooks';"
        "try { verify(Buffer.from(''), undefined, 'secret') } catch (error) { console.log(error.reason) }"
        "try { new Posthaste() } catch (error) { console.log(error.name) }"
    )
    assert run_node(project, "--input-type=module", "-e", program) == "missing_header\nPosthasteError\n"


def test_the_types_of_the_installed_package_permit_proper_use_and_refuse_mistakes(
    project: Path, folder: Path
) -> None:
    """The TypeScript compiler reports each `@ts-expect-error` that has no error to expect."""
    (project / "usage.ts").write_text((folder / "tests" / "usage.ts").read_text())
    types = folder.resolve() / "node_modules" / "@types"
    options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2023", "--types", "node"]
    compiler = folder / "node_modules" / "typescript" / "bin" / "tsc"
    run_node(project, compiler, *options, "--typeRoots", types, "--ignoreConfig", "usage.ts")


def test_the_lock_names_no_registry() -> None:
    assert "://" not in (CLIENT / "package-lock.json").read_text()
