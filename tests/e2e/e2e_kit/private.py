"""Starts further stacks: one for a test file that needs other settings, or one for each test process."""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from e2e_kit import secrecy
from e2e_kit.stack import Stack
from local.stack.stack import Stack as LocalStack


@contextmanager
def private_stack(run: Path, set_: Mapping[str, str] | None = None, **options: bool) -> Iterator[Stack]:
    """Runs a stack with its own servers during the block, and removes it afterwards. Then checks that its logs contain
    no secret.

    `set_` holds environment variables for all its processes; `options` are options of `./dev up`.
    """
    local = LocalStack(run, durable=False, usual_ports=False, **options)
    given = [name for name in os.environ if name == "AMQP_URL" or name.startswith("DATABASE_URL_")]
    before = dict(os.environ)
    try:
        for name in given:
            del os.environ[name]
        os.environ |= set_ or {}
        local.up(lambda _: None, owner_pid=os.getpid())
    finally:
        os.environ.clear()
        os.environ |= before
    try:
        yield Stack(run)
    finally:
        local.down()
        try:
            secrecy.check(run)
        finally:
            local.remove()


@contextmanager
def own_stack(run: Path) -> Iterator[Stack]:
    """Runs a stack like the shared one during the block. Its logs are kept."""
    slow = "TEST_SLOW" in os.environ
    local = LocalStack(run, durable=False, usual_ports=False, slow=slow, payments=True)
    with (run.parent / "starting").open("w") as turn:  # otherwise two stacks may choose the same ports
        fcntl.flock(turn, fcntl.LOCK_EX)
        local.up(lambda _: None, owner_pid=os.getpid())
    try:
        yield Stack(run)
    finally:
        local.down()
