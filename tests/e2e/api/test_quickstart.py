"""The quickstart, followed word by word: its blocks are read from the page and run, up to the verified webhook.

Only the stack is not started by the page's command: `./dev test` has started it, and a fresh account takes the place of
the demo account.
"""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from e2e_kit.operator import Account
from e2e_kit.waiting import until

from testkit.node_client import node_on_path, without_build

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "api" / "quickstart.md").read_text()
#: A whole way from the first command to the webhook, on a busy machine.
SECONDS = 60


def saved_as(name: str) -> str:
    """Returns the block of the page that a reader saves under this name."""
    blocks = re.split(rf"^Save (?:this )?as `{re.escape(name)}`", PAGE, flags=re.MULTILINE)[1]
    block = re.search(r"^```\w+\n(.*?)^```$", blocks, re.MULTILINE | re.DOTALL)
    assert block is not None
    return block[1]


def shell_block(language: str = "bash") -> str:
    [block] = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(block)


class Reader:
    """A reader who has followed the page up to the choice of a language: variables are set, and the receiver runs."""

    def __init__(self, folder: Path, account: Account) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.variables = {
            "PATH": os.environ["PATH"],
            "BASE_URL": account.api.base_url,
            "LIVE_TOKEN": str(account.api.token),
            "PAGE_ID_FB": account.page_id("FB"),
            "HOOK_PORT": str(port),
        }
        self.save("receiver.py")
        self.receiver = subprocess.Popen(
            [sys.executable, "receiver.py"], cwd=folder, env=self.variables, stdout=subprocess.PIPE, text=True
        )
        # Otherwise a delivery may come before it listens, and again only after 30 s.
        until(self.listens, SECONDS, "the receiver listens")

    def listens(self) -> bool:
        connections = psutil.Process(self.receiver.pid).net_connections("tcp")
        return any(one.status == psutil.CONN_LISTEN for one in connections)

    def save(self, name: str) -> None:
        (self.folder / name).write_text(saved_as(name))

    def run(self, *command: str | Path) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self.variables, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def received(self) -> str:
        """Waits until the receiver ends, which it does after its first delivery. Returns what it has printed."""
        return self.receiver.communicate(timeout=SECONDS)[0]


@pytest.fixture
def reader(tmp_path: Path, account: Account) -> Iterator[Reader]:
    reader = Reader(tmp_path, account)
    yield reader
    if reader.receiver.poll() is None:
        reader.receiver.kill()
    reader.receiver.communicate()


def messages_of(account: Account) -> list[str]:
    return [post["message"] for post in account.api.get("/posts/published", 200)["published_posts"]]


def test_curl_leads_to_a_verified_webhook(reader: Reader, account: Account) -> None:
    printed = reader.run("bash", "-euc", shell_block())
    assert account.email in printed
    assert "verified webhook.test evt_" in reader.received()
    assert messages_of(account) == ["Hello from curl"]


def test_python_leads_to_a_verified_webhook(reader: Reader, account: Account) -> None:
    reader.save("first_post.py")
    assert reader.run(sys.executable, "first_post.py").startswith("https://")
    assert "verified webhook.test evt_" in reader.received()
    assert messages_of(account) == ["Hello from Python"]


def test_typescript_leads_to_a_verified_webhook(reader: Reader, account: Account) -> None:
    without_build(reader.folder)
    reader.variables |= node_on_path(reader.folder)
    reader.run("bash", "-euc", shell_block("sh"))
    reader.save("first_post.mts")
    assert reader.run("bash", "-euc", "node first_post.mts").startswith("https://")
    assert "verified webhook.test evt_" in reader.received()
    assert messages_of(account) == ["Hello from TypeScript"]


def test_no_way_takes_more_than_twelve_commands_or_calls() -> None:
    start = 3  # up, the variables, the receiver
    assert start + len(re.findall(r"\bcurl ", shell_block())) <= 12
    assert start + 1 + len(re.findall(r"\bclient\.\w+\(", saved_as("first_post.py"))) <= 12
    install = len(shell_block("sh").splitlines())
    assert start + install + 1 + len(re.findall(r"await client\.\w+\(", saved_as("first_post.mts"))) <= 12
