"""A real S3 server with users and policies: SeaweedFS, because the local stack's rclone has neither."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deploy_kit import wait_until
from minio import Minio
from minio.error import MinioException
from urllib3 import PoolManager
from urllib3.exceptions import HTTPError

from local.paths import ROOT
from local.servers import ports

REGION = "us-east-1"
#: The administrator's access key and secret.
ADMIN = ("admin-key", "admin-secret")
#: An object of each bucket.
SECRET = "secret.txt"


@contextmanager
def seaweed(folder: Path, users: Mapping[str, tuple[str, str, str]], *others: str) -> Iterator[str]:
    """Runs the server and yields its host and port.

    `users` maps a name to an access key, a secret and a bucket. The user has only the rights of
    deploy/storage/policy.json, on that bucket. `others` are further buckets.
    """
    policy = (ROOT / "deploy/storage/policy.json").read_text()
    identities: list[dict[str, Any]] = [identity("admin", ADMIN, actions=["Admin"])]
    identities += [identity(name, keys, actions=[], policyNames=[name]) for name, (*keys, _) in users.items()]
    policies = [
        {"name": name, "content": policy.replace("${S3_BUCKET}", bucket)}
        for name, (*_, bucket) in users.items()
    ]
    (folder / "s3.json").write_text(json.dumps({"identities": identities, "policies": policies}))
    parts = [
        f"{part}.{kind}" for part in ("master", "volume", "filer", "s3") for kind in ("port", "port.grpc")
    ]
    port = ports.choose(folder, dict.fromkeys(parts))
    argv = [
        str(Path(sys.executable).parent / "weed"), "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
        "-filer", "-s3", "-s3.iam.readOnly=false", f"-s3.config={folder}/s3.json",
        "-s3.port.iceberg=0", "-s3.port.lance=0",
        f"-s3.localSocket={folder}/s3.sock", f"-filer.localSocket={folder}/filer.sock",
        "-master.volumeSizeLimitMB=64", "-volume.max=8",
        *(f"-{name}={value}" for name, value in port.items()),
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(argv, cwd=folder, env={"HOME": str(folder)}, stdout=log, stderr=log)
    address = f"127.0.0.1:{port['s3.port']}"
    admin = client(address, ADMIN)

    def is_ready() -> bool:
        assert process.poll() is None, (folder / "log").read_text()[-2000:]
        try:
            for bucket in (*(bucket for *_, bucket in users.values()), *others):
                if not admin.bucket_exists(bucket):
                    admin.make_bucket(bucket)
                admin.put_object(bucket, SECRET, io.BytesIO(b"secret"), 6)
        except (MinioException, HTTPError, OSError):
            return False
        return True

    try:
        wait_until(is_ready, "the S3 server stores objects", seconds=60)
        yield address
    finally:
        process.kill()  # its own stop takes half a minute
        process.wait()


def identity(name: str, keys: Any, **rights: Any) -> dict[str, Any]:
    access, secret = keys
    return {"name": name, "credentials": [{"accessKey": access, "secretKey": secret}], **rights}


def client(address: str, keys: tuple[str, str]) -> Minio:
    """Returns a client that does not repeat failed requests and leaves no connection open."""
    access, secret = keys
    http = PoolManager(retries=False, timeout=30, headers={"Connection": "close"})
    return Minio(address, access_key=access, secret_key=secret, secure=False, region=REGION, http_client=http)
