"""The commands of `./dev`."""

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from local import release
from local.demo import fill, journey
from local.environment import operator_env, read_env
from local.paths import ROOT, RUN, RUN_TEST
from local.processes import watch
from local.processes.table import NotReady, stop_supervisor, supervisor_pid
from local.servers import mail
from local.stack import account
from local.stack.stack import Stack
from local.supply_chain import audit, images, lock, sbom
from local.testing import runs, servers

#: Programs of .venv.
LINT = (
    ("ruff", "check", "--output-format", "concise"),
    ("ruff", "format", "--check"),
    ("mypy",),
    ("lint-imports", "--no-logo"),
    (
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "deploy/local/tests/test_words.py",
        "deploy/local/tests/test_sizes.py",
        "clients/python/tests/test_generated.py",
    ),
)
HELP = {"-h", "--help"}
#: Says why `up` has started nothing.
RUNNING = "already running, with the code that it was started with: ./dev logs follows the logs, ./dev down stops it"


def tell(line: str) -> None:
    """Prints a line about progress to standard error; standard output is for results."""
    print(f"· {line}", file=sys.stderr, flush=True)


def up(arguments: Sequence[str]) -> int:
    """[--detach] [--strict] [--payments] [--compact] [--slow]: start everything and create a demo account"""
    parser = argparse.ArgumentParser(prog="./dev up")
    parser.add_argument("--detach", action="store_true", help="return when ready; ./dev down stops it")
    parser.add_argument("--strict", action="store_true", help="no loopback addresses for webhooks")
    parser.add_argument(
        "--payments", action="store_true", help="credit packs and auto-refill, paid to the simulator's Stripe"
    )
    parser.add_argument(
        "--compact", action="store_true", help="all services in one process, sized for a small server"
    )
    parser.add_argument(
        "--slow",
        action="store_true",
        help="platforms as slow as the real ones: a text 0.4 to 3 s, a video minutes",
    )
    options = parser.parse_args(arguments)
    stack = Stack(
        RUN, strict=options.strict, payments=options.payments, compact=options.compact, slow=options.slow
    )
    if options.detach:
        started = stack.up(tell)
        print(summary(), flush=True)
        if not started:
            tell(RUNNING)
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    started = stack.up(tell, owner_pid=os.getpid())
    print(summary(), flush=True)
    if not started:
        tell(RUNNING)
        return 0
    tell("the logs follow; Ctrl-C stops everything")
    try:
        return logs(())
    finally:
        tell("stopping")
        stack.down()


def down(arguments: Sequence[str]) -> int:
    """stop everything that `up` started; keep the data"""
    print("stopped" if stop_supervisor(RUN) else "nothing was running")
    return 0


def run_demo(arguments: Sequence[str]) -> int:
    """[--fill]: run the main journey against the running stack; --fill: fill the demo account for the dashboard"""
    parser = argparse.ArgumentParser(prog="./dev demo")
    parser.add_argument("--fill", action="store_true", help="three weeks of posts, comments and deliveries")
    return fill.main(RUN) if parser.parse_args(arguments).fill else journey.main(RUN)


def ctl(arguments: Sequence[str]) -> int:
    """[arguments…]: run the operator's command line with these arguments (see ./dev ctl --help)"""
    if arguments and not HELP & {*arguments} and supervisor_pid(RUN) is None:
        raise NotReady("nothing is running: ./dev up --detach first")
    os.chdir(ROOT)
    os.execve(sys.executable, [sys.executable, "-m", "ctl", *arguments], operator_env(RUN))


