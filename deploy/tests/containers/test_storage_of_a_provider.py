"""The profile core with its files at an S3 provider instead of its own server: docs/operations.md, "At a provider"."""

import secrets
from collections.abc import Iterator

import container_storage
import pytest
from container_kit import VIDEO, account, download, has_a_way_out, sample
from minio import Minio

from local.containers.compose import Composed

BUCKET, USER = "elsewhere", "posthaste-media"


@pytest.fixture(scope="module")
def provider(stack: Composed) -> Iterator[Minio]:
    """An S3 server outside the stack's networks. From now on the stack stores its files in its bucket."""
    if stack.profile != "core":
        pytest.skip("one profile is enough")
    with container_storage.provider(stack, BUCKET, USER) as server:
        password = secrets.token_urlsafe(24)
        server.start(password)
        address = f"http://{server.address}"
        stack.set(
            {
                "COMPOSE_FILE": "docker-compose.yml:deploy/compose/external-s3.yml",
                "S3_URL": address,
                "S3_PUBLIC_URL": address,
                "S3_BUCKET": BUCKET,
                "S3_ACCESS_KEY": USER,
                "S3_SECRET_KEY": password,
            }
        )
        stack.compose("up", "--detach", "--wait", "--remove-orphans")
        yield server.client(password)


def test_files_are_taken_there_straight_and_in_parts_and_served_from_there(
    stack: Composed, provider: Minio
) -> None:
    assert "storage" not in stack.compose("ps", "--services").stdout.split()
    film = sample(stack, VIDEO)
    with account(stack) as client:
        taken = [client.upload(film, filename="film.mp4", in_parts=in_parts) for in_parts in (False, True)]
        for media in taken:
            assert download(client.get_media(media.media_id).url)
    assert len(list(provider.list_objects(BUCKET, recursive=True))) >= len(taken)


def test_media_has_a_way_out_then_and_quota_still_has_none(stack: Composed, provider: Minio) -> None:
    reached = {service: has_a_way_out(stack, container) for service, container in stack.containers().items()}
    assert reached["media"]
    assert [service for service, is_reached in reached.items() if not is_reached] == ["quota"]
