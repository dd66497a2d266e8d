"""deploy/backup/after-restore.sql: what may have gone out since the backup is looked up, never sent blindly."""

from pathlib import Path
from typing import Any

from sqlalchemy import text

SCRIPT = Path(__file__).parents[4] / "deploy" / "backup" / "after-restore.sql"


def restore(world: Any) -> None:
    """As psql runs it, for a backup that began an hour ago."""
    statement = SCRIPT.read_text().replace(":'began_at'", "clock_timestamp() - interval '1 hour'")
    with world.database.transaction() as connection:
        connection.execute(text(statement))


def forget(world: Any, post_id: str) -> None:
    """The database as it was before the post went out."""
    with world.database.transaction() as connection:
        connection.execute(text("DELETE FROM attempts"))
        connection.execute(text("DELETE FROM comment_polls"))
        connection.execute(
            text(
                "UPDATE posts SET state = 'queued', attempts = 0, fence = 0, remote_id = NULL, permalink = NULL,"
                " lease_until = NULL, out_at = clock_now() WHERE id = :id"
            ),
            {"id": post_id},
        )


def test_what_went_out_since_the_backup_is_found_and_not_sent_again(world: Any, platform: Any) -> None:
    post = world.due_post()
    world.send()
    assert len(platform.posts) == 1
    forget(world, post.id)
    restore(world)
    world.send()
    world.look()
    assert world.state(post.id).state == "published"
    assert len(platform.posts) == 1


def test_what_is_not_due_yet_waits_as_before(world: Any) -> None:
    post = world.schedule(world.page(), world.in_minutes(30))
    restore(world)
    assert world.state(post.id).state == "queued"


def test_what_was_due_and_is_not_there_goes_out(world: Any, platform: Any) -> None:
    post = world.due_post()
    restore(world)
    world.send()
    assert platform.posts == []
    world.look(after_seconds=120)
    world.shift(120)
    world.send()
    assert world.state(post.id).state == "published"
    assert len(platform.posts) == 1
