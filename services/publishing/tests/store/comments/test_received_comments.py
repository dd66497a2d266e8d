"""comment.received: once for each visitor's comment, whichever way it is seen first, and however many ways at once."""

import hashlib
import hmac
import json
import threading
import zlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from publishing_kit.fake_platform import FakePlatform, Wall
from publishing_kit.world import World

from contracts import publishing as api
from contracts.errors import ApiError
from publishing.comments import comment_list, hooks, polls, replies
from publishing.comments.received import store_comments
from publishing.platforms.base import PlatformRefusal, Refusal, RemoteComment
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.registry import default_settings
from publishing.sending.context import SendingContext

SECRET, VERIFY = "app-secret", "verify-me"
#: When the first visitor wrote.
VISITED_AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def app(make_app: Callable[..., SendingContext]) -> SendingContext:
    meta = MetaSettings(app_secret=SECRET, verify_token=VERIFY)
    return make_app(platforms=default_settings(FB=meta, IG=meta))


@pytest.fixture
def post(world: World) -> api.PublishResult:
    return world.published()  # type: ignore[no-any-return]


def texts(world: World) -> list[str]:
    return [event.comment.text for event in world.told()]


def get(world: World, post: api.PublishResult, **fields: Any) -> api.CommentList:
    caller = msgspec.structs.replace(world.caller(), sandbox=fields.pop("sandbox", False))
    return comment_list.show_list(world.app, caller, api.ListComments(post_id=post.post_id, **fields))


def finish(world: World) -> None:
    world.run("UPDATE comments SET wake_at = clock_timestamp() WHERE wake_at IS NOT NULL")
    hooks.finish_comments(world.app)
    assert world.app.polling.wait_idle(10)


def hook_of(platform: str, account_id: str, post_id: str, *made: RemoteComment) -> dict[str, Any]:
    def change(one: RemoteComment) -> dict[str, Any]:
        if platform == "FB":
            value = {
                "item": "comment", "verb": "add", "comment_id": one.id, "post_id": post_id,
                "parent_id": one.parent_id or post_id, "message": one.text,
                "from": {"id": one.author_id, "name": one.author_name},
                "created_time": int(one.created_at.timestamp()),
            }  # fmt: skip
            return {"field": "feed", "value": value}
        author = {"id": one.author_id, "username": one.author_name}
        return {
            "field": "comments", "value": {"id": one.id, "text": one.text, "from": author, "media": {"id": post_id}},
        }  # fmt: skip

    kind = "page" if platform == "FB" else "instagram"
    entry = {"id": account_id, "time": int(VISITED_AT.timestamp()), "changes": [change(one) for one in made]}
    return {"object": kind, "entry": [entry]}


def send(app: SendingContext, platform: str, hook: Any, secret: str = SECRET) -> None:
    body = hook if isinstance(hook, bytes) else json.dumps(hook).encode()
    signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    name = {"FB": "facebook", "IG": "instagram"}.get(platform, platform)
    hooks.receive(app, api.ReceiveHook(platform=name, deflated_body=zlib.compress(body), signature=signature))


def account_of(world: World, post: api.PublishResult) -> str:
    return str(world.ask("SELECT remote_account_id FROM pages WHERE id = :id", id=post.page_id)[0][0])


def hook(world: World, post: api.PublishResult, *made: RemoteComment) -> dict[str, Any]:
    return hook_of(post.platform, account_of(world, post), post.platform_post_id or "", *made)


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


def test_an_instagram_hook_is_told_once_its_time_is_known(
    world: World, app: SendingContext, wall: Wall
) -> None:
    post = on_instagram(world)
    made = wall.write()
    send(app, "IG", hook(world, post, made))
    send(app, "IG", hook(world, post, made))
    assert texts(world) == []
    wall.made = [replace(made, author_id="")]
    finish(world)
    finish(world)
    [event] = world.told()
    assert (event.comment.created_time, event.comment.author.id) == (made.created_at, "u1")
    assert wall.read == [made.id]


def on_instagram(world: World) -> api.PublishResult:
    """A post of Instagram's, which the platform here takes without a photo."""
    page = world.page()
    post = world.published(page)
    world.run("UPDATE pages SET platform = 'IG'")
    world.run("UPDATE posts SET platform = 'IG'")
    return msgspec.structs.replace(post, platform="IG")


def test_a_poll_that_sees_a_waiting_comment_first_tells_of_it(
    world: World, app: SendingContext, wall: Wall
) -> None:
    post = on_instagram(world)
    send(app, "IG", hook(world, post, wall.write()))
    world.poll()
    finish(world)
    assert texts(world) == ["hi"]
    assert wall.read == []


def test_own_words_on_instagram_are_not_even_looked_at(world: World, app: SendingContext, wall: Wall) -> None:
    post = on_instagram(world)
    send(app, "IG", hook(world, post, wall.write(author_id=account_of(world, post))))
    finish(world)
    assert (texts(world), wall.read) == ([], [])


@pytest.mark.parametrize(
    "refusal",
    [
        PlatformRefusal(Refusal.PERMISSION, "100/33", "gone"),
        PlatformRefusal(Refusal.EXPIRED, "190", "expired"),
        PlatformRefusal(Refusal.RATE_LIMITED, "32", "too many", 600),
    ],
)
def test_a_comment_that_cannot_be_looked_at_is_told_as_the_hook_said(
    world: World, app: SendingContext, wall: Wall, refusal: PlatformRefusal
) -> None:
    post = on_instagram(world)
    send(app, "IG", hook(world, post, wall.write(), wall.write("second")))
    wall.script = [refusal, refusal]
    finish(world)
    assert sorted(texts(world)) == ["hi", "second"]
    assert {event.comment.created_time for event in world.told()} == {VISITED_AT}


