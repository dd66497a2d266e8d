"""Code that tests of images and releases share: the Dockerfile's steps, environments, and processes in them."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.engine import make_url

from chassis.ids import new_id
from local.paths import ROOT
from local.servers import rabbitmq

#: Longest time for one step of an image, on a busy machine and with nothing in pip's cache.
STEP_SECONDS = 300
#: Longest time until a process answers, or has ended after SIGTERM.
START_SECONDS, STOP_SECONDS = 60.0, 20.0


def step(script: str, *arguments: str | Path, **env: str | Path) -> None:
    """Runs a RUN line of the Dockerfile with this Python. Fails the test if the line fails."""
    done = step_result(script, *arguments, **env)
    assert done.returncode == 0, done.stderr


def step_result(script: str, *arguments: str | Path, **env: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a RUN line of the Dockerfile with this Python. Returns the result, even if the line fails."""
    told = {"PYTHON": sys.executable, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_COMPILE": "1"}
    return subprocess.run(
        [ROOT / "deploy" / "images" / script, *arguments],
        cwd=ROOT, env=os.environ | told | {name: str(value) for name, value in env.items()},
        capture_output=True, text=True, timeout=STEP_SECONDS,
    )  # fmt: skip


@dataclass(frozen=True)
class Environment:
    """A virtual environment in which one of our packages is installed."""

    name: str
    python: Path

    def evaluate(self, code: str) -> Any:
        """Runs `code` in the environment. Returns the JSON value that the code assigns to `found`."""
        done = subprocess.run(
            [self.python, "-I", "-W", "ignore", "-c", f"import json\n{code}\nprint(json.dumps(found))"],
            cwd=self.python.parent, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


class Running:
    """A process in an environment, with the settings that its container has."""

    def __init__(
        self, environment: Environment, start: Sequence[str], env: dict[str, str], port: int
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        at = {"HOST": "127.0.0.1", "PORT": str(port), "HEALTH_HOST": "127.0.0.1", "HEALTH_PORT": str(port)}
        self.argv = [environment.python, "-m", *start]
        #: Where it runs: with `-m`, Python looks for modules there first, so it must hold none.
        self.folder = environment.python.parent
        self.env = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **at, **env}
        self.process: subprocess.Popen[bytes] | None = None

    def migrate(self, name: str) -> None:
        argv = [self.argv[0], "-m", "chassis.migrate", name]
        done = subprocess.run(argv, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        self.process = subprocess.Popen(self.argv, env=self.env, cwd=self.folder)

    def wait_healthy(self, path: str = "/healthz") -> None:
        end = time.monotonic() + START_SECONDS
        while not self.is_healthy(path):
            assert self.process is not None
            assert self.process.poll() is None, f"{self.argv} ended with {self.process.returncode}"
            assert time.monotonic() < end, f"{self.argv} is not healthy"
            time.sleep(0.05)

    def is_healthy(self, path: str = "/healthz") -> bool:
        """Returns whether the process is healthy, as the image's HEALTHCHECK asks it."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=2):
                return True
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            return False

    @property
    def is_web(self) -> bool:
        """Whether the process listens at an address other than the loopback."""
        return "gateway" in self.argv

    def signal(self) -> None:
        assert self.process is not None
        self.process.terminate()

    def wait_ended(self) -> int:
        assert self.process is not None
        return self.process.wait(STOP_SECONDS)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@contextmanager
def empty_database(admin: Engine) -> Iterator[Engine]:
    name = f"image_{new_id('t')[-20:]}"
    with admin.connect() as connection:
        connection.execute(text(f'CREATE DATABASE "{name}"'))
    engine = create_engine(make_url(admin.url).set(database=name), isolation_level="AUTOCOMMIT")
    yield engine
    engine.dispose()
    with admin.connect() as connection:
        connection.execute(text(f'DROP DATABASE "{name}" WITH (FORCE)'))


def make_rabbitmqctl(folder: Path) -> str:
    """Writes a program into this folder that runs `rabbitmqctl` on our broker, and returns its path. Skips the test if
    it is not our broker.
    """
    servers = Path(os.environ.get("TEST_RUN_DIR", ""))
    script = rabbitmq.server_script()
    if script is None or not (servers / "rabbitmq" / ".erlang.cookie").exists():
        pytest.skip("the broker is none that ./dev test started")
    port = json.loads((servers / "ports.json").read_text())["amqp_names"]
    program = folder / "rabbitmqctl"
    program.write_text(
        f"#!/bin/sh\nHOME={servers}/rabbitmq ERL_EPMD_PORT={port} "
        f'exec {script.parent}/rabbitmqctl -n posthaste@localhost "$@"\n'
    )
    program.chmod(0o755)
    return str(program)


def wait_until(holds: Callable[[], object], what: str, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.02)


#: Where no tag names a release, the commit so many back counts as the parent: far enough to differ, near enough that
#: its images share most layers with the present ones.
COMMITS_BACK = 20


def unpack_parent(folder: Path, *paths: str) -> None:
    """Unpacks these paths of the parent release into the folder. Without paths, unpacks all of it.

    The parent release is the one that PARENT_RELEASE names, otherwise the newest tag before this commit, otherwise the
    commit COMMITS_BACK before it. Skips the test if the history does not reach that far; in CI that is a failure.
    """
    commit = (
        os.environ.get("PARENT_RELEASE")
        or _git("describe", "--tags", "--abbrev=0", "HEAD~1")
        or _git("rev-parse", f"HEAD~{COMMITS_BACK}")
    )
    if not commit:
        if os.environ.get("CI") == "true":
            pytest.fail("the parent release is not in this clone: fetch its history")
        pytest.skip("the parent release is not in this clone")
    # The modes of a checkout, so that layers of an image that are made of the same files are found.
    argv = ["git", "-c", "tar.umask=0022", "archive", commit, *paths]
    archive = subprocess.run(argv, cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "--extract", "--directory", folder], input=archive.stdout, check=True)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60)
    return done.stdout.strip() if done.returncode == 0 else ""
