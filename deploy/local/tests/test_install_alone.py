"""Each service installs alone, from its own lock file, into an empty environment, and is complete there.

What is built here is what is deployed. The environments come from `venv` without even pip, so that nothing
but the lock and our own packages can be imported; pip works on them from outside.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from local.paths import ROOT

#: Service → what its process imports first, as a line of Python.
STARTS = {
    "accounts": "import chassis.run; chassis.run.service_class('accounts')",
    "gateway": "import gateway.app, gateway.worker, gateway.__main__",
    "media": "import chassis.run; chassis.run.service_class('media')",
    "publishing": "import chassis.run; chassis.run.service_class('publishing')",
    "quota": "import chassis.run; chassis.run.service_class('quota')",
}
LIBRARIES = ("contracts", "chassis")
#: What `./dev` has and a service must do without.
NOT_DEPLOYED = ("pytest", "hypothesis", "mypy", "ruff", "psutil", "pip", "local", "simulator", "ctl")
#: Longest time for one pip run, on a busy machine and with nothing in pip's cache.
PIP_SECONDS = 300


@dataclass(frozen=True)
class Environment:
    """An environment with one service in it."""

    service: str
    python: Path

    def run(self, code: str) -> "subprocess.CompletedProcess[str]":
        """`-I`: neither PYTHONPATH nor the working folder adds anything."""
        return subprocess.run(
            [self.python, "-I", "-W", "ignore", "-c", code],
            cwd=self.python.parent, capture_output=True, text=True, timeout=60,
        )  # fmt: skip

    def evaluate(self, code: str) -> object:
        """What `code` leaves in `found`, through JSON."""
        done = self.run(f"import json\n{code}\nprint(json.dumps(found))")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def pip(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "pip", *arguments], capture_output=True, text=True, timeout=PIP_SECONDS
    )


def install(python: Path, *arguments: str | Path) -> None:
    done = pip("--python", python, "install", "--quiet", "--no-deps", "--no-compile", *arguments)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our packages as wheels; built from a copy, because setuptools leaves its work beside the sources."""
    sources, built = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("wheels")
    folders = [ROOT / "libs" / name for name in LIBRARIES] + [ROOT / "services" / name for name in STARTS]
    folders.append(ROOT / "clients" / "python")
    for folder in folders:
        unwanted = shutil.ignore_patterns("tests", "build", "__pycache__", "*.egg-info")
        shutil.copytree(folder, sources / folder.name, ignore=unwanted)
    done = pip(
        "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", built, *sources.iterdir()
    )
    assert done.returncode == 0, done.stderr
    return built


@pytest.fixture(scope="module")
def environments(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Environment]]:
    """One environment per service, made side by side."""

    def make(service: str) -> Environment:
        environment = empty(tmp_path_factory.mktemp(service), service)
        install(environment.python, "-r", ROOT / "services" / service / "requirements.lock")
        install(environment.python, *own_wheels(wheels, service))
        return environment

    with ThreadPoolExecutor() as pool:
        made = dict(zip(STARTS, pool.map(make, STARTS), strict=True))
    yield made
    for environment in made.values():
        shutil.rmtree(environment.python.parent.parent)


@pytest.fixture(params=STARTS)
def environment(request: pytest.FixtureRequest, environments: dict[str, Environment]) -> Environment:
    return environments[request.param]


def empty(folder: Path, service: str) -> Environment:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    return Environment(service, folder / "bin" / "python")


def own_wheels(wheels: Path, service: str) -> list[Path]:
    return [next(wheels.glob(f"posthaste_{name}-*.whl")) for name in (*LIBRARIES, service)]


def locked(service: str) -> set[str]:
    lines = (ROOT / "services" / service / "requirements.lock").read_text().splitlines()
    return {canonicalize_name(line.partition("==")[0]) for line in lines if not line.startswith("#")}


def test_a_service_imports_what_its_process_imports(environment: Environment) -> None:
    done = environment.run(STARTS[environment.service])
    assert done.returncode == 0, done.stderr


def test_every_module_of_a_service_is_in_its_wheel_and_can_be_imported(environment: Environment) -> None:
    source = ROOT / "services" / environment.service
    modules = sorted(
        ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        for path in (source / environment.service).rglob("*.py")
    )
    first = "import chassis.run" if environment.service != "gateway" else ""
    code = f"{first}\nimport importlib\nfound = [importlib.import_module(it).__name__ for it in {modules}]"
    assert environment.evaluate(code) == modules


def test_a_service_brings_its_migrations(environment: Environment) -> None:
    code = (
        "from chassis.migrate import migrations_of\n"
        f"found = sorted(path.name for path in migrations_of({environment.service!r}).glob('*.py'))"
    )
    source = ROOT / "services" / environment.service / "migrations"
    assert environment.evaluate(code) == sorted(path.name for path in source.glob("*.py")) != []


def test_the_lock_holds_all_that_the_packages_declare(environment: Environment) -> None:
    done = pip("--python", environment.python, "check")
    assert done.returncode == 0, done.stdout


def test_nothing_is_there_but_the_lock_and_our_own_packages(environment: Environment) -> None:
    own = {f"posthaste-{name}" for name in (*LIBRARIES, environment.service)}
    names = environment.evaluate(
        "from importlib.metadata import distributions\nfound = [it.name for it in distributions()]"
    )
    assert isinstance(names, list)
    assert {canonicalize_name(name) for name in names} == locked(environment.service) | own


def test_neither_tools_nor_other_services_can_be_imported(environment: Environment) -> None:
    unwanted = [*NOT_DEPLOYED, *(name for name in STARTS if name != environment.service)]
    code = f"from importlib.util import find_spec\nfound = [it for it in {unwanted} if find_spec(it)]"
    assert environment.evaluate(code) == []


def test_a_service_without_the_libraries_it_needs_does_not_start(wheels: Path, tmp_path: Path) -> None:
    bare = empty(tmp_path, "quota")
    install(bare.python, *own_wheels(wheels, bare.service))
    done = bare.run(STARTS[bare.service])
    assert done.returncode != 0
    assert "ModuleNotFoundError" in done.stderr
    assert pip("--python", bare.python, "check").returncode != 0


def test_the_python_client_needs_nothing_but_itself(wheels: Path, tmp_path: Path) -> None:
    alone = empty(tmp_path, "posthaste")
    install(alone.python, *wheels.glob("posthaste-*.whl"))
    code = (
        "from importlib.metadata import distributions, files\nimport posthaste.webhooks\n"
        "found = [[it.name for it in distributions()], [str(it) for it in files('posthaste')]]"
    )
    found = alone.evaluate(code)
    assert isinstance(found, list)
    assert found[0] == ["posthaste"]
    assert "posthaste/py.typed" in found[1]
