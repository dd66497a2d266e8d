"""Tests the operator's command line, as a person or a script uses it."""

import json
import os
import subprocess
import sys

import pytest
from e2e_kit.operator import Account, Accounts, Operator
from e2e_kit.stack import Stack


def ctl(stack: Stack, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ctl", *arguments]
    return subprocess.run(command, env=os.environ | stack.env, capture_output=True, text=True, timeout=60)


def test_it_ends_with_0_done_1_refused_2_wrong_usage(stack: Stack, shared: Account) -> None:
    shown = ctl(stack, "brand", "list", "--user", shared.user_id)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shared.brand_id in shown.stdout
    refused = ctl(stack, "--json", "user", "plan", "usr_unknown", "pro")
    assert (refused.returncode, json.loads(refused.stdout)["code"]) == (1, "NOT_FOUND")
    told = ctl(stack, "user", "plan", "usr_unknown", "pro")
    assert told.returncode == 1
    assert "NOT_FOUND" in told.stderr
    for wrong in (
        ("user", "plan"),
        ("user", "create", "--email", "a@b.test", "--tier", "gold"),
        ("nonsense",),
    ):
        assert ctl(stack, *wrong).returncode == 2


def test_a_page_that_is_linked_can_be_found_on_its_platform(account: Account, operator: Operator) -> None:
    pages = {page["id"]: page for page in operator("page", "list", "--user", account.user_id)}
    assert pages[account.page_id()]["account_id"] == account.pages["FB"]["account_id"]
    assert operator("page", "expire", account.page_id())["expired"] is True


@pytest.mark.parametrize("platform", ["FB", "IG", "LN", "TT", "TW", "YT"])
def test_every_check_of_a_platform_holds_on_the_simulator(
    shared: Account, operator: Operator, platform: str
) -> None:
    checks = operator("platform", "check", platform, "--page", shared.page_id(platform))
    states = {one["check"]: one["state"] for one in checks}
    assert set(states.values()) <= {"ok", "skipped"}
    assert {"app", "redirect URI", "connection"} <= {name for name, state in states.items() if state == "ok"}


def test_an_address_has_one_account(account: Account, operator: Operator) -> None:
    with pytest.raises(AssertionError, match="EMAIL_TAKEN"):
        operator("user", "create", "--email", account.email.upper(), "--tier", "free")


def test_a_brand_has_a_time_zone_that_exists(
    account: Account, accounts: Accounts, operator: Operator
) -> None:
    assert accounts.brand(account.user_id)["timezone"] == "Europe/Berlin"
    for zone in ("Mars/Olympus", "Europe", "", "../etc/passwd"):
        with pytest.raises(AssertionError, match="VALIDATION_ERROR"):
            operator("brand", "create", "--user", account.user_id, "--name", "x", "--timezone", zone)


def test_the_quarantine_is_empty_while_nothing_is_poisoned(operator: Operator) -> None:
    assert operator("quarantine", "list") == []
