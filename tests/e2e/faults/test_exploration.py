"""Processes explore the API by following its answers, with tokens of six kinds. Every answer must be documented."""

import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from e2e_kit.operator import Accounts, Clock, Operator
from fault_kit import explorer
from fault_kit.figures import Figures
from fault_kit.stack import FaultyStack

#: Each waits for one answer at a time.
PROCESSES = 4
#: Requests of each process, and the seconds from its first request after which it ends all the same: in full all of
#: them have to be made.
FULL, CORE = (12_500, 900.0), (300, 20.0)
#: Platforms that take a text alone.
PAGES = ("FB", "LN", "TW")
#: Operations that have to be met, and to succeed, in full: of about 50.
MET, SUCCEEDED = 40, 30
#: An account may send 300 requests a minute.
WORLDS, CORE_WORLDS = 48, 8


def test_what_is_asked_along_the_answers_with_tokens_of_six_kinds_is_answered_as_described(
    accounts: Accounts, operator: Operator, stack: FaultyStack, figures: Figures, is_core: bool
) -> None:
    requests, seconds = CORE if is_core else FULL
    now = Clock(operator).now().isoformat()
    worlds = [world(accounts, operator) for _ in range(CORE_WORLDS if is_core else WORLDS)]
    begin = time.monotonic()
    processes = []
    for number in range(PROCESSES):
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", explorer.__name__],
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        own = worlds[number::PROCESSES]
        json.dump(
            {
                "base_url": stack.base_url,
                "worlds": own,
                "seed": number,
                "requests": requests,
                "seconds": seconds,
                "now": now,
            },
            process.stdin,
        )
        process.stdin.close()
        processes.append(process)
    found = []
    for process in processes:
        with process:
            assert process.stdout is not None
            found.append(json.loads(process.stdout.read().splitlines()[-1]))
    statuses, kinds = (
        sum((Counter(one[name]) for one in found), Counter()) for name in ("statuses", "kinds")
    )
    operations: dict[str, Counter[str]] = defaultdict(Counter)
    for one in found:
        for name, answers in one["operations"].items():
            operations[name].update(answers)
    succeeded = [name for name, answers in operations.items() if any(status < "300" for status in answers)]
    failures = {name: said for one in found for name, said in one["failures"].items()}
    taken = time.monotonic() - begin
    figures.note(
        "exploration", requests=statuses.total(), rate=f"{statuses.total() / taken:.0f}/s", kinds=dict(kinds),
        answers=dict(sorted(statuses.items())), operations=len(operations), succeeded=len(succeeded),
        violations=len(failures),
    )  # fmt: skip
    (Path(stack.run) / "exploration.json").write_text(
        json.dumps({"operations": operations, "failures": failures}, indent=1)
    )
    assert statuses.total() >= (0 if is_core else PROCESSES * requests), f"in {taken:.0f} s"
    assert len(operations) >= (10 if is_core else MET), sorted(operations)
    assert len(succeeded) >= (5 if is_core else SUCCEEDED), sorted(succeeded)
    assert not failures, "\n\n".join(f"{name}\n{said}" for name, said in list(failures.items())[:5])
    assert not [status for status in statuses if int(status) >= 500 and int(status) != 502], statuses


def world(accounts: Accounts, operator: Operator) -> dict[str, Any]:
    """An account with two brands, pages and a guest; its ids, and a token of every kind."""
    account, guest = accounts.new(pages=PAGES), accounts.new(pages=())
    other = accounts.brand(account.user_id, "Night Market")["id"]
    operator("collaborator", "add", "--brand", account.brand_id, "--user", guest.user_id, "--role", "full")
    issued = ("--brand", account.brand_id, "--issued-by", guest.user_id)
    revoked = accounts.token(account.user_id)
    operator("token", "revoke", revoked["token"]["id"])
    tokens = {
        "live": account.api.token,
        "one brand": accounts.token(account.user_id, "*", "--brand", other)["api_token"],
        "collaborator": accounts.token(account.user_id, "*", *issued)["api_token"],
        "sandbox": account.sandbox_token,
        "revoked": revoked["api_token"],
        "none": None,
    }
    return {"tokens": tokens, "ids": [account.brand_id, other, *map(account.page_id, PAGES)]}
