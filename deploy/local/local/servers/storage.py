"""S3 as a private instance: rclone serves a folder of the run directory. Media keeps its files in it.

In images and clusters MinIO or any other S3 stands in this place.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from local.processes.table import Process

#: Made by the stack; minio's client wants 8 characters or more.
SECRETS = ("S3_ACCESS_KEY", "S3_SECRET_KEY")
#: The one bucket: a folder.
BUCKET = "posthaste-media"
#: rclone takes any.
REGION = "us-east-1"


def prepare(run: Path) -> None:
    (run / "objects" / BUCKET).mkdir(parents=True, exist_ok=True)


def url(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def processes(run: Path, port: int, secrets: Mapping[str, str]) -> list[Process]:
    """The key pair goes through the environment: a command line is everybody's to read."""
    rclone = str(Path(sys.executable).parent / "rclone")
    argv = [
        rclone,
        "serve",
        "s3",
        str(run / "objects"),
        "--addr",
        f"127.0.0.1:{port}",
        "--config",
        "/dev/null",
        "--etag-hash",
        "",  # else every look at an object's size reads all of it, to hash it
    ]
    env = {
        "RCLONE_AUTH_KEY": '"{},{}"'.format(
            *(secrets[name] for name in SECRETS)
        ),  # quoted: one of a CSV list
        "HOME": str(run),
        "GOMEMLIMIT": "64MiB",
    }
    return [Process("s3", argv, env, f"tcp:127.0.0.1:{port}")]
