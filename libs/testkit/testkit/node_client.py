"""Builds the npm package of clients/node in a copy of the folder, and installs it as users do."""

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from testkit.foreign_packages import LEFT_OUT, NODE, ROOT, installed_or_skip, made_once

CLIENTS = ROOT / "clients"
#: Node.js from a Python package, so that none has to be installed on the machine.
NODE_PROGRAM = NODE / "bin" / "node"
#: npm's program, run by NODE_PROGRAM.
NPM = NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
#: Longest time for one command, on a busy machine.
_SECONDS = 180


def run_node(folder: Path, *arguments: str | Path, **variables: str) -> str:
    """Runs a Node.js program in `folder` with these arguments and environment variables. Returns its output; fails the
    test if it fails.
    """
    path = os.pathsep.join([str(NODE_PROGRAM.parent), os.environ["PATH"]])
    done = subprocess.run(
        [NODE_PROGRAM, *arguments],
        cwd=folder,
        env=os.environ | {"PATH": path} | variables,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def node_on_path(home: Path) -> dict[str, str]:
    """Returns environment variables with which a shell finds `node` and `npm`. Puts links to both into the new folder
    `home`/programs.
    """
    programs = home / "programs"
    programs.mkdir()
    (programs / "node").symlink_to(NODE_PROGRAM)
    (programs / "npm").symlink_to(NPM)
    variables = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    # Node uses the machine's certificates: its own list does not contain that of a company's proxy.
    return variables | {"PATH": path, "NODE_OPTIONS": "--use-system-ca"}


def without_build(into: Path) -> Path:
    """Returns a copy of clients/node without built files, like a fresh checkout. Skips the test where npm cannot
    install its development packages.
    """
    installed_or_skip(CLIENTS / "node")
    folder = into / "clients" / "node"
    shutil.copytree(CLIENTS / "node", folder, ignore=shutil.ignore_patterns(*LEFT_OUT, "*.tgz"))
    shutil.copytree(CLIENTS / "vectors", into / "clients" / "vectors")
    return folder


def copied(into: Path) -> Path:
    """Returns a copy of clients/node in which the package is built and packed. Skips the test where npm cannot install
    its development packages.
    """
    node_modules = installed_or_skip(CLIENTS / "node").node_modules

    def make(made: Path) -> None:
        with TemporaryDirectory() as folder:
            copy = without_build(Path(folder))
            (copy / "node_modules").symlink_to(node_modules)
            run_node(copy, NPM, "pack", "--silent")
            shutil.copytree(Path(folder) / "clients", made, symlinks=True)

    shutil.copytree(made_once("clients-node-packed", CLIENTS / "node", make), into / "clients", symlinks=True)
    shutil.rmtree(into / "clients" / "vectors")
    shutil.copytree(CLIENTS / "vectors", into / "clients" / "vectors")
    return into / "clients" / "node"


def packed(folder: Path) -> Path:
    """Returns the path of the package file in a folder in which `npm pack` has run."""
    [package] = folder.glob("posthaste-client-*.tgz")
    return package


def install_package(package: Path, into: Path) -> None:
    """Installs the package file into the folder `into`. npm asks no registry: the package has no dependencies."""
    (into / "package.json").write_text('{"private": true, "type": "module"}')
    run_node(into, NPM, "install", "--offline", "--no-audit", "--no-fund", package)
