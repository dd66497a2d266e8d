"""Builds, packs and unpacks clients/n8n, and runs its node in n8n's own engine (`clients/n8n/tests/run_node.cjs`)."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from testkit.foreign_packages import environment, installed_or_skip
from testkit.node_client import CLIENTS, NODE_PROGRAM, NPM, run_node

_FOLDER = CLIENTS / "n8n"
#: Longest time for one run of the node, on a busy machine.
_SECONDS = 180


class N8nNode(NamedTuple):
    """The package as n8n has it after its installation. `node_modules`: n8n's own packages."""

    package: Path
    node_modules: Path

    def run(
        self,
        credentials: Mapping[str, str],
        items: Sequence[Mapping[str, Any]] = ({},),
        *,
        execution_id: str = "1",
        workflow_id: str = "wf1",
        **parameters: Any,
    ) -> Any:
        """Returns `{"items": …}`, or `{"error": {message, description, code}}`."""
        asked = {
            "package": str(self.package), "credentials": credentials, "items": items, "parameters": parameters,
            "execution_id": execution_id, "workflow_id": workflow_id,
        }  # fmt: skip
        home = {"N8N_USER_FOLDER": str(self.package.parents[1]), "NODE_PATH": str(self.node_modules)}
        done = subprocess.run(
            [NODE_PROGRAM, _FOLDER / "tests" / "run_node.cjs"],
            input=json.dumps(asked),
            env=environment() | home,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])


def installed_node(into: Path) -> N8nNode:
    """Packs a copy of clients/n8n with npm and unpacks it. Skips the test where npm cannot install."""
    node_modules = installed_or_skip(_FOLDER).node_modules
    copy = into / "source"
    shutil.copytree(
        _FOLDER, copy, ignore=shutil.ignore_patterns("node_modules", "dist", "__pycache__", "*.tgz")
    )
    (copy / "node_modules").symlink_to(node_modules)
    run_node(copy, NPM, "pack", "--silent", HOME=os.environ.get("HOME", str(into)))
    [archive] = copy.glob("n8n-nodes-posthaste-*.tgz")
    package = into / "node_modules" / "n8n-nodes-posthaste"
    shutil.unpack_archive(archive, into / "unpacked")
    package.parent.mkdir()
    (into / "unpacked" / "package").rename(package)
    return N8nNode(package, node_modules)
