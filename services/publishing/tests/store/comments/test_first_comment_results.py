"""A post shows the result of its first comment. An event reports a failure."""

import json
from typing import Any
from unittest.mock import Mock

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from publishing.platforms.base import OutcomeUnknown, PlatformRefusal, Refusal
from publishing.posts import post_lists
from publishing.sending import first_comments


def tick(world: World, after_seconds: float = 0) -> None:
    """Runs the worker for first comments, with everything due and begun this long ago."""
    world.run(
        "UPDATE posts SET comment_wake_at = clock_timestamp(),"
        " comment_began_at = comment_began_at - make_interval(secs => :s) WHERE comment_wake_at IS NOT NULL",
        s=after_seconds,
    )
    first_comments.send_first_comments(world.app)
    assert world.app.side.wait_idle(5)


def told_of_failures(world: World) -> list[dict[str, Any]]:
    rows = world.ask("SELECT body FROM outbox WHERE event = 'first_comment.failed' ORDER BY position")
    return [json.loads(bytes(row.body))["data"] for row in rows]


def result_of(world: World) -> Any:
    """Returns the result of the first comment, as the list of published posts shows it."""
    request = api.ListPublishedPosts()
    [post] = post_lists.published(world.app, world.caller(), request).published_posts
    return post.first_comment_result


@pytest.mark.parametrize(
    ("kind", "code"), [(Refusal.REJECTED, "PLATFORM_REJECTED"), (Refusal.EXPIRED, "PAGE_EXPIRED")]
)
def test_a_refused_first_comment_is_shown_on_the_post_with_the_platforms_reason_and_told(
    world: World, platform: FakePlatform, kind: Refusal, code: str
) -> None:
    platform.comment_script = [PlatformRefusal(kind, "100", "Comments are closed")]
    result = world.published(first_comment="first!")
    assert result_of(world) == api.FirstCommentResult(status="pending")
    tick(world)
    error = api.PostError(code=code, message="Comments are closed (100)")
    assert result_of(world) == api.FirstCommentResult(status="failed", error=error)
    [told] = told_of_failures(world)
    assert (told["postId"], told["pageId"], told["error"]["code"]) == (result.post_id, result.page_id, code)


def test_a_first_comment_that_was_written_is_shown_so_and_nothing_is_told(
    world: World, platform: FakePlatform
) -> None:
    platform.comment_script = [PlatformRefusal(Refusal.TRANSIENT, "2", "busy")]
    world.published(first_comment="first!")
    tick(world)
    assert result_of(world) == api.FirstCommentResult(status="pending")
    tick(world)
    assert result_of(world) == api.FirstCommentResult(status="published")
    assert told_of_failures(world) == []


def test_a_first_comment_whose_outcome_stays_unknown_is_given_up_after_a_day(
    world: World, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform.comment_script = [OutcomeUnknown("lost")]
    world.published(first_comment="first!")
    tick(world)
    monkeypatch.setattr(platform, "find_comment", Mock(side_effect=OutcomeUnknown("no answer")))
    tick(world, after_seconds=90_000)
    assert result_of(world).error.code == "PLATFORM_OUTCOME_UNKNOWN"
    assert len(told_of_failures(world)) == 1


def test_a_post_without_a_first_comment_shows_no_result_of_one(world: World) -> None:
    world.published()
    assert result_of(world) is None
