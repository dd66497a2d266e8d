"""Backup, loss of every volume, and restore: the commands of docs/operations.md, "Backup and restore"."""

import os
import subprocess
import sys
from pathlib import Path

from container_kit import account, belongings, photo, schedule
from deploy_kit import wait_until

from local.containers.compose import Composed
from local.environment import values_of

RCLONE = Path(sys.executable).parent / "rclone"


def rclone(stack: Composed, *words: str) -> None:
    settings = values_of(stack.settings)
    env = {
        "RCLONE_CONFIG_FILES_TYPE": "s3",
        "RCLONE_CONFIG_FILES_PROVIDER": "Minio",
        "RCLONE_CONFIG_FILES_ENDPOINT": "http://127.0.0.1:9000",
        "RCLONE_CONFIG_FILES_ACCESS_KEY_ID": "posthaste-media",
        "RCLONE_CONFIG_FILES_SECRET_ACCESS_KEY": settings["S3_SECRET_KEY"],
    }
    done = subprocess.run(
        [RCLONE, *words], env=os.environ | env, cwd=stack.run, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_after_the_loss_of_every_volume_a_backup_brings_back_the_same_posts_pages_and_files(
    stack: Composed,
) -> None:
    with account(stack) as client:
        for number in range(3):
            schedule(client, stack, "Kept", 100 + number)
        client.upload(photo(stack), filename="kept.jpg")
        wait_until(
            lambda: all(row.thumbnail_url for row in client.iterate_media()), "no thumbnail was made", 60
        )
        before = belongings(client)
    assert before["files"]
    stack.compose("exec", "-T", "postgres", "/scripts/dump.sh", "/backup/first")
    rclone(stack, "copy", "files:posthaste-media", "backup/media")

    stack.down()
    stack.up("postgres", "minio")
    stack.compose("run", "--rm", "bucket")
    stack.compose("run", "--rm", "databases")
    rclone(stack, "sync", "backup/media", "files:posthaste-media")
    stack.compose("exec", "-T", "postgres", "/scripts/restore.sh", "/backup/first")
    stack.up()
    stack.operator()

    with account(stack) as client:
        assert belongings(client) == before
        assert schedule(client, stack, "After", 200)