def test_a_platform_that_fails_is_asked_again_and_not_waited_for_for_ever(
    world: World, app: SendingContext, wall: Wall
) -> None:
    post = on_instagram(world)
    send(app, "IG", hook(world, post, wall.write()))
    wall.script = [PlatformRefusal(Refusal.TRANSIENT, "2", "busy")] * 10
    for looks in range(1, 4):
        finish(world)
        assert (texts(world), len(wall.read)) == ([], looks)
    finish(world)
    finish(world)
    assert (texts(world), len(wall.read)) == (["hi"], 4)


def test_a_page_that_two_brands_have_linked_is_told_for_the_one_that_posted(
    world: World, app: SendingContext, wall: Wall
) -> None:
    page = world.page()
    post = world.published(page)
    twin = world.page(brand="brd_b")
    world.run("UPDATE pages SET remote_account_id = :r WHERE id = :id", r=page.account_id, id=twin.id)
    send(app, "FB", hook(world, post, wall.write()))
    assert [event.brand_id for event in world.told()] == ["brd_a"]


def test_posts_and_pages_that_are_not_ours_are_passed_over(
    world: World, app: SendingContext, wall: Wall, post: api.PublishResult
) -> None:
    made = wall.write()
    send(app, "FB", hook_of("FB", "1", "1_1", made))
    send(app, "FB", hook_of("FB", account_of(world, post), "1_1", made))
    send(app, "IG", hook_of("IG", account_of(world, post), post.platform_post_id or "", made))
    assert texts(world) == []


def refusal_of(call: Callable[[], object]) -> str:
    with pytest.raises(ApiError) as refusal:
        call()
    return refusal.value.code


def test_only_what_is_signed_with_the_apps_secret_is_taken(
    world: World,
    app: SendingContext,
    make_app: Callable[..., SendingContext],
    wall: Wall,
    post: api.PublishResult,
) -> None:
    body = hook(world, post, wall.write())
    assert refusal_of(lambda: send(app, "FB", body, "wrong")) == "HOOK_REFUSED"
    assert refusal_of(lambda: send(make_app(), "FB", body, "")) == "HOOK_REFUSED"
    assert refusal_of(lambda: send(app, "tiktok", body)) == "NOT_FOUND"
    assert refusal_of(lambda: send(app, "FB", b"no json")) == "INVALID_JSON"
    assert refusal_of(lambda: send(app, "FB", b"{" + b" " * 2**20)) == "PAYLOAD_TOO_LARGE"
    broken = api.ReceiveHook(platform="facebook", deflated_body=b"no zlib", signature="")
    assert refusal_of(lambda: hooks.receive(app, broken)) == "INVALID_JSON"
    assert texts(world) == []


def test_instagrams_own_login_signs_with_a_secret_of_its_own(
    world: World, make_app: Callable[..., SendingContext], wall: Wall
) -> None:
    meta = MetaSettings(app_secret=SECRET, instagram_app_secret="other", verify_token=VERIFY)
    app = make_app(platforms=default_settings(FB=meta, IG=meta))
    post = on_instagram(world)
    for secret in (SECRET, "other"):
        send(app, "IG", hook(world, post, wall.write()), secret)
    facebook = hook_of("FB", "1", "1_1", wall.write())
    assert refusal_of(lambda: send(app, "FB", facebook, "other")) == "HOOK_REFUSED"


@pytest.mark.parametrize(
    ("platform", "mode", "token", "code"),
    [
        ("facebook", "subscribe", VERIFY, None), ("instagram", "subscribe", VERIFY, None),
        ("facebook", "unsubscribe", VERIFY, "HOOK_REFUSED"), ("facebook", "subscribe", "wrong", "HOOK_REFUSED"),
        ("facebook", "subscribe", "", "HOOK_REFUSED"), ("facebook", "", VERIFY, "HOOK_REFUSED"),
        ("facebook", "subscribe", "é\ud800", "HOOK_REFUSED"), ("tiktok", "subscribe", VERIFY, "NOT_FOUND"),
    ],
)  # fmt: skip
def test_the_address_is_ours_for_who_knows_the_verify_token(
    app: SendingContext, platform: str, mode: str, token: str, code: str | None
) -> None:
    request = api.VerifyHook(platform=platform, mode=mode, token=token)
    if code is None:
        hooks.verify(app, request)
    else:
        assert refusal_of(lambda: hooks.verify(app, request)) == code


def test_without_a_verify_token_the_address_is_nobodys(make_app: Callable[..., SendingContext]) -> None:
    request = api.VerifyHook(platform="facebook", mode="subscribe", token="")
    assert refusal_of(lambda: hooks.verify(make_app(), request)) == "HOOK_REFUSED"


def test_a_cursor_that_the_platform_refuses_is_the_clients_error(
    world: World, wall: Wall, post: api.PublishResult
) -> None:
    for _ in range(3):
        wall.write()
    cursor = get(world, post, limit=2).next_cursor
    wall.script = [PlatformRefusal(Refusal.REJECTED, "100", "Invalid cursors values")]
    assert refusal_of(lambda: get(world, post, limit=2, cursor=cursor)) == "VALIDATION_ERROR"
    wall.script = [PlatformRefusal(Refusal.REJECTED, "100", "?")]
    assert refusal_of(lambda: get(world, post)) == "PLATFORM_ERROR"
