"""An S3 server on the engine, outside the stack's networks, as at a provider: docs/operations.md, "At a provider"."""

from collections.abc import Iterator
from contextlib import contextmanager

from minio import Minio

from local.containers import images
from local.containers.compose import Composed
from testkit.waiting import until

PORT = 9100
NAME = "provider"


class Provider:
    """The server of the stack's own storage. It has one bucket, and one user with the rights of
    deploy/storage/policy.json.
    """

    def __init__(self, stack: Composed, bucket: str, user: str) -> None:
        self.stack, self.bucket, self.user = stack, bucket, user
        #: The host and port at which this machine and containers with a way out reach it.
        self.address = f"{stack.receiver_host()}:{PORT}"

    def start(self, secret_key: str) -> None:
        """Starts the server with this key of the user. If it runs, it loses the key that it had, and keeps its
        files.
        """
        deploy, docker = self.stack.sources / "deploy", self.stack.engine.docker
        mounted = {
            deploy / "compose" / "storage.sh": "/storage.sh",
            deploy / "storage" / "policy.json": "/policy.json",
            deploy / "storage" / "grpc": "/grpc",
            NAME: "/data",
        }
        settings = {"S3_BUCKET": self.bucket, "S3_ACCESS_KEY": self.user, "S3_SECRET_KEY": secret_key}
        docker("rm", "--force", NAME, check=False)
        docker(
            "run", "--detach", "--name", NAME, "--publish", f"{PORT}:9000", "--tmpfs", "/run/storage",
            *(f"--volume={path}:{inside}{'' if path == NAME else ':ro'}" for path, inside in mounted.items()),
            *(f"--env={name}={value}" for name, value in settings.items()),
            "--entrypoint", "/storage.sh", images.SETTINGS["STORAGE_IMAGE"],
        )  # fmt: skip
        ready = ("exec", NAME, "test", "-e", "/run/storage/ready")
        until(lambda: docker(*ready, check=False).returncode == 0)

    def client(self, secret_key: str) -> Minio:
        return Minio(self.address, self.user, secret_key, secure=False, region="us-east-1")


@contextmanager
def provider(stack: Composed, bucket: str, user: str) -> Iterator[Provider]:
    """Yields a server, which runs from its first `start` until the block ends. Then its files are deleted."""
    try:
        yield Provider(stack, bucket, user)
    finally:
        stack.engine.docker("rm", "--force", NAME, check=False)
        stack.engine.docker("volume", "rm", NAME, check=False)
