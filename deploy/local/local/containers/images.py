"""Builds stand-ins for the third-party images that `docker-compose.yml` and the Dockerfile name, from Debian's
packages.

They behave like the official ones as far as Compose needs. They cannot show whether the pinned digests are right, or
how the exact versions behave (Python, PostgreSQL, RabbitMQ and Caddy are Debian's). SeaweedFS is the pinned version.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from local.containers import packages
from local.containers.engine import Engine
from local.testing import prometheus_names

HERE = Path(__file__).parent / "images"
#: The variables by which docker-compose.yml takes third-party images from elsewhere, and what they are here.
SETTINGS = {
    "PYTHON_IMAGE": "stand-in/python:1",
    "CADDY_IMAGE": "stand-in/caddy:1",
    "POSTGRES_IMAGE": "stand-in/postgres:1",
    "RABBITMQ_IMAGE": "stand-in/rabbitmq:1",
    "STORAGE_IMAGE": "stand-in/storage:1",
    "RCLONE_IMAGE": "stand-in/rclone:1",
    "COLLECTOR_IMAGE": "stand-in/collector:1",
}
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")


def make_python(engine: Engine) -> None:
    """Builds the base image of our images. pip in it uses the same package index as on this machine."""
    engine.docker("import", str(packages.root("python")), "root/python:1")
    index = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    told = f"[global]\ncert = {AUTHORITIES}\n" + (f"index-url = {index}\n" if index else "")
    _build(engine, "python", SETTINGS["PYTHON_IMAGE"], {"pip.conf": told}, [AUTHORITIES])


def make_servers(engine: Engine) -> None:
    """Builds the images of PostgreSQL, RabbitMQ, Caddy, SeaweedFS (the storage) and rclone."""
    engine.docker("import", str(packages.root("servers")), "root/servers:1")
    for name in ("postgres", "rabbitmq", "caddy"):
        _build(engine, name, SETTINGS[f"{name.upper()}_IMAGE"])
    for name, program in (("storage", "weed"), ("rclone", "rclone")):
        _build(engine, name, SETTINGS[f"{name.upper()}_IMAGE"], files=[Path(sys.executable).parent / program])


def make_collector(engine: Engine, base: str, expiration_seconds: int) -> None:
    """Builds the image of a simple telemetry collector. `base`: the image of ours that it is based on.

    `expiration_seconds`: after this time without new values, the collector drops the values of a process.
    """
    arguments = {"BASE": base, "EXPIRATION_SECONDS": str(expiration_seconds)}
    names = Path(prometheus_names.__file__)
    _build(engine, "collector", SETTINGS["COLLECTOR_IMAGE"], files=[names], arguments=arguments)


def _build(
    engine: Engine,
    name: str,
    tag: str,
    texts: dict[str, str] | None = None,
    files: list[Path] | None = None,
    arguments: dict[str, str] | None = None,
) -> None:
    context = engine.folder / "contexts" / name
    shutil.copytree(HERE / name, context)
    for path, text in (texts or {}).items():
        (context / path).write_text(text)
    for file in files or []:
        shutil.copy(file, context)
    given = [word for pair in (arguments or {}).items() for word in ("--build-arg", "=".join(pair))]
    engine.docker("build", "--quiet", *given, "--tag", tag, str(context))
    shutil.rmtree(context)
