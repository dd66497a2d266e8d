"""Reads the file `env` of a run directory: KEY=VALUE lines for shells, tests and people."""

import os
from collections.abc import Mapping
from pathlib import Path

#: Names the run directory; in a process's environment it says that the addresses there are ours.
SOURCED = "POSTHASTE_RUN"


def read_env(run: Path) -> dict[str, str]:
    """Returns the values in the file `env` of a run directory; empty before the stack's first start."""
    return values_of(run / "env") if (run / "env").exists() else {}


def values_of(path: Path) -> dict[str, str]:
    """Returns the KEY=VALUE lines of a file."""
    lines = path.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def write_env(run: Path, values: Mapping[str, str]) -> None:
    fresh = run / "env.new"
    fresh.touch(mode=0o600)  # it holds tokens
    fresh.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    fresh.replace(run / "env")


def operator_env(run: Path) -> dict[str, str]:
    """Returns the environment of the operator's command line: the addresses, and the permission to move the clock."""
    return os.environ | read_env(run) | {"CLOCK_SHIFT_ALLOWED": "true"}
