#!/usr/bin/env python3
"""Replaces units by their present images and settings, one after another, while the stack goes on answering.

    python3 deploy/compose/replace.py UNIT... [--env-file .env] [--no-deps]

A stand-in starts beside the old container, under the same name on the network. Once it is healthy, the unit is
replaced, and when that is healthy too, the stand-in ends. So somebody answers all the time; only the published port of
the gateway is closed for some seconds, in which Caddy reaches the stand-in. Each unit needs its memory twice meanwhile.

If a stand-in does not become healthy, the old container stays and the command ends with 1. It may be repeated at any
time: stand-ins that an interrupted run left are stopped first. Needs Python 3.9 or newer, nothing else.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LABEL = "posthaste.stand-in"
#: A slow server takes half a minute to start a unit; the rest is for a database that is busy.
HEALTHY_SECONDS = 240.0
PAUSE_SECONDS = 0.5


class Failed(Exception):
    """A command or a stand-in failed. The text says what, for the operator."""


def docker(*words: str) -> str:
    """Returns what a command of docker's printed. Raises Failed with its message."""
    done = subprocess.run(["docker", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"docker {' '.join(words)} ended with {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout.strip()


class Stack:
    """The stack of one `.env`."""

    def __init__(self, folder: Path, settings: Path, options: tuple[str, ...]) -> None:
        """Takes the folder of docker-compose.yml, and further options of `docker compose up`."""
        self._compose = ("compose", "--project-directory", str(folder), "--env-file", str(settings))
        self._options = options
        self._project = str(json.loads(self.compose("config", "--format", "json"))["name"])

    def compose(self, *words: str) -> str:
        return docker(*self._compose, *words)

    def replace(self, unit: str) -> None:
        """Replaces a unit behind a stand-in. Raises Failed; the old container is untouched if the stand-in fails."""
        label = f"{LABEL}={unit}"
        stand_in = self.compose(
            "run", "--detach", "--no-deps", "--use-aliases", "--label", label, unit
        ).splitlines()[-1]
        try:
            _wait(unit, stand_in)
            self.compose("up", "--detach", "--wait", *self._options, unit)
        finally:
            _end(stand_in)

    def end_stand_ins(self) -> None:
        """Ends the stand-ins that an interrupted run left."""
        project = f"label=com.docker.compose.project={self._project}"
        for found in docker(
            "ps", "--all", "--quiet", "--filter", project, "--filter", f"label={LABEL}"
        ).split():
            _end(found)


def _wait(unit: str, container: str) -> None:
    """Waits until a container is healthy. Raises Failed, with the end of its log, if it ends or takes too long."""
    give_up_at = time.monotonic() + HEALTHY_SECONDS
    while time.monotonic() < give_up_at:
        state = json.loads(docker("inspect", "--format", "{{json .State}}", container))
        if state["Status"] != "running":
            break
        if state.get("Health", {}).get("Status", "healthy") == "healthy":
            return
        time.sleep(PAUSE_SECONDS)
    logs = ["docker", "logs", "--tail", "20", container]
    said = subprocess.run(logs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    raise Failed(f"the stand-in of {unit} did not become healthy:\n{said}")


def _end(container: str) -> None:
    """Stops a container in its own time (stop_grace_period) and removes it."""
    docker("stop", container)
    docker("rm", "--force", container)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "units", nargs="+", metavar="UNIT", help="service of docker-compose.yml, callees before callers"
    )
    parser.add_argument(
        "--env-file", type=Path, default=ROOT / ".env", help="default: .env beside docker-compose.yml"
    )
    parser.add_argument(
        "--no-deps",
        action="store_true",
        help="leave alone what the units depend on: for the way back, because older migrations would fail",
    )
    options = parser.parse_args()
    try:
        stack = Stack(ROOT, options.env_file, ("--no-deps",) if options.no_deps else ())
        stack.end_stand_ins()
        for unit in options.units:
            began_at = time.monotonic()
            stack.replace(unit)
            print(f"{unit:<12} replaced in {time.monotonic() - began_at:.0f} s", flush=True)
    except Failed as failed:
        print(f"replace: {failed}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
