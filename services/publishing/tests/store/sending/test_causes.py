"""The worker loops continue the trace of the request that made a post, reply or comment. Its row stores the trace."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from publishing_kit.fake_platform import FakePlatform, Wall
from publishing_kit.world import World

from chassis import telemetry
from chassis.telemetry import tracing
from contracts import publishing as api
from contracts.errors import ApiError
from publishing.comments import comment_list, hooks, replies
from publishing.platforms.base import OutcomeUnknown, RemoteComment
from publishing.posts import publish_now
from publishing.sending import first_comments
from publishing.store.received import Received
from testkit.collector import Collector, Seen

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@contextmanager
def request() -> Iterator[None]:
    with tracing.request("POST", "/api/v1/anything", f"00-{TRACE}-{SPAN}-01", "req_1"):
        yield


def due(world: World) -> None:
    """Makes everything due that the worker loops wait for."""
    for table, column in (("posts", "comment_wake_at"), ("replies", "lease_until"), ("comments", "wake_at")):
        world.run(f"UPDATE {table} SET {column} = clock_timestamp() WHERE {column} IS NOT NULL")


def step_of(recording: Collector, name: str) -> Seen:
    """Returns the only span with this name. Asserts that it is in the request's trace and linked to its parent."""
    telemetry.stop()
    [step] = recording.spans(name=name)
    assert step.trace_id == TRACE
    assert step.links == ((TRACE, step.parent_id),)
    return step


def told_by(world: World) -> list[str]:
    return [row.traceparent for row in world.ask("SELECT traceparent FROM outbox ORDER BY position")]


def test_a_look_for_a_post_and_the_event_that_comes_of_it(
    world: World, platform: FakePlatform, recording: Collector
) -> None:
    page = world.page()
    platform.script = [platform.keep(OutcomeUnknown("dropped"))]
    with request(), pytest.raises(ApiError):
        publish_now.publish(world.app, world.caller(), api.PublishPost(page_id=page.id, message="hello"))
    world.look()
    look = step_of(recording, "look up post")
    assert world.events() == ["post.published"]
    assert told_by(world) == [f"00-{TRACE}-{look.span_id}-01"]


def test_a_first_comment(world: World, recording: Collector) -> None:
    page = world.page()
    with request():
        asked = api.PublishPost(page_id=page.id, message="hello", first_comment="first!")
        publish_now.publish(world.app, world.caller(), asked)
    due(world)
    first_comments.send_first_comments(world.app)
    assert world.app.side.wait_idle(5)
    assert step_of(recording, "first comment").attributes["posthaste.platform"] == "FB"


def test_a_look_for_a_reply_and_the_event_that_comes_of_it(
    world: World, platform: FakePlatform, wall: Wall, recording: Collector
) -> None:
    page = world.page()
    post = world.published(page)
    wall.write()
    [seen] = comment_list.show_list(
        world.app, world.caller(), api.ListComments(post_id=post.post_id, limit=1)
    ).comments
    world.run("DELETE FROM outbox")
    platform.comment_script = [platform.keep(OutcomeUnknown("dropped"))]
    with request(), pytest.raises(ApiError):
        asked = api.ReplyToComment(page_id=page.id, comment_id=seen.id, message="thanks")
        replies.reply(world.app, world.caller(), asked)
    due(world)
    replies.look_up_replies(world.app)
    assert world.app.side.wait_idle(5)
    look = step_of(recording, "look up reply")
    assert world.events() == ["comment.replied"]
    assert told_by(world) == [f"00-{TRACE}-{look.span_id}-01"]


def test_a_comment_that_its_platform_told_of_in_part(world: World, wall: Wall, recording: Collector) -> None:
    post = world.published()
    told: RemoteComment = wall.write()
    with request(), world.database.transaction() as connection:
        Received(connection).wait(post.post_id, [told])
    due(world)
    hooks.finish_comments(world.app)
    assert world.app.polling.wait_idle(5)
    finish = step_of(recording, "finish comment")
    assert world.events() == ["comment.received"]
    assert told_by(world) == [f"00-{TRACE}-{finish.span_id}-01"]
