"""First comments, comment ids and replies: each is made once, even if a process dies or an answer is lost."""

import contextlib
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from publishing_kit.fake_platform import FakePlatform, Wall
from publishing_kit.world import World

from chassis.db import leases
from contracts import publishing as api
from contracts.errors import ApiError
from publishing.comments import comment_list, replies
from publishing.platforms.base import CommentPage, OutcomeUnknown, PlatformRefusal, Refusal, RemoteComment
from publishing.platforms.http_client import check_permission
from publishing.posts import engagement, publish_now
from publishing.records import PageRow
from publishing.sending import first_comments
from publishing.sending.context import SendingContext
from publishing.store.comments import Comments, FirstComment
from publishing.store.pages import Pages
from publishing.store.received import Received

SEEN_AT = datetime(2026, 11, 20, tzinfo=UTC)


def published(world: World, page: api.Page, **fields: Any) -> api.PublishResult:
    request = api.PublishPost(page_id=page.id, message="hello", **fields)
    return publish_now.publish(world.app, world.caller(), request)


def tick(world: World, after_seconds: float = 0) -> None:
    """Runs the workers for first comments and replies, with everything due and begun this long ago."""
    world.run(
        "UPDATE posts SET comment_wake_at = clock_timestamp(),"
        " comment_began_at = comment_began_at - make_interval(secs => :s) WHERE comment_wake_at IS NOT NULL",
        s=after_seconds,
    )
    world.run(
        "UPDATE replies SET lease_until = clock_timestamp(),"
        " unknown_since = unknown_since - make_interval(secs => :s) WHERE lease_until IS NOT NULL",
        s=after_seconds,
    )
    first_comments.send_first_comments(world.app)
    replies.look_up_replies(world.app)
    assert world.app.side.wait_idle(5)


def claimed_first(world: World) -> list[FirstComment]:
    with world.database.transaction() as connection:
        return Comments(connection).claim_first_comments(1, 90)


def page_of(world: World) -> PageRow:
    with world.database.reading() as connection:
        [page] = Pages(connection).many([row.id for row in world.ask("SELECT id FROM pages")]).values()
        return page


def comment_state(world: World) -> str:
    return str(world.ask("SELECT comment_state FROM posts")[0].comment_state)


def test_a_first_comment_is_made_once_after_the_post(world: World, platform: FakePlatform) -> None:
    result = published(world, world.page(), first_comment="first!")
    tick(world)
    tick(world)
    assert platform.comments == [(result.platform_post_id, "first!")]
    assert comment_state(world) == "done"


