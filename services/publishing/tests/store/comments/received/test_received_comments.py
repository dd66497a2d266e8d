"""comment.received: one event for each visitor's comment, whether a webhook, a poll or a list brings it first, or
several at once.
"""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from publishing_kit.fake_platform import FakePlatform, Wall
from publishing_kit.received import VISITED_AT, hook, send, texts
from publishing_kit.refusals import refused
from publishing_kit.world import World

from contracts import publishing as api
from publishing.comments import comment_list, polls, replies
from publishing.comments.received import store_comments
from publishing.platforms.base import PlatformRefusal, Refusal, RemoteComment
from publishing.sending.context import SendingContext


def get(world: World, post: api.PublishResult, **fields: Any) -> api.CommentList:
    caller = msgspec.structs.replace(world.caller(), sandbox=fields.pop("sandbox", False))
    return comment_list.show_list(world.app, caller, api.ListComments(post_id=post.post_id, **fields))


def test_a_poll_tells_of_a_comment_once(world: World, wall: Wall, post: api.PublishResult) -> None:
    made = wall.write("Open on Sunday?")
    world.poll()
    world.poll()
    [event] = world.told()
    assert (event.user_id, event.brand_id) == ("usr_a", "brd_a")
    assert (event.page_id, event.post_id) == (post.page_id, post.post_id)
    assert event.comment.author == api.Author(id="u1", name="Ann")
    assert (event.comment.text, event.comment.created_time) == ("Open on Sunday?", made.created_at)
    assert [event.comment] == list(get(world, post).comments)
    row = world.ask("SELECT brand_id, account_id FROM (SELECT convert_from(body, 'UTF8')::jsonb b FROM outbox) o,"
                    " jsonb_to_record(b) AS e(brand_id text, account_id text)")[0]  # fmt: skip
    assert tuple(row) == ("brd_a", "usr_a")


def test_every_way_sees_a_comment_that_another_has_told_of(
    world: World, app: SendingContext, wall: Wall, post: api.PublishResult
) -> None:
    made = wall.write()
    ways = [
        lambda: get(world, post),
        lambda: world.poll(),
        lambda: send(app, "FB", hook(world, post, made)),
    ]
    for first in range(3):
        for way in ways[first:] + ways[:first]:
            way()
    assert texts(world) == ["hi"]


def test_all_ways_at_once_tell_of_each_comment_once(
    world: World,
    app: SendingContext,
    make_app: Callable[..., SendingContext],
    wall: Wall,
    post: api.PublishResult,
) -> None:
    made = [wall.write(f"{number}") for number in range(60)]
    body = hook(world, post, *made)
    world.run("UPDATE comment_polls SET wake_at = clock_timestamp()")
    meeting = threading.Barrier(8)
    problems: list[BaseException] = []

    def at_once(way: Callable[[], object]) -> None:
        try:
            meeting.wait(30)
            way()
        except BaseException as problem:  # noqa: BLE001 - told below
            problems.append(problem)

    ways = [
        *[lambda: get(world, post, limit=100)] * 2,
        *[lambda: send(app, "FB", body)] * 4,
        *[lambda: polls.poll_comments(app)] * 2,
    ]
    threads = [threading.Thread(target=at_once, args=(way,)) for way in ways]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert app.polling.wait_idle(10)
    assert problems == []
    assert sorted(texts(world), key=int) == [f"{number}" for number in range(60)]
    assert len({event.comment.id for event in world.told()}) == 60


def test_events_come_in_the_order_of_the_comments(world: World, wall: Wall, post: api.PublishResult) -> None:
    for number in range(5):
        wall.write(f"{number}")
    world.poll()
    assert texts(world) == [f"{number}" for number in range(5)]


def test_an_answer_names_its_comment_by_our_id_before_that_is_seen(
    world: World, app: SendingContext, wall: Wall, post: api.PublishResult
) -> None:
    first = wall.write("first")
    answer = wall.write("answer", parent_id=first.id)
    send(app, "FB", hook(world, post, answer))
    world.poll()
    assert texts(world) == ["answer", "first"]
    answered, begun = world.told()
    assert answered.comment.parent_id == begun.comment.id


def test_the_pages_own_words_are_told_to_nobody(world: World, app: SendingContext, wall: Wall) -> None:
    page = world.page()
    post = world.published(page, first_comment="first!")
    own = [wall.write("first!", author_id=page.account_id), wall.write("thanks", author_id=page.account_id)]
    send(app, "FB", hook(world, post, *own))
    world.poll()
    get(world, post)
    assert texts(world) == []
    assert len(get(world, post).comments) == 2


