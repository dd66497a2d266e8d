"""Builds the package of clients/n8n, and runs its node in n8n's engine (`clients/n8n/tests/run_node.cjs`)."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from testkit.foreign_packages import LEFT_OUT, environment, installed_or_skip, made_once
from testkit.node_client import CLIENTS, NODE_PROGRAM, NPM, run_node

_FOLDER = CLIENTS / "n8n"
#: Longest time for one run of the node, on a busy machine.
_SECONDS = 180
#: Begins each line with an answer, because n8n's engine writes to the standard output too.
_ANSWER = "answer: "


class N8nNode:
    """The node of our n8n package in a process with n8n's engine. The package is unpacked as n8n unpacks packages."""

    def __init__(self, package: Path, engine: "subprocess.Popen[str]") -> None:
        self.package = package
        self._engine = engine

    def run(
        self,
        credentials: Mapping[str, str],
        items: Sequence[Mapping[str, Any]] = ({},),
        *,
        execution_id: str = "1",
        workflow_id: str = "wf1",
        **parameters: Any,
    ) -> Any:
        """Runs the node once with these items and parameters. Returns `{"items": …}`, or `{"error": {message,
        description, code}}`.
        """
        asked = {
            "package": str(self.package), "credentials": credentials, "items": items, "parameters": parameters,
            "execution_id": execution_id, "workflow_id": workflow_id,
        }  # fmt: skip
        assert self._engine.stdin is not None
        assert self._engine.stdout is not None
        limit = threading.Timer(_SECONDS, self._engine.kill)
        limit.start()
        try:
            self._engine.stdin.write(json.dumps(asked) + "\n")
            self._engine.stdin.flush()
            for line in self._engine.stdout:
                if line.startswith(_ANSWER):
                    return json.loads(line.removeprefix(_ANSWER))
        finally:
            limit.cancel()
        raise AssertionError("n8n's engine has ended without an answer")


@contextmanager
def installed_node(into: Path) -> Iterator[N8nNode]:
    """Builds and unpacks the package of clients/n8n, and runs n8n's engine during the block. Skips the test where npm
    cannot install n8n.
    """
    node_modules = installed_or_skip(_FOLDER).node_modules

    def make(made: Path) -> None:
        with TemporaryDirectory() as folder:
            copy = Path(folder) / "source"
            shutil.copytree(_FOLDER, copy, ignore=shutil.ignore_patterns(*LEFT_OUT, "*.tgz"))
            (copy / "node_modules").symlink_to(node_modules)
            run_node(copy, NPM, "pack", "--silent", HOME=os.environ.get("HOME", folder))
            [archive] = copy.glob("n8n-nodes-posthaste-*.tgz")
            shutil.unpack_archive(archive, made)

    package = into / "node_modules" / "n8n-nodes-posthaste"
    shutil.copytree(made_once("clients-n8n-packed", _FOLDER, make) / "package", package)
    home = {"N8N_USER_FOLDER": str(into), "NODE_PATH": str(node_modules)}
    with subprocess.Popen(
        [NODE_PROGRAM, _FOLDER / "tests" / "run_node.cjs"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment() | home,
    ) as engine:  # fmt: skip
        try:
            yield N8nNode(package, engine)
        finally:
            engine.kill()
