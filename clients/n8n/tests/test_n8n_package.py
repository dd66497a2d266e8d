"""The n8n package, packed by npm and loaded by n8n's own loader. Its requests go to an address where no server
listens.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit.n8n_node import N8nNode, installed_node

NOWHERE = {"baseUrl": "http://127.0.0.1:9/api/v1", "token": "svc_live_x"}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[N8nNode]:
    with installed_node(tmp_path_factory.mktemp("n8n")) as node:
        yield node


def test_the_package_holds_what_n8n_loads_and_depends_on_nothing(node: N8nNode) -> None:
    told = json.loads((node.package / "package.json").read_text())
    assert "n8n-community-node-package" in told["keywords"]
    assert "dependencies" not in told
    for path in [*told["n8n"]["nodes"], *told["n8n"]["credentials"], "README.md"]:
        assert (node.package / path).is_file()
    assert (node.package / "dist/nodes/Posthaste/posthaste.svg").is_file()
    assert {path.name for path in Path(node.package).iterdir()} == {"README.md", "dist", "package.json"}


def test_a_server_that_is_away_is_told_as_an_error(node: N8nNode) -> None:
    told = node.run(NOWHERE, resource="page", operation="list")
    assert "refused the connection" in told["error"]["message"]
