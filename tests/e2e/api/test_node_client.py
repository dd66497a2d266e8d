"""Tests the TypeScript client against a whole stack, installed from its package: a journey through the API, and writes
while answers are lost and processes are killed.
"""

import json
import os
import shutil
import subprocess
import threading
from collections import Counter
from pathlib import Path

import pytest
from e2e_kit.operator import Account, Accounts
from e2e_kit.stack import Stack
from e2e_kit.waiting import until

from posthaste import Posthaste
from testkit.node_client import NODE_PROGRAM, copied, install_package, packed, run_node

PROGRAMS = Path(__file__).parent / "node_programs"
#: In all, spread over the accounts, whose minutes are limited.
WRITES = 1_000 if "FULL_SIZE" in os.environ else 96
CLIENTS = 8
#: Of 100 answers this many are lost.
LOST_PERCENT = 25
READY_SECONDS = 30.0
#: For one client's share of the writes, on a busy machine.
WRITE_SECONDS = 300.0


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a user's programs, with the package of the client installed."""
    project = tmp_path_factory.mktemp("project")
    install_package(packed(copied(tmp_path_factory.mktemp("client"))), project)
    for program in PROGRAMS.glob("*.mjs"):
        shutil.copy(program, project)
    return project


def test_the_journey_of_a_post(project: Path, account: Account, jpeg: bytes, mp4: bytes) -> None:
    (project / "bread.jpg").write_bytes(jpeg)
    (project / "oven.mp4").write_bytes(mp4)
    run_node(
        project,
        "journey.mjs",
        POSTHASTE_URL=account.api.base_url,
        POSTHASTE_TOKEN=str(account.api.token),
        FB=account.page_id("FB"),
        IG=account.page_id("IG"),
        JPEG=(project / "bread.jpg").as_uri(),
        MP4=(project / "oven.mp4").as_uri(),
    )
    assert json.loads((project / "seen.json").read_text()) == {
        "email": account.email,
        "pages": sorted([account.page_id("FB"), account.page_id("IG")]),
        "was_published": True,
        "is_listed": True,
        "is_at": True,
        "message": "Tomorrow's bread",
        "cancelled": [True, "cancelled"],
        "statuses": [201],
        "valid": [False, "string"],
        "film": ["oven.mp4", "video/mp4", len(mp4), len(mp4)],
        "hook": [True, 1, True],
        "missing": {"family": "ResourceError", "code": "NOT_FOUND", "hasRequestId": True, "fields": []},
        "invalid": {
            "family": "InvalidRequest",
            "code": "VALIDATION_ERROR",
            "hasRequestId": True,
            "fields": ["message"],
        },
    }


@pytest.mark.alone
def test_writes_take_effect_once_while_answers_are_lost_and_processes_are_killed(
    project: Path, accounts: Accounts, stack: Stack
) -> None:
    owners = [accounts.new() for _ in range(CLIENTS)]
    (project / "work.json").write_text(
        json.dumps(
            {
                "accounts": [{"token": one.api.token, "page_id": one.page_id()} for one in owners],
                "share": WRITES // CLIENTS,
                "lost_percent": LOST_PERCENT,
            }
        )
    )
    lines: list[str] = []
    with subprocess.Popen(
        [NODE_PROGRAM, "writes.mjs"],
        cwd=project,
        env=os.environ | {"POSTHASTE_URL": owners[0].api.base_url},
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdout is not None
        reader = threading.Thread(target=lines.extend, args=(writer.stdout,))
        reader.start()
        try:
            for place, name in enumerate(("gateway", "publishing", "quota"), start=1):
                until(lambda share=place * WRITES // 4: len(lines) >= share, WRITE_SECONDS, "writes go on")
                stack.await_restart(name, stack.kill(name), READY_SECONDS)
            assert writer.wait(WRITE_SECONDS) == 0
        finally:
            writer.kill()
            reader.join()
    told = json.loads((project / "made.json").read_text())
    for owner, made in zip(owners, told["made"], strict=True):
        with Posthaste(owner.api.token, base_url=owner.api.base_url) as client:
            posts = list(client.iterate_scheduled_posts(status="all", limit=100))
        assert Counter(post.message for post in posts) == dict.fromkeys(made, 1)
        assert {post.message: post.id for post in posts} == made
    print(f"{WRITES} writes, {told['lost']} answers lost, three processes killed: {len(lines)} effects")
    assert len(lines) == WRITES
    assert told["lost"] > WRITES // 10
