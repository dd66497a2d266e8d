"""A backup by the profile `backup`, the loss of every volume, and a restore with the commands of docs/operations.md,
"Backup and restore".
"""

from datetime import UTC, datetime

import pytest
from container_kit import account, belongings, sample, schedule
from deploy_kit import wait_until

from local.containers.compose import Composed
from local.environment import values_of


def backup(stack: Composed, *words: str) -> str:
    return stack.compose("run", "--rm", "-T", "backup", *words).stdout


def test_after_the_loss_of_every_volume_a_backup_brings_back_the_same_posts_pages_and_files(
    stack: Composed, is_core: bool
) -> None:
    if stack.profile == "compact" and not is_core:
        pytest.skip("the profile core is lost")
    with account(stack) as client:
        for number in range(3):
            schedule(client, stack, "Kept", 100 + number)
        client.upload(sample(stack), filename="kept.jpg")
        wait_until(
            lambda: all(row.thumbnail_url for row in client.iterate_media()), "no thumbnail was made", 60
        )
        before = belongings(client)
    assert before["files"]
    settings = {"BACKUP_KEY": "the-first-key", "BACKUP_HOUR": "0"}
    profiles = values_of(stack.settings)["COMPOSE_PROFILES"]
    stack.set({"COMPOSE_PROFILES": f"{profiles},backup"} | settings)
    stack.compose("up", "--detach", "backup")  # not `--wait`: its first health check comes after a minute
    today = f"{datetime.now(UTC):%F}"
    wait_until(lambda: today in backup(stack, "list"), "no backup was made", 120)
    assert f"rehearsed: {today}" in backup(stack, "rehearse")

    stack.down()
    stack.set({"COMPOSE_PROFILES": profiles})
    stack.up("postgres", "storage")
    stack.compose("run", "--rm", "databases")
    backup(stack, "fetch", today)
    backup(stack, "restore-files")
    stack.compose("exec", "-T", "postgres", "/scripts/restore.sh", f"/backup/{today}")
    stack.up()
    stack.operator()

    with account(stack) as client:
        assert belongings(client) == before
        assert schedule(client, stack, "After", 200)
