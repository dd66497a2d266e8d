#!/usr/bin/env python3
"""Replaces units (services of docker-compose.yml) by their present images and settings, one after another, while the
stack answers requests.

    python3 deploy/compose/replace.py UNIT... [--env-file .env]

A stand-in container starts beside the old one, under the same name on the network. Once the stand-in is healthy, the
old container ends and the new one, which is created already, starts; once the new one is healthy, the stand-in ends.
So one of them always answers. Only the gateway's published port is closed between end and start; Caddy reaches the
stand-in during that time. Each unit needs its memory twice meanwhile. What a unit depends on stays as it is.

If a stand-in does not become healthy, the old container stays and the command ends with 1. It may be repeated at any
time: it first stops the stand-ins of an interrupted run. Needs only Python 3.9 or newer.
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
    """Raised when a command or a stand-in failed. The text tells the operator why."""


def docker(*words: str) -> str:
    """Runs a docker command and returns its output. Raises Failed with its error message."""
    done = subprocess.run(["docker", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"docker {' '.join(words)} ended with {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout.strip()


class Stack:
    """The Compose stack with the settings of one `.env`."""

    def __init__(self, folder: Path, settings: Path) -> None:
        self._compose = ("compose", "--project-directory", str(folder), "--env-file", str(settings))
        self._project = str(json.loads(self.compose("config", "--format", "json"))["name"])

    def compose(self, *words: str) -> str:
        return docker(*self._compose, *words)

    def replace(self, unit: str) -> None:
        """Replaces a unit, with a stand-in meanwhile. Raises Failed if a container does not become healthy; if it is
        the stand-in, the old container stays.
        """
        label = f"{LABEL}={unit}"
        stand_in = self.compose(
            "run", "--detach", "--no-deps", "--use-aliases", "--label", label, unit
        ).splitlines()[-1]
        try:
            _wait(stand_in, f"the stand-in of {unit}")
            old, new = self._create_beside(unit)
            # A published port is closed between these two: nothing else may happen here.
            docker("stop", *old)
            docker("start", new)
            docker("rm", *old)
            _wait(new, f"the new {unit}")
        finally:
            _end(stand_in)

    def _create_beside(self, unit: str) -> tuple[list[str], str]:
        """Creates the unit's next container, without starting it. Returns the ids of its present ones, and the new id.

        Leaves what the unit depends on as it is, and runs no jobs.
        """
        old = self._containers(unit)
        if not old:
            raise Failed(f"{unit} has no container to replace: docker compose up --detach {unit}")
        self.compose("create", "--no-recreate", "--scale", f"{unit}={len(old) + 1}", unit)
        [new] = set(self._containers(unit)) - set(old)
        return old, new

    def _containers(self, unit: str) -> list[str]:
        """Returns the ids of the unit's containers, running or not: one, or more after an interrupted run."""
        return self._ids("com.docker.compose.oneoff=False", f"com.docker.compose.service={unit}")

    def end_stand_ins(self) -> None:
        """Stops the stand-ins of an interrupted run."""
        for found in self._ids(LABEL):
            _end(found)

    def _ids(self, *labels: str) -> list[str]:
        """Returns the stack's containers with these labels, running or not."""
        labels = (f"com.docker.compose.project={self._project}", *labels)
        return docker("ps", "--all", "--quiet", *(f"--filter=label={label}" for label in labels)).split()


def _wait(container: str, name: str) -> None:
    """Waits until a container's health check passes. Raises Failed with the end of the container's log if the
    container ends or takes too long.
    """
    give_up_at = time.monotonic() + HEALTHY_SECONDS
    while time.monotonic() < give_up_at:
        found = json.loads(docker("inspect", container))[0]
        if found["State"]["Status"] != "running":
            break
        if _is_healthy(container, (found["Config"].get("Healthcheck") or {}).get("Test") or []):
            return
        time.sleep(PAUSE_SECONDS)
    logs = ["docker", "logs", "--tail", "20", container]
    said = subprocess.run(logs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    raise Failed(f"{name} did not become healthy:\n{said}")


def _is_healthy(container: str, check: list[str]) -> bool:
    """Runs a container's health check here, because the engine runs it for the first time only after ten seconds."""
    if check in ([], ["NONE"]):
        return True
    kind, *words = check
    try:
        docker("exec", container, *(words if kind == "CMD" else ["sh", "-c", *words]))
    except Failed:
        return False
    return True


def _end(container: str) -> None:
    """Stops a container, which has as long as its stop_grace_period says, and removes it."""
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
    options = parser.parse_args()
    try:
        stack = Stack(ROOT, options.env_file)
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
