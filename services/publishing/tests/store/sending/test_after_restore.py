"""deploy/backup/after-restore.sql: posts that may have been sent since the backup are looked up before they are sent
again.
"""

from pathlib import Path

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World
from sqlalchemy import text

from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal
from publishing.sending import claim_recovery, due_posts, first_comments
from publishing.store.sending import Claim

SCRIPT = Path(__file__).parents[5] / "deploy" / "backup" / "after-restore.sql"
#: Those that hold others' ids first.
TABLES = ("attempts", "comment_polls", "posts")
BUSY = PlatformRefusal(Refusal.TRANSIENT, "2", "Not now.")


@pytest.fixture(autouse=True)
def trusting(platform: FakePlatform) -> None:
    platform.trusts_checkpoint = True


def back_up(world: World) -> None:
    world.run("CREATE TABLE backup AS SELECT clock_timestamp() AS began_at")
    for table in TABLES:
        world.run(f"CREATE TABLE backup_{table} AS SELECT * FROM {table}")


def restore(world: World) -> None:
    """Restores the backed-up tables, and runs the script as psql does."""
    statement = SCRIPT.read_text().replace(":'began_at'", "(SELECT began_at FROM backup)")
    with world.database.transaction() as connection:
        for table in TABLES:
            connection.execute(text(f"DELETE FROM {table}"))
        for table in reversed(TABLES):
            connection.execute(text(f"INSERT INTO {table} SELECT * FROM backup_{table}"))
        connection.execute(text(statement))


def go_on(world: World) -> None:
    """Runs the worker loops, as after a start, until nothing is due."""
    for _ in range(2):
        claim_recovery.recover_claims(world.app)
        world.send()
        world.look(after_seconds=120)
        world.shift(120)
    comment(world)


def comment(world: World) -> None:
    first_comments.send_first_comments(world.app)
    assert world.app.side.wait_idle(5)


def states(world: World) -> list[str]:
    return [row.state for row in world.ask("SELECT state FROM posts ORDER BY scheduled_at")]


def test_what_went_out_since_the_backup_is_found_and_not_sent_again(
    world: World, platform: FakePlatform
) -> None:
    world.due_post()
    back_up(world)
    world.send()
    assert len(platform.posts) == 1
    restore(world)
    go_on(world)
    assert states(world) == ["published"]
    assert len(platform.posts) == 1


@pytest.mark.parametrize("begun", [0, 1])
def test_a_lane_in_the_middle_of_the_backup_goes_out_once(
    world: World, platform: FakePlatform, begun: int
) -> None:
    world.fill(world.page(), 3)
    world.shift(3600)
    [(page, posts)], _ = due_posts.claim_queues(world.app, 1)
    for post in posts[:begun]:
        assert world.app.outcomes.write(begin=Claim(post.id, post.fence)).has_begun
    back_up(world)
    due_posts.send_queue(world.app, page, posts)
    assert len(platform.posts) == 3
    restore(world)
    restored = world.ask("SELECT attempts - attempts_before AS used FROM posts ORDER BY scheduled_at")
    assert [row.used for row in restored] == [1] * begun + [0] * (3 - begun), (
        "only a call that is on record counts"
    )
    world.lapse()
    go_on(world)
    assert states(world) == ["published"] * 3
    assert len(platform.posts) == 3


def test_an_attempt_after_the_one_in_the_backup_is_found_too(world: World, platform: FakePlatform) -> None:
    """The attempt in the backup has an unknown outcome and published nothing. A later attempt has published the
    post.
    """
    world.due_post()
    platform.script = [OutcomeUnknown("no answer")]
    world.send()
    world.run("UPDATE posts SET checkpoint = NULL")
    back_up(world)
    go_on(world)
    assert len(platform.posts) == 1
    restore(world)
    go_on(world)
    assert states(world) == ["published"]
    assert len(platform.posts) == 1


def test_what_is_not_due_yet_waits_as_before(world: World) -> None:
    world.schedule(world.page(), world.in_minutes(30))
    back_up(world)
    restore(world)
    assert states(world) == ["queued"]


@pytest.mark.parametrize("tried", [0, 3])
def test_what_was_due_and_is_not_there_goes_out(world: World, platform: FakePlatform, tried: int) -> None:
    post = world.due_post()
    platform.script = [BUSY] * tried
    for _ in range(tried):
        world.send()
        world.shift(900)
    back_up(world)
    restore(world)
    world.send()
    assert platform.posts == []
    world.look(after_seconds=120)
    world.shift(900)
    world.send()
    assert states(world) == ["published"]
    assert len(platform.posts) == 1
    assert "restored" not in world.state(post.id).checkpoint


def test_a_first_comment_made_since_the_backup_is_not_made_again(
    world: World, platform: FakePlatform
) -> None:
    """Of two comments, one is on a post that the backup has as published, the other on a post that a look-up finds."""
    world.published(first_comment="first!")
    world.due_post(message="later", first_comment="second!")
    back_up(world)
    world.send()
    comment(world)
    assert len(platform.comments) == 2
    restore(world)
    go_on(world)
    assert [row.comment_state for row in world.ask("SELECT comment_state FROM posts")] == ["done"] * 2
    assert len(platform.comments) == 2


def test_a_first_comment_that_is_not_there_is_made(world: World, platform: FakePlatform) -> None:
    world.published(first_comment="first!")
    back_up(world)
    world.run("UPDATE backup SET began_at = began_at - interval '1 hour'")
    restore(world)
    comment(world)
    assert platform.comments == []
    comment(world)
    assert [text for _, text in platform.comments] == ["first!"]
