"""Runs dockerd in process and mount namespaces of its own, and in a network namespace (through `network.py`).

One process holds the namespaces. When it is killed, dockerd and every process of every container are killed too, as
when a machine loses its power. Images, containers and volumes stay in the folder, and the next `boot` finds them.
"""

import json
import os
import shutil
import socket
import subprocess
import time
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path

import psutil

from local.containers import packages
from local.containers.network import DNS
from local.processes.table import NotReady, bound_to_parent

DOCKER = "/usr/bin/docker"
BOOT_SECONDS = 60.0
CONTROL_GROUPS = Path("/sys/fs/cgroup")
#: $1: the folder, $2: the control group. /run is new at each boot, as on a machine: an old pid file would tell dockerd
#: that it runs already.
BOOT = f"""
mount -t tmpfs tmpfs /run
/usr/sbin/dockerd --host "unix://$1/docker.sock" --data-root "$1/docker" --storage-driver overlay2 --dns {DNS} \\
  --cgroup-parent "$2" >>"$1/dockerd.log" 2>&1 &
wait $!
"""


class Engine:
    """A container engine (dockerd) with a folder of its own. Start it in the network of the tests (`network.py`)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.group = f"/posthaste-{os.getpid()}"
        self.machine: psutil.Popen | None = None
        plugins = folder / "config" / "cli-plugins"
        plugins.mkdir(parents=True)
        (plugins / "docker-compose").symlink_to(packages.COMPOSE_PROGRAM)
        #: Of every command: nothing of this machine's environment reaches Compose, which would read settings from it.
        self.env = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(folder),
            "DOCKER_HOST": f"unix://{folder}/docker.sock",
            "DOCKER_CONFIG": str(folder / "config"),
            "DOCKER_BUILDKIT": "0",
        }

    def boot(self) -> None:
        """Starts dockerd, which starts the containers that ran before. Raises NotReady with the end of its log if it
        does not start.
        """
        unshare = [
            "unshare",
            "--pid",
            "--mount",
            "--propagation=private",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ]
        argv = [*unshare, "--", "sh", "-c", BOOT, "sh", str(self.folder), self.group]
        self.machine = psutil.Popen(bound_to_parent(argv, 9))
        end = time.monotonic() + BOOT_SECONDS
        while self.docker("version", check=False).returncode:
            if time.monotonic() > end or self.machine.poll() is not None:
                raise NotReady(f"dockerd did not start:\n{(self.folder / 'dockerd.log').read_text()[-2000:]}")
            time.sleep(0.1)

    def power_off(self) -> None:
        """Kills dockerd and every process of every container with SIGKILL."""
        if self.machine is not None:
            with suppress(psutil.NoSuchProcess):
                inside = self.machine.children(recursive=True)
                self.machine.kill()
                psutil.wait_procs(inside, timeout=BOOT_SECONDS)
            self.machine.wait()
            self.machine = None

    def remove(self) -> None:
        """Kills all processes and deletes images, containers and volumes. The log of dockerd stays."""
        self.power_off()
        shutil.rmtree(self.folder / "docker", ignore_errors=True)
        for controller in CONTROL_GROUPS.glob(f"*{self.group}"):
            for group, *_ in sorted(os.walk(controller), reverse=True):
                with suppress(OSError):
                    os.rmdir(group)

    def cpu_seconds(self, container: str) -> float:
        """Returns the CPU time that all processes of a container have taken so far, its health checks included."""
        connection = HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(self.folder / "docker.sock"))
        with closing(connection):
            connection.request("GET", f"/containers/{container}/stats?stream=false&one-shot=true")
            stats = json.load(connection.getresponse())
        return float(stats["cpu_stats"]["cpu_usage"]["total_usage"]) / 1e9

    def docker(
        self, *words: str, stdin: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Runs docker with these arguments and returns the finished process with its output. Raises AssertionError with
        the output if it fails, unless `check` is false.
        """
        done = subprocess.run(
            [DOCKER, *words], env=self.env, input=stdin or "", capture_output=True, text=True
        )
        if check and done.returncode != 0:
            shown = " ".join(words)
            raise AssertionError(
                f"docker {shown} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
            )
        return done
