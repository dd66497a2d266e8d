"""`./dev test --changed`: finds the test files that a change can break, by the imports that lead to the changed files.

Reads the imports of all Python files. Rules add what imports cannot show: a module that imports by name depends on its
whole package; a package's tests depend on its migrations and on its files that are not Python; tests of documents and
deployments depend on those files.
"""

import re
import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

#: The branches that changes are compared with: the first one that is there.
BASES = ("origin/main", "main")
#: Folders that are searched for tests. Not tests/e2e: it needs a whole stack, and any change can break it.
TESTED = ("libs", "services", "simulator", "deploy", "clients", "bench")
#: Folders that are roots of imports, besides `libs/*` and `services/*`.
ROOTS = (".", "simulator", "deploy/local", "clients/python")
#: Tests of files that no test imports.
DOCUMENTS = "deploy/local/tests/test_docs.py"
DEPLOYMENTS = ("deploy/tests", "deploy/observability/tests")
#: Modules that load others by their names.
BY_NAME = {"importlib", "pkgutil"}
_IMPORT = re.compile(r"^[ \t]*(?:from ([\w.]+) import (\([^)]*\)|[^\n]+)|import ([\w.]+))", re.MULTILINE)


def files(root: Path) -> list[Path]:
    """Returns the files that differ from the base branch, committed or not, as absolute paths."""
    found = (_git(root, "merge-base", branch, "HEAD").strip() for branch in BASES)
    base = next(filter(None, found), "HEAD")
    lines = _git(root, "diff", "--name-only", base) + _git(root, "ls-files", "--others", "--exclude-standard")
    return sorted({root / line for line in lines.splitlines() if line})


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True).stdout


def tests(root: Path, changed: Collection[Path]) -> list[Path]:
    """Returns the test files that the changed files can break, sorted."""
    sources = [path for folder in TESTED for path in sorted((root / folder).rglob("*.py"))]
    users = _users(root, sources)
    reached = _reached(users, changed)
    chosen = {path for path in reached if path.name.startswith("test_") and path.suffix == ".py"}
    for path in changed:
        chosen |= _by_rule(root, path)
    return sorted(path for path in chosen if path.exists() and not path.is_relative_to(root / "tests"))


def _users(root: Path, sources: Sequence[Path]) -> dict[Path, set[Path]]:
    """Returns for each file the files that depend on it directly: they import it, or depend on it by one of the rules
    in the module's docstring.
    """
    modules = _modules(root, sources)
    users: dict[Path, set[Path]] = defaultdict(set)
    for path in sources:
        parts = path.relative_to(root).parts
        names = _names(path)
        for name in names:
            for found in _run_by(name, path.parent, modules):
                users[found].add(path)
        if names & BY_NAME and "tests" not in parts:
            for other in path.parent.rglob("*.py"):
                users[other].add(path)
        if path.name == "conftest.py":
            for other in path.parent.rglob("test_*.py"):
                users[path].add(other)
        if {"service", "tests"} <= set(parts):  # these tests start the package's process
            for other in _package(root, path).rglob("*.py"):
                if "tests" not in other.relative_to(root).parts:
                    users[other].add(path)
    return users


def _modules(root: Path, sources: Iterable[Path]) -> dict[str, Path]:
    """Returns the file of each dotted module name, for all folders from which modules are imported."""
    roots = [root / name for name in ROOTS]
    roots += [path for group in ("libs", "services") for path in (root / group).glob("*/")]
    return {_dotted(path, base): path for base in roots for path in sources if path.is_relative_to(base)}


def _dotted(path: Path, base: Path) -> str:
    parts = path.relative_to(base).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _names(path: Path) -> set[str]:
    """Returns the dotted names that a file imports."""
    names: set[str] = set()
    for module, imported, plain in _IMPORT.findall(path.read_text()):
        names.add(module or plain)
        names |= {f"{module}.{name}" for name in re.findall(r"\w+", imported)}
    return names


def _run_by(name: str, folder: Path, modules: Mapping[str, Path]) -> Iterable[Path]:
    """Yields the files that run when `name` is imported: the module, and the `__init__.py` of its packages.

    Helpers beside a test are looked up in `folder`, the folder of the importing file.
    """
    parts = name.split(".")
    beside = folder / f"{parts[0]}.py"
    if beside.is_file():
        yield beside
    for length in range(1, len(parts) + 1):
        if (found := modules.get(".".join(parts[:length]))) is not None:
            yield found


def _reached(users: dict[Path, set[Path]], changed: Iterable[Path]) -> set[Path]:
    """Returns the changed files and all files that depend on them, directly or not."""
    reached, waiting = set(changed), list(changed)
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user not in reached:
                reached.add(user)
                waiting.append(user)
    return reached


def _package(root: Path, path: Path) -> Path:
    """Returns the folder of the library or service that a file belongs to, such as `services/quota`."""
    return root.joinpath(*path.relative_to(root).parts[:2])


def _by_rule(root: Path, path: Path) -> set[Path]:
    """Returns the tests that depend on a file without importing it, by one of the rules in the module's docstring."""
    parts = path.relative_to(root).parts
    chosen: set[Path] = set()
    if path.suffix == ".md":
        chosen.add(root / DOCUMENTS)
    if parts[0] in ("libs", "services") and "tests" not in parts:
        if path.suffix != ".py" or "migrations" in parts:
            chosen |= {*(_package(root, path) / "tests").rglob("test_*.py")}
    elif (parts[0] == "deploy" and "local" not in parts) or path.name in (
        "docker-compose.yml",
        "pyproject.toml",
    ):
        for folder in DEPLOYMENTS:
            chosen |= {*(root / folder).rglob("test_*.py")}
    return chosen