def test_a_reply_made_here_is_told_as_a_reply_and_no_more(
    world: World, wall: Wall, platform: FakePlatform
) -> None:
    page = world.page()
    post = world.published(page)
    wall.write("Open?")
    [comment] = get(world, post).comments
    request = api.ReplyToComment(page_id=page.id, comment_id=comment.id, message="Yes")
    replies.reply(world.app, world.caller(), request)
    wall.made.append(RemoteComment("c1", "Yes", "", "Facebook user", VISITED_AT + timedelta(seconds=50)))
    world.poll()
    assert world.events() == ["comment.received", "comment.replied"]


def test_a_list_says_which_comments_the_page_wrote_whoever_saw_them_first(
    world: World, wall: Wall, platform: FakePlatform
) -> None:
    page = world.page()
    post = world.published(page)
    account_id = world.ask("SELECT remote_account_id FROM pages")[0][0]
    asked = wall.write("Open?")
    wall.write("Yes", account_id, parent_id=asked.id)  # in the platform's own app
    wall.made.append(RemoteComment("c9", "Me too", "", "Facebook user", VISITED_AT + timedelta(seconds=50)))
    expected = [("Me too", None), ("Yes", True), ("Open?", False)]
    for sandbox in (True, False, False):
        shown = get(world, post, sandbox=sandbox).comments
        assert [(it.text, it.is_own) for it in shown] == expected
        world.poll()
    assert [it.comment.is_own for it in world.told()] == [False, None]


def test_a_reply_made_here_is_the_pages_own_also_where_the_platform_names_nobody(
    world: World, wall: Wall, platform: FakePlatform
) -> None:
    page = world.page()
    post = world.published(page)
    wall.write("Open?")
    [comment] = get(world, post).comments
    request = api.ReplyToComment(page_id=page.id, comment_id=comment.id, message="Yes")
    replies.reply(world.app, world.caller(), request)
    wall.made.append(RemoteComment("c1", "Yes", "", "Facebook user", VISITED_AT + timedelta(seconds=50)))
    for _ in range(2):
        assert [it.is_own for it in get(world, post).comments] == [True, False]


def test_a_sandbox_token_triggers_nothing_and_loses_nothing(
    world: World, wall: Wall, post: api.PublishResult
) -> None:
    wall.write()
    assert len(get(world, post, sandbox=True).comments) == 1
    assert texts(world) == []
    world.poll()
    assert texts(world) == ["hi"]


def test_what_was_taken_in_and_not_committed_is_told_by_the_next(
    world: World, wall: Wall, app: SendingContext, post: api.PublishResult
) -> None:
    made = wall.write()

    class Killed(Exception):
        pass

    page, row = rows_of(world, post)
    with pytest.raises(Killed), app.database.transaction() as connection:
        assert store_comments(connection, page, row, [made]).has_news
        raise Killed
    assert texts(world) == []
    world.poll()
    assert texts(world) == ["hi"]


def rows_of(world: World, post: api.PublishResult) -> Any:
    from publishing.store.pages import Pages
    from publishing.store.posts import Posts

    with world.database.reading() as connection:
        return Pages(connection).get(post.page_id), Posts(connection).get(post.post_id)


def test_a_cursor_that_the_platform_refuses_is_the_clients_error(
    world: World, wall: Wall, post: api.PublishResult
) -> None:
    for _ in range(3):
        wall.write()
    cursor = get(world, post, limit=2).next_cursor
    wall.script = [PlatformRefusal(Refusal.REJECTED, "100", "Invalid cursors values")]
    assert refused(lambda: get(world, post, limit=2, cursor=cursor)).code == "VALIDATION_ERROR"
    wall.script = [PlatformRefusal(Refusal.REJECTED, "100", "?")]
    assert refused(lambda: get(world, post)).code == "PLATFORM_ERROR"


def test_the_list_and_the_event_say_when_a_comment_was_first_received(
    world: World, wall: Wall, post: api.PublishResult
) -> None:
    wall.write("Open on Sunday?")
    before = world.now()
    [first] = get(world, post, sandbox=True).comments
    assert first.received_at is not None
    assert before <= first.received_at <= world.now()
    world.poll()
    [event] = world.told()
    [again] = get(world, post).comments
    assert first.received_at == event.comment.received_at == again.received_at
