"""`doctor`: what it tells the operator about the sandbox of uploaded files, and its exit code."""

from typing import Any

import pytest
from msgspec.structs import replace

from contracts.media import SandboxReport

COMPLETE = SandboxReport(landlock_abi=7, seccomp=True, network_namespace=False, missing=(), required=True)


def test_a_complete_sandbox_is_ok(line: Any) -> None:
    line.bus.answers["get_sandbox"] = COMPLETE
    (finding,) = line.json("doctor")
    assert finding["state"] == "ok"
    assert finding["detail"] == ("Landlock ABI 7, seccomp, no network namespace (not required), required")


@pytest.mark.parametrize(("required", "state", "exit_code"), [(False, "warning", 0), (True, "failed", 1)])
def test_a_part_that_is_missing_fails_only_where_it_is_required(
    line: Any, required: bool, state: str, exit_code: int
) -> None:
    lacking = replace(COMPLETE, landlock_abi=0, missing=("landlock",), required=required)
    line.bus.answers["get_sandbox"] = lacking
    (finding,) = line.json("doctor", exit_code=exit_code)
    assert finding["state"] == state
    assert "no Landlock" in finding["detail"]