def test_a_first_comment_that_somebody_else_has_claimed_by_its_turn_is_not_made(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    published(world, world.page(), first_comment="first!")
    [late] = claimed_first(world)
    world.run("UPDATE posts SET comment_wake_at = clock_timestamp()")
    [_] = claimed_first(world)
    first_comments.run(app, page_of(world), late)
    assert platform.comments == []
    assert comment_state(world) == "unknown"


def test_a_first_comment_whose_claim_has_lapsed_by_its_turn_is_not_made(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    published(world, world.page(), first_comment="first!")
    [late] = claimed_first(world)
    world.run("UPDATE posts SET comment_wake_at = clock_timestamp()")
    first_comments.run(app, page_of(world), late)
    assert platform.comments == []
    tick(world, after_seconds=90)
    tick(world)
    assert len(platform.comments) == 1


def test_a_first_comment_has_its_whole_lease_from_its_call_on(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    published(world, world.page(), first_comment="first!")
    [late] = claimed_first(world)
    world.run("UPDATE posts SET comment_wake_at = clock_timestamp() + interval '1 second'")
    world.run("UPDATE posts SET comment_began_at = comment_began_at - interval '89 seconds'")
    seen: list[Any] = []

    def look(*arguments: Any) -> Any:
        seen.extend(
            world.ask(
                "SELECT comment_wake_at - clock_timestamp() > interval '80 seconds' AS is_held,"
                " clock_timestamp() - comment_began_at < interval '9 seconds' AS is_new FROM posts"
            )
        )
        raise OutcomeUnknown("dropped")

    platform.comment = look
    first_comments.run(app, page_of(world), late)
    assert seen == [(True, True)]


def test_ticks_that_claim_at_the_same_moment_claim_no_more_than_can_be_called(
    world: World, app: SendingContext, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker loop runs twice at once. Each run begins its claim before the other's claim is done, unless a lock
    prevents it.
    """
    goes_on = threading.Event()
    for number in range(2 * app.side.size):
        published(world, world.page(), first_comment=f"first {number}")
    world.run("UPDATE posts SET comment_wake_at = clock_timestamp()")
    platform.comment = lambda *arguments: goes_on.wait(30)
    both, real = threading.Barrier(2), Comments.claim_first_comments

    def interleaved(*arguments: Any) -> Any:
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.2)
        return real(*arguments)

    monkeypatch.setattr(Comments, "claim_first_comments", interleaved)
    ticks = [threading.Thread(target=first_comments.send_first_comments, args=(app,)) for _ in range(2)]
    for one in ticks:
        one.start()
    for one in ticks:
        one.join(30)
    [row] = world.ask("SELECT count(*) FROM posts WHERE comment_state = 'sending'")
    goes_on.set()
    assert row.count == app.side.size


def test_a_refused_first_comment_never_fails_the_post(world: World, platform: FakePlatform) -> None:
    platform.comment_script = [PlatformRefusal(Refusal.REJECTED, "100", "no")]
    published(world, world.page(), first_comment="first!")
    tick(world)
    assert comment_state(world) == "failed"
    assert world.ask("SELECT state FROM posts")[0].state == "published"


def test_a_first_comment_is_tried_again_after_a_passing_refusal(world: World, platform: FakePlatform) -> None:
    platform.comment_script = [PlatformRefusal(Refusal.TRANSIENT, "2", "busy")]
    published(world, world.page(), first_comment="first!")
    tick(world)
    assert comment_state(world) == "due"
    tick(world)
    assert comment_state(world) == "done"


def test_a_first_comment_with_an_unknown_outcome_is_looked_up_before_anything_else(
    world: World, platform: FakePlatform
) -> None:
    platform.comment_script = [platform.keep(OutcomeUnknown("dropped"))]
    published(world, world.page(), first_comment="first!")
    tick(world)
    assert comment_state(world) == "unknown"
    tick(world)
    assert comment_state(world) == "done"
    assert len(platform.comments) == 1


def test_a_first_comment_that_never_arrived_is_made_again_once_that_is_settled(
    world: World, platform: FakePlatform
) -> None:
    platform.comment_script = [OutcomeUnknown("lost")]
    published(world, world.page(), first_comment="first!")
    tick(world)
    tick(world, after_seconds=50)
    assert comment_state(world) == "unknown"
    tick(world, after_seconds=50)
    assert comment_state(world) == "due"
    tick(world)
    assert len(platform.comments) == 1


@pytest.fixture
def comment(world: World) -> tuple[api.Page, str]:
    """A page, and our id of a visitor's comment on one of its posts."""
    page = world.page()
    result = published(world, page)
    with world.database.transaction() as connection:
        Received(connection).add(result.post_id, ["r1"])
        return page, Received(connection).known(result.post_id, ["r1"])["r1"].id


def reply(
    world: World,
    page: api.Page,
    comment_id: str,
    operation_id: str = "op",
    message: str = "thanks",
    try_number: int = 1,
) -> Any:
    request = api.ReplyToComment(page_id=page.id, comment_id=comment_id, message=message)
    try:
        return replies.reply(world.app, world.caller(operation_id, try_number), request)
    except ApiError as error:
        return error


def test_a_reply_is_sent_once_per_operation_and_told(
    world: World, platform: FakePlatform, comment: Any
) -> None:
    page, comment_id = comment
    first = reply(world, page, comment_id)
    assert (first.parent_id, first.message) == (comment_id, "thanks")
    assert reply(world, page, comment_id) == first
    assert platform.comments == [("r1", "thanks")]
    assert world.events() == ["comment.replied"]


@pytest.mark.parametrize(("platform_code", "seconds"), [("FB", 60), ("LN", 100), ("YT", 100)])
def test_a_reply_is_claimed_for_as_long_as_its_platform_s_calls_can_take(
    world: World, platform: FakePlatform, comment: Any, platform_code: str, seconds: int
) -> None:
    page, comment_id = comment
    world.run(f"UPDATE pages SET platform = '{platform_code}'")
    held: list[float] = []

    def look(*arguments: Any) -> Any:
        [row] = world.ask("SELECT extract(epoch FROM lease_until - clock_timestamp()) AS left_s FROM replies")
        held.append(float(row.left_s))
        raise OutcomeUnknown("dropped")

    platform.reply = look
    reply(world, page, comment_id)
    assert seconds - 5 < held[0] <= seconds


def test_a_refused_reply_may_run_again_as_the_next_try_of_its_operation(
    world: World, platform: FakePlatform, comment: Any
) -> None:
    page, comment_id = comment
    platform.comment_script = [PlatformRefusal(Refusal.REJECTED, "100", "no")]
    assert reply(world, page, comment_id).code == "PLATFORM_REJECTED"
    assert reply(world, page, comment_id, try_number=2).message == "thanks"
    assert len(platform.comments) == 1


def test_a_reply_with_an_unknown_outcome_is_found_and_not_repeated(
    world: World, platform: FakePlatform, comment: Any
) -> None:
    page, comment_id = comment
    platform.comment_script = [platform.keep(OutcomeUnknown("dropped"))]
    assert reply(world, page, comment_id).code == "PLATFORM_OUTCOME_UNKNOWN"
    assert reply(world, page, comment_id).code == "POST_IN_PROGRESS"
    tick(world)
    assert reply(world, page, comment_id).message == "thanks"
    assert len(platform.comments) == 1
    assert world.events() == ["comment.replied"]


def test_a_reply_that_never_arrived_may_run_again_once_that_is_settled(
    world: World, platform: FakePlatform, comment: Any
) -> None:
    page, comment_id = comment
    platform.comment_script = [OutcomeUnknown("lost")]
    reply(world, page, comment_id)
    tick(world)
    assert reply(world, page, comment_id).code == "POST_IN_PROGRESS"
    tick(world, after_seconds=90)
    assert reply(world, page, comment_id).message == "thanks"
    assert len(platform.comments) == 1


@pytest.mark.parametrize("message", ["", "  ", "a\0b", "\ud800", "a" * 8_001])
def test_a_reply_that_cannot_be_is_refused(world: World, comment: Any, message: str) -> None:
    page, comment_id = comment
    assert reply(world, page, comment_id, message=message).code == "VALIDATION_ERROR"


def test_a_comment_of_another_page_is_not_found(world: World, comment: Any) -> None:
    _, comment_id = comment
    error = reply(world, world.page(), comment_id)
    assert (error.code, error.extras) == ("NOT_FOUND", {"field": "comment_id"})


def test_comments_keep_their_ids_over_readings(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    result = published(world, world.page())
    found = CommentPage(
        (
            RemoteComment("r2", "an answer", "u2", "Ben", SEEN_AT, parent_id="r1"),
            RemoteComment("r1", "hi", "u1", "Ann", SEEN_AT, reply_count=1),
        ),
        next_cursor="more",
    )
    platform.list_comments = lambda *args, **options: found
    request = api.ListComments(post_id=result.post_id)
    first, again = (comment_list.show_list(app, world.caller(), request) for _ in range(2))
    assert first == again
    assert first.comments[0].parent_id == first.comments[1].id
    assert first.next_cursor is not None
    made_up = api.ListComments(post_id=result.post_id, cursor="more")
    with pytest.raises(ApiError) as refusal:
        comment_list.show_list(app, world.caller(), made_up)
    assert refusal.value.code == "VALIDATION_ERROR"


def test_a_platform_is_asked_for_no_time_before_the_post(
    world: World, app: SendingContext, platform: FakePlatform
) -> None:
    result = published(world, world.page())
    assert result.published_at is not None
    asked: list[datetime | None] = []

    def list_comments(_account: Any, query: Any) -> CommentPage:
        asked.append(query.since)
        return CommentPage((), next_cursor=None)

    platform.list_comments = list_comments
    later = result.published_at + timedelta(minutes=1)
    for since in (None, datetime(1901, 1, 1, tzinfo=UTC), later):
        request = api.ListComments(post_id=result.post_id, since=since)
        comment_list.show_list(app, world.caller(), request)
    assert asked == [None, None, later]


def test_engagement_is_read_live_and_remembered_for_the_list(world: World, app: SendingContext) -> None:
    result = published(world, world.page())
    shown = engagement.read(app, world.caller(), api.PostId(id=result.post_id))
    assert (shown.engagement.likes, shown.engagement.comments, shown.engagement.shares) == (3, 2, 1)
    assert shown.engagement.total_interactions == 6
    assert world.ask("SELECT likes, comments, shares FROM posts")[0] == (3, 2, 1)


def test_engagement_of_other_platforms_is_unsupported(world: World, app: SendingContext) -> None:
    result = published(world, world.page("LN"))
    with pytest.raises(ApiError) as refusal:
        engagement.read(app, world.caller(), api.PostId(id=result.post_id))
    assert refusal.value.code == "UNSUPPORTED_PLATFORM"


@pytest.fixture
def frozen_in_call(platform: FakePlatform, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A platform whose calls first pause the process for longer than any lease. The test fails if the process then
    still sends.
    """

    def call(*args: Any) -> Any:
        now = leases.elapsed() + 3600
        monkeypatch.setattr(leases, "elapsed", lambda: now)
        check_permission()
        raise AssertionError("sent")

    monkeypatch.setattr(platform, "comment", call)
    monkeypatch.setattr(platform, "reply", call)
    return platform


def test_a_process_frozen_for_longer_than_the_lease_of_a_first_comment_sends_nothing(
    world: World, frozen_in_call: Any
) -> None:
    published(world, world.page(), first_comment="first!")
    tick(world)
    assert comment_state(world) == "unknown"


def test_a_process_frozen_for_longer_than_the_lease_of_a_reply_sends_nothing(
    world: World, wall: Wall, frozen_in_call: Any
) -> None:
    page = world.page()
    published(world, page)
    wall.write()
    world.poll()
    [comment_id] = [row.id for row in world.ask("SELECT id FROM comments")]
    request = api.ReplyToComment(page_id=page.id, comment_id=comment_id, message="thanks")
    with pytest.raises(ApiError) as unknown:
        replies.reply(world.app, world.caller(), request)
    assert unknown.value.code == "PLATFORM_OUTCOME_UNKNOWN"
    assert [row.state for row in world.ask("SELECT state FROM replies")] == ["unknown"]