def lint(arguments: Sequence[str]) -> int:
    """[--audit [database]]: check code, sizes, wording, image digests; --audit: also known vulnerabilities"""
    parser = argparse.ArgumentParser(prog="./dev lint")
    parser.add_argument(
        "--audit", nargs="?", const="", metavar="database", help="a folder or zip file in the OSV format"
    )
    database: str | None = parser.parse_args(arguments).audit
    programs = Path(sys.executable).parent
    running = [
        subprocess.Popen(
            [programs / name, *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for name, *options in LINT
    ]
    codes = []
    for process in running:  # side by side; what each says is printed in their order
        print(process.communicate()[0], end="", flush=True)
        codes.append(process.returncode)
    for problem in (problems := images.problems()):
        print(problem, flush=True)
    if database is not None:
        codes.append(audit.main(database))
    return int(any(codes) or bool(problems))


def logs(arguments: Sequence[str]) -> int:
    """[name…]: follow the logs"""
    try:
        for line in watch.follow(RUN, list(arguments), from_end=not arguments):
            print(line, flush=True)
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    return 0


def status(arguments: Sequence[str]) -> int:
    """show each process: state, pid, starts, memory"""
    rows = watch.status(RUN) if supervisor_pid(RUN) else []
    for row in rows:
        memory = f"{int(str(row['memory_bytes'])) / 2**20:.0f} MB"
        pid = f"pid {row['pid']}" if row["pid"] else ""
        print(f"{row['name']:<20} {row['state']:<10} {pid:<12} starts {row['starts']:<4} {memory:>8}")
    total = sum(int(str(row["memory_bytes"])) for row in rows) / 2**20
    print(f"{'in all':<20} {total:>45.0f} MB" if rows else "nothing is running")
    return 0 if rows else 1


def run_servers(arguments: Sequence[str]) -> int:
    """up|down: start or stop only PostgreSQL, RabbitMQ and S3, for tests; writes their addresses to .run-test/env"""
    if list(arguments) == ["down"]:
        stop_supervisor(servers.SHARED)
        return 0
    if list(arguments) != ["up"]:
        raise NotReady("usage: ./dev servers up|down")
    lines = "".join(f"{key}={value}\n" for key, value in servers.up(servers.SHARED, tell).items())
    (RUN_TEST / "env").write_text(lines)
    print(lines, end="")
    return 0


def test(arguments: Sequence[str]) -> int:
    """[--changed] [--slow] [--faults | --containers [--core]] [pytest arguments]: run tests, on their own servers"""
    return runs.test(arguments, tell)


def bench(arguments: Sequence[str]) -> int:
    """[name]: run the benchmarks, on their own stack"""
    return runs.bench(arguments, tell)


def run_mail(arguments: Sequence[str]) -> int:
    """[show [N] | link [N]]: list the mails of the stack, newest first; show the newest (or Nth), or print its link"""
    what, number = ([*arguments] + [None] * 2)[:2]
    mails = mail.read(mail.folder(RUN))
    if what is None:
        for place, one in enumerate(mails, 1):
            print(f"{place:>3}  {one['Date']}  {one['To']}  {one['Subject']}")
        return 0
    if what not in ("show", "link") or not (number or "1").isdecimal() or len(arguments) > 2:
        raise NotReady("usage: ./dev mail [show [N] | link [N]]")
    place = int(number or 1)
    if not 1 <= place <= len(mails):
        raise NotReady(f"there are {len(mails)} mails: ./dev mail lists them")
    chosen = mails[place - 1]
    if what == "link":
        print(mail.link_in(chosen) or "")
        return 0
    print(
        f"To: {chosen['To']}\nSubject: {chosen['Subject']}\nDate: {chosen['Date']}\n\n{chosen.get_content()}"
    )
    return 0


def run_lock(arguments: Sequence[str]) -> int:
    """[--upgrade | name…]: rewrite the lock files, with newer versions of all or of the named packages"""
    return lock.main(arguments)


def run_sbom(arguments: Sequence[str]) -> int:
    """image… [--into folder]: extract and check the bill of materials of built images"""
    return sbom.main(arguments)


def run_clients(arguments: Sequence[str]) -> int:
    """rewrite the generated modules of clients/python and clients/node from the gateway's endpoints"""
    return subprocess.run([sys.executable, "-m", "client_generator"], cwd=ROOT).returncode


def run_images(arguments: Sequence[str]) -> int:
    """[--pin]: list third-party images and their digests; --pin updates the digests from the registries"""
    return images.main(list(arguments))


def run_release(arguments: Sequence[str]) -> int:
    """version: write the version everywhere and the changelog's section, commit and tag; publishes nothing"""
    return release.main(arguments, lint)


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "up": up, "down": down, "demo": run_demo, "test": test, "bench": bench, "ctl": ctl,
    "status": status, "logs": logs, "lint": lint, "lock": run_lock, "images": run_images, "sbom": run_sbom,
    "servers": run_servers, "clients": run_clients, "mail": run_mail, "release": run_release,
}  # fmt: skip


def summary() -> str:
    """Returns the addresses of the stack, the demo login and three commands to try."""
    env = read_env(RUN)
    curl = f"curl -s -H 'Authorization: Bearer {env['LIVE_TOKEN']}'"
    body = json.dumps({"page_id": env["PAGE_ID_FB"], "message": "Hello from Posthaste"})
    post = f"-H 'Content-Type: application/json' -d '{body}'"
    login = f"./dev ctl user reset-link {account.EMAIL} prints a link to choose a password"
    if "DEMO_PASSWORD" in env:  # accounts made before 1.4.0 have none
        login = f"{env['DEMO_EMAIL']}, password {env['DEMO_PASSWORD']}"
    return f"""
  Dashboard      {env["DASHBOARD_URL"]}
  Sign in        {login}
  Base URL       {env["BASE_URL"]}
  Live token     {env["LIVE_TOKEN"]}
  Sandbox token  {env["SANDBOX_TOKEN"]}

Who am I:          {curl} {env["BASE_URL"]}/me
Publish a post:    {curl} {post} {env["BASE_URL"]}/posts/publish
What is published: {curl} {env["BASE_URL"]}/posts/published
"""


def usage() -> str:
    lines = "\n".join(
        f"  {name:<8} {(function.__doc__ or '').strip()}" for name, function in COMMANDS.items()
    )
    return (
        f"usage: ./dev COMMAND\n\n{lines}\n\nA fresh machine: ./dev up, then ./dev demo in another terminal."
    )


def main() -> int:
    """Runs the command of `./dev` that the process's arguments name. Returns the exit code: 0 done, 1 failed (the
    reason is on standard error), 2 wrong usage.
    """
    try:
        code = _run(sys.argv[1:])
        sys.stdout.flush()
        return code
    except NotReady as error:
        print(f"dev: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader, such as `head`, has enough. Nobody reads what is still buffered.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] in {*HELP, "help"}:
        print(usage())
        return 0
    command = COMMANDS.get(arguments[0])
    if command is None:
        print(f"dev: unknown command {arguments[0]!r}\n\n{usage()}", file=sys.stderr)
        return 2
    if HELP & {*arguments[1:]} and command not in (up, ctl, lint, run_sbom):  # which have their own
        print(f"./dev {arguments[0]}  {(command.__doc__ or '').strip()}")
        return 0
    return command(arguments[1:])
