"""The demo account of a stack: an Elite user with two brands, a page on every platform, and a token.

It is created with the operator's command line, like any account. Each finished step is written to `env`. So an
interrupted start continues where it stopped, and a second start changes nothing.
"""

import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from local.environment import operator_env, read_env, write_env
from local.paths import ROOT
from local.processes.table import NotReady
from local.stack import apps

EMAIL = "demo@posthaste.test"
BRANDS = {"BRAND_ID": "Harbour Bakery", "SECOND_BRAND_ID": "Night Market"}


class Refused(NotReady):
    """Raised when an operator command fails; `error` is the API's error."""

    def __init__(self, arguments: tuple[str, ...], error: dict[str, Any], text: str) -> None:
        super().__init__(f"ctl {' '.join(arguments)}: {text}")
        self.error = error


#: Runs the operator's command line and returns its decoded output. Raises Refused.
Ctl = Callable[..., Any]


class _Commands:
    """A process that runs operator commands one after the other. The first command starts it."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._process: subprocess.Popen[str] | None = None

    def __call__(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "local.stack.ctl_loop"],
                env=operator_env(self._run), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = ""
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(["--json", *arguments]) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise NotReady(f"ctl {' '.join(arguments)}: the command line's process has ended")
        done = json.loads(line)
        return subprocess.CompletedProcess(arguments, done["code"], done["output"], "")

    def close(self) -> None:
        if self._process is not None:
            with self._process as process, suppress(BrokenPipeError):
                assert process.stdin is not None
                process.stdin.close()


_commands: dict[Path, _Commands] = {}


@contextmanager
def commands_in_one_process(run: Path) -> Iterator[None]:
    """Makes `ctl` run all commands for this run directory in one process during the block, because starting Python
    takes longer than a command.
    """
    _commands[run] = commands = _Commands(run)
    try:
        yield
    finally:
        del _commands[run]
        commands.close()


def ctl(run: Path, *arguments: str) -> Any:
    """Runs an operator command on the stack in the run directory, as `./dev ctl --json` does, and returns its output,
    decoded from JSON. Raises Refused if it fails.
    """
    if run in _commands:
        return decoded(arguments, _commands[run](*arguments))
    return decoded(
        arguments,
        subprocess.run(
            [sys.executable, "-m", "ctl", "--json", *arguments],
            env=operator_env(run), cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        ),
    )  # fmt: skip


def decoded(arguments: tuple[str, ...], done: subprocess.CompletedProcess[str]) -> Any:
    """Returns the output of a finished operator command, decoded from JSON. Raises Refused with the API's error if the
    command failed.
    """
    if done.returncode == 0:
        return json.loads(done.stdout)
    try:
        error = json.loads(done.stdout)
    except ValueError:
        error = {}
    raise Refused(arguments, error, (done.stdout + done.stderr).strip()[-2000:])


def complete(run: Path, tell: Callable[[str], None], elsewhere: Ctl | None = None) -> None:
    """Creates the parts of the demo account that are missing, and writes their ids and tokens to `env`.

    `elsewhere`: a function that runs operator commands, for a stack that `./dev` did not start.
    """
    with commands_in_one_process(run):
        _complete(run, tell, elsewhere or partial(ctl, run))


def _complete(run: Path, tell: Callable[[str], None], operate: Ctl) -> None:
    def have(key: str) -> bool:
        return key in read_env(run)

    def note(**values: str) -> None:
        write_env(run, read_env(run) | values)

    if not have("SANDBOX_TOKEN"):
        tell("creating the demo account")
        password = secrets.token_urlsafe(9)
        created = create_user(operate, password)
        note(
            DEMO_USER_ID=created["user"]["id"],
            SANDBOX_TOKEN=created["sandbox_api_token"],
            DEMO_EMAIL=created["user"]["email"],
            DEMO_PASSWORD=password,
        )
    user_id = read_env(run)["DEMO_USER_ID"]
    if not have("LIVE_TOKEN"):
        created = operate("token", "create", "--user", user_id, "--scopes", "*", "--name", "demo")
        note(LIVE_TOKEN=created["api_token"])
    for key, name in BRANDS.items():
        if not have(key):
            brand = operate(
                "brand", "create", "--user", user_id, "--name", name, "--timezone", "Europe/Berlin"
            )
            note(**{key: brand["id"]})
    for platform in apps.CODES:
        key = f"PAGE_ID_{platform}"
        if not have(key):
            page = link_page(operate, read_env(run)["BRAND_ID"], platform, BRANDS["BRAND_ID"])
            note(**{key: page["id"]})
    if not have("SECOND_PAGE_ID"):
        page = link_page(operate, read_env(run)["SECOND_BRAND_ID"], "FB", BRANDS["SECOND_BRAND_ID"])
        note(SECOND_PAGE_ID=page["id"])


def link_page(operate: Ctl, brand_id: str, platform: str, name: str) -> Any:
    """Creates an account in the simulator, links it to the brand as a page, and returns the page."""
    return operate("page", "link", "--brand", brand_id, "--platform", platform, "--name", name)


def create_user(operate: Ctl, password: str) -> Any:
    """Creates the demo user and returns it with its sandbox token.

    If an earlier user has the demo user's address, uses another address: no command shows the sandbox token of the
    earlier user again. Raises NotReady if that address is taken too.
    """
    for email in (EMAIL, EMAIL.replace("@", f"-{secrets.token_hex(3)}@")):
        try:
            person = ("--email", email, "--password", password, "--firstname", "Dana")
            return operate("user", "create", "--tier", "elite", *person)
        except Refused as refused:
            if refused.error.get("code") != "EMAIL_TAKEN":
                raise
    raise NotReady("the demo user cannot be created: every address is taken")
