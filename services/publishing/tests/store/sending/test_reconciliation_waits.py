"""How often a platform is asked for an outcome that stays unknown, and how long we wait after it refuses."""

from typing import Any

import pytest
from publishing_kit.fake_platform import FakePlatform, Wall
from publishing_kit.world import World

from contracts import publishing as api
from contracts.errors import ApiError
from publishing.comments import replies
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal, StillUnknown
from publishing.sending import first_comments

LIMITED = PlatformRefusal(Refusal.RATE_LIMITED, "32", "too many", 900)


def refuse(platform: FakePlatform, monkeypatch: pytest.MonkeyPatch, problem: Exception) -> None:
    """Makes the platform refuse every look-up with this problem."""

    def look(*args: Any, **options: Any) -> Any:
        raise problem

    for name in ("look_up", "find_comment", "find_reply"):
        monkeypatch.setattr(platform, name, look)


def wait(world: World, table: str, column: str = "lease_until") -> float:
    [row] = world.ask(f"SELECT extract(epoch FROM {column} - clock_timestamp())::float8 AS wait FROM {table}")
    return float(row.wait)


def unknown_post(world: World, platform: FakePlatform, after_seconds: float) -> float:
    """Looks up a post that has been unknown for this time. Returns the seconds until the next look-up."""
    world.due_post()
    platform.script = [OutcomeUnknown("dropped")]
    world.send()
    world.look(after_seconds=after_seconds)
    assert world.ask("SELECT state FROM posts")[0].state == "unknown"
    return wait(world, "posts")


@pytest.mark.parametrize(
    ("problem", "age", "seconds"),
    [
        (PlatformRefusal(Refusal.TRANSIENT, "2", "busy"), 100, 30),
        (PlatformRefusal(Refusal.TRANSIENT, "2", "busy"), 7_200, 1_800),
        (LIMITED, 100, 900),
        (LIMITED, 10, 900),
        (PlatformRefusal(Refusal.RATE_LIMITED, "32", "too many"), 100, 300),
        (PlatformRefusal(Refusal.PERMISSION, "10", "no"), 10, 10),
        (PlatformRefusal(Refusal.PERMISSION, "10", "no"), 100, 3_600),
        (PlatformRefusal(Refusal.EXPIRED, "190", "over"), 100, 3_600),
        (KeyError("id"), 7_200, 1_800),
    ],
)
def test_after_a_refused_look_the_next_comes_when_that_makes_sense(
    world: World, platform: FakePlatform, monkeypatch: Any, problem: Exception, age: float, seconds: float
) -> None:
    refuse(platform, monkeypatch, problem)
    assert unknown_post(world, platform, age) == pytest.approx(seconds, abs=5)


def test_what_a_platform_is_still_working_on_is_looked_at_ever_rarer(
    world: World, platform: FakePlatform, monkeypatch: Any
) -> None:
    monkeypatch.setattr(platform, "look_up", lambda *args, **options: StillUnknown())
    assert unknown_post(world, platform, 7_200) == pytest.approx(1_800, abs=5)


def test_a_look_after_a_late_retry_knows_all_that_went_out_since_the_first_attempt(
    world: World, platform: FakePlatform, monkeypatch: Any
) -> None:
    """For LinkedIn and X, a look-up searches all posts since the first attempt. So it must know which of them are other
    posts of ours.
    """
    page = world.page()
    platform.script = [OutcomeUnknown("dropped")]
    with pytest.raises(ApiError):
        world.published(page)
    world.run(
        "UPDATE attempts SET began_at = began_at - interval '7 days', ended_at = now(), outcome = 'given_up'"
    )
    world.run("INSERT INTO attempts (post_id, number, fence, began_at) SELECT id, 2, fence, now() FROM posts")
    other = world.published(page)
    world.run("UPDATE posts SET out_at = out_at - interval '6 days' WHERE state = 'published'")
    known: list[str] = []

    def look(attempt: Any) -> Any:
        known.extend(attempt.known_remote_ids)
        return StillUnknown()

    monkeypatch.setattr(platform, "look_up", look)
    world.look(after_seconds=100)
    assert known == [other.platform_post_id]


def test_a_look_tells_of_a_limited_page_and_of_an_expired_one(
    world: World, platform: FakePlatform, monkeypatch: Any
) -> None:
    refuse(platform, monkeypatch, LIMITED)
    unknown_post(world, platform, 100)
    assert wait(world, "pages", "rest_until") == pytest.approx(900, abs=5)
    refuse(platform, monkeypatch, PlatformRefusal(Refusal.EXPIRED, "190", "over"))
    world.look(after_seconds=100)
    assert world.ask("SELECT expired FROM pages")[0].expired
    assert world.events() == ["page.expired"]


def test_a_first_comment_is_looked_for_as_the_platform_says(
    world: World, platform: FakePlatform, monkeypatch: Any
) -> None:
    refuse(platform, monkeypatch, LIMITED)
    platform.comment_script = [OutcomeUnknown("dropped")]
    world.published(first_comment="first!")
    for _ in range(2):
        first_comments.send_first_comments(world.app)
        assert world.app.side.wait_idle(5)
        left = wait(world, "posts", "comment_wake_at")
        world.run("UPDATE posts SET comment_wake_at = clock_timestamp()")
    assert left == pytest.approx(900, abs=5)


def test_a_reply_is_looked_for_as_the_platform_says(
    world: World, platform: FakePlatform, wall: Wall, monkeypatch: Any
) -> None:
    page = world.page()
    world.published(page)
    wall.write()
    world.poll()
    refuse(platform, monkeypatch, LIMITED)
    platform.comment_script = [OutcomeUnknown("dropped")]
    [comment_id] = [row.id for row in world.ask("SELECT id FROM comments")]
    request = api.ReplyToComment(page_id=page.id, comment_id=comment_id, message="thanks")
    with pytest.raises(ApiError):
        replies.reply(world.app, world.caller(), request)
    world.run("UPDATE replies SET lease_until = clock_timestamp()")
    replies.look_up_replies(world.app)
    assert world.app.side.wait_idle(5)
    assert wait(world, "replies") == pytest.approx(900, abs=5)
