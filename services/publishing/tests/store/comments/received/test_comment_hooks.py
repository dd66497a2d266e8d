"""Webhooks about comments. For Instagram the comment is read from the platform first. A webhook about a foreign post is
ignored, and one without a valid signature is refused.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from publishing_kit.fake_platform import Wall
from publishing_kit.received import (
    SECRET,
    VERIFY,
    VISITED_AT,
    account_of,
    finish,
    hook,
    hook_of,
    on_instagram,
    send,
    texts,
)
from publishing_kit.refusals import refused
from publishing_kit.world import World

from contracts import publishing as api
from publishing.comments import hooks
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.registry import default_settings
from publishing.sending.context import SendingContext


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


def test_only_what_is_signed_with_the_apps_secret_is_taken(
    world: World,
    app: SendingContext,
    make_app: Callable[..., SendingContext],
    wall: Wall,
    post: api.PublishResult,
) -> None:
    body = hook(world, post, wall.write())
    assert refused(lambda: send(app, "FB", body, "wrong")).code == "HOOK_REFUSED"
    assert refused(lambda: send(make_app(), "FB", body, "")).code == "HOOK_REFUSED"
    assert refused(lambda: send(app, "tiktok", body)).code == "NOT_FOUND"
    assert refused(lambda: send(app, "FB", b"no json")).code == "INVALID_JSON"
    assert refused(lambda: send(app, "FB", b"{" + b" " * 2**20)).code == "PAYLOAD_TOO_LARGE"
    broken = api.ReceiveHook(platform="facebook", deflated_body=b"no zlib", signature="")
    assert refused(lambda: hooks.receive(app, broken)).code == "INVALID_JSON"
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
    assert refused(lambda: send(app, "FB", facebook, "other")).code == "HOOK_REFUSED"


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
        assert refused(lambda: hooks.verify(app, request)).code == code


def test_without_a_verify_token_the_address_is_nobodys(make_app: Callable[..., SendingContext]) -> None:
    request = api.VerifyHook(platform="facebook", mode="subscribe", token="")
    assert refused(lambda: hooks.verify(make_app(), request)).code == "HOOK_REFUSED"
