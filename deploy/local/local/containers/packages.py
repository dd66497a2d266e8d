"""Installs or unpacks Debian's packages for the engine: its programs and its root file systems. Needs Debian and root.

No image registry is used: the base images, too, are made of Debian's packages (`images.py`).
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from local.paths import RUN_TEST
from local.processes.table import NotReady
from local.servers import packages, postgres

FOLDER = RUN_TEST / "packages"
COMPOSE = FOLDER / "docker-compose"
#: Compose 2, which runs alone too, where it needs no engine.
COMPOSE_PROGRAM = COMPOSE / "usr/libexec/docker/cli-plugins/docker-compose"
MISSING = """\
The tests of containers need Debian 12 or newer, and root: they make network namespaces and start a container engine.
Missing: a program of docker.io, iptables, mmdebstrap or slirp4netns, and apt-get could not install them."""
PROGRAMS = {
    "dockerd": "docker.io",
    "iptables": "iptables",
    "mmdebstrap": "mmdebstrap",
    "slirp4netns": "slirp4netns",
}
#: The release of Debian whose Compose, PostgreSQL and RabbitMQ are nearest to the images of docker-compose.yml.
SERVERS_RELEASE = "trixie"
#: Name of a root file system → its release of Debian and its packages. `python` has the version that `./dev` runs on.
ROOTS = {
    "python": ("bookworm", "python3,python3-venv,ca-certificates,netbase,tzdata"),
    "servers": (SERVERS_RELEASE, "postgresql,rabbitmq-server,gosu,ca-certificates,caddy,busybox"),
}
#: What nothing in a container reads.
LEFT_OUT = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")]
Tell = Callable[[str], None]


def provide(tell: Tell) -> None:
    """Installs the missing programs and makes the missing root file systems. Raises NotReady with the error of apt or
    mmdebstrap.
    """
    if os.geteuid() != 0:
        raise NotReady(
            "./dev test --containers needs root: it makes namespaces and starts a container engine"
        )
    packages.install(tuple(PROGRAMS.values()), _has_programs, MISSING, tell)
    FOLDER.mkdir(parents=True, exist_ok=True)
    repository = _run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Origin: Debian", "Component: main"]
    )
    mirror = next((line for line in repository.splitlines() if "security" not in line), None)
    if mirror is None:
        raise NotReady(MISSING)
    with ThreadPoolExecutor() as pool:
        made = [pool.submit(_make_root, name, mirror, tell) for name in ROOTS]
        provide_compose(tell)
        for each in made:
            each.result()


def provide_compose(tell: Tell) -> None:
    """Downloads and unpacks Compose 2, unless that was done before. Raises NotReady if that fails."""
    packages.unpack("docker-compose", COMPOSE, MISSING, tell, SERVERS_RELEASE)


def root(name: str) -> Path:
    """Returns the path of the archive with the root file system `name`, a key of ROOTS. The file's name contains a hash
    of the list of packages.
    """
    made_of = hashlib.sha256(" ".join([*ROOTS[name], *LEFT_OUT]).encode()).hexdigest()[:8]
    return FOLDER / f"root-{name}-{made_of}.tar"


def _has_programs() -> bool:
    return all(map(shutil.which, PROGRAMS))


def _make_root(name: str, mirror: str, tell: Tell) -> None:
    if root(name).exists():
        return
    release, wanted = ROOTS[name]
    tell(f"making a root file system with {wanted} (once; half a minute)")
    fresh = root(name).with_suffix(".new.tar")
    # In memory where there is room: on a disk it takes twice as long.
    place = postgres.MEMORY if postgres.has_memory() else FOLDER
    with tempfile.TemporaryDirectory(dir=place) as folder:
        argv = [
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            f"--include={wanted}",
            "--dpkgopt=force-unsafe-io",
        ]
        _run([*argv, *LEFT_OUT, release, str(fresh), mirror], TMPDIR=folder)
    fresh.replace(root(name))


def _run(argv: list[str], **env: str) -> str:
    """Runs a command with further environment variables, and returns its output. Raises NotReady with its errors."""
    done = subprocess.run(
        argv, env=os.environ | env, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise NotReady(f"{' '.join(argv[:1])}: {done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout
