"""A page is unlinked or linked again while something is about to be sent to it."""

from typing import Any

import pytest
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.refusals import refused
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import operator
from publishing.comments import replies
from publishing.pages import linked_pages, unlinking
from publishing.posts import publish_now, retry, schedule
from publishing.sending import first_comments
from publishing.sending.context import SendingContext
from publishing.store.received import Received


@pytest.fixture
def page(world: World) -> api.Page:
    found: api.Page = world.page()
    return found


def unlink(world: World, page: api.Page) -> None:
    unlinking.unlink(world.app, world.caller(), api.UnlinkPage(id=page.id, cancel_queued=True))


def link_anew(page: api.Page, app: SendingContext, token: str) -> None:
    request = api.LinkPage(
        owner_account_id="usr_a", brand_id=page.brand_id, brand_name=page.brand_name, platform=page.platform,
        remote_account_id=page.account_id, access_token=token, name=page.name,
    )  # fmt: skip
    linked_pages.link(app, operator(), request)


def tokens_used(platform: FakePlatform, method: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list that gets the access token of every later call of this method."""
    used: list[str] = []
    call = getattr(platform, method)

    def noting(account: Any, *arguments: Any) -> Any:
        used.append(account.access_token)
        return call(account, *arguments)

    monkeypatch.setattr(platform, method, noting)
    return used


def test_a_publish_at_once_is_not_sent_to_a_page_that_was_unlinked(
    world: World, app: SendingContext, page: api.Page, platform: FakePlatform, before_it_stores: Any
) -> None:
    request = api.PublishPost(page_id=page.id, message="hello")
    with before_it_stores(lambda: unlink(world, page)):
        error = refused(publish_now.publish, app, world.caller(), request)
    assert (error.code, error.extras) == ("NOT_FOUND", {"field": "page_id"})
    assert (platform.posts, world.ask("SELECT FROM posts")) == ([], [])


def test_a_publish_at_once_is_refused_when_the_connection_has_ended_meanwhile(
    world: World, app: SendingContext, page: api.Page, platform: FakePlatform, before_it_stores: Any
) -> None:
    request = api.PublishPost(page_id=page.id, message="hello")
    with before_it_stores(lambda: world.run("UPDATE pages SET expired = true")):
        error = refused(publish_now.publish, app, world.caller(), request)
    assert error.code == "PAGE_EXPIRED"
    assert platform.posts == []


def test_a_publish_at_once_uses_the_credentials_of_a_page_that_was_linked_anew(
    world: World,
    app: SendingContext,
    page: api.Page,
    platform: FakePlatform,
    before_it_stores: Any,
    monkeypatch: Any,
) -> None:
    used = tokens_used(platform, "publish", monkeypatch)
    with before_it_stores(lambda: link_anew(page, app, "new")):
        publish_now.publish(app, world.caller(), api.PublishPost(page_id=page.id, message="hello"))
    assert used == ["new"]


def test_a_page_is_not_unlinked_while_a_publish_at_once_is_on_its_way(
    world: World, app: SendingContext, page: api.Page, platform: FakePlatform
) -> None:
    codes: list[str] = []
    platform.before = lambda message: codes.append(refused(unlink, world, page).code)
    publish_now.publish(app, world.caller(), api.PublishPost(page_id=page.id, message="hello"))
    assert codes == ["POST_IN_PROGRESS"]
    unlink(world, page)


def test_no_post_is_scheduled_on_a_page_that_was_unlinked(
    world: World, app: SendingContext, page: api.Page, before_it_stores: Any
) -> None:
    request = api.SchedulePost(page_id=page.id, scheduled_at=world.in_minutes(20), message="hello")
    with before_it_stores(lambda: unlink(world, page)):
        error = refused(schedule.schedule, app, world.caller(), request)
    assert (error.code, error.extras) == ("NOT_FOUND", {"field": "page_id"})
    assert world.ask("SELECT FROM posts") == []


def test_no_failed_post_of_a_page_that_was_unlinked_is_queued_again(
    world: World, app: SendingContext, page: api.Page, before_it_stores: Any
) -> None:
    post = world.schedule(page, world.in_minutes(20))
    world.run("UPDATE posts SET state = 'failed', out_at = NULL")
    with before_it_stores(lambda: unlink(world, page)):
        error = refused(retry.retry, app, world.caller(), api.PostId(id=post.id))
    assert error.code == "NOT_FOUND"
    assert world.state(post.id).state == "failed"


@pytest.fixture
def reply(world: World, page: api.Page) -> api.ReplyToComment:
    post = world.published(page)
    with world.database.transaction() as connection:
        Received(connection).add(post.post_id, ["r1"])
        comment = Received(connection).known(post.post_id, ["r1"])["r1"]
    return api.ReplyToComment(page_id=page.id, comment_id=comment.id, message="thanks")


def test_a_reply_is_not_sent_to_a_page_that_was_unlinked(
    world: World,
    app: SendingContext,
    page: api.Page,
    platform: FakePlatform,
    reply: Any,
    before_it_stores: Any,
) -> None:
    with before_it_stores(lambda: unlink(world, page)):
        error = refused(replies.reply, app, world.caller(), reply)
    assert error.code == "NOT_FOUND"
    assert (platform.comments, world.ask("SELECT FROM replies")) == ([], [])


def test_a_reply_uses_the_credentials_of_a_page_that_was_linked_anew(
    world: World,
    app: SendingContext,
    page: api.Page,
    platform: FakePlatform,
    reply: Any,
    before_it_stores: Any,
    monkeypatch: Any,
) -> None:
    used = tokens_used(platform, "reply", monkeypatch)
    with before_it_stores(lambda: link_anew(page, app, "new")):
        replies.reply(app, world.caller(), reply)
    assert used == ["new"]


def test_a_page_is_not_unlinked_while_a_reply_is_on_its_way(
    world: World, app: SendingContext, page: api.Page, platform: FakePlatform, reply: Any, monkeypatch: Any
) -> None:
    codes: list[str] = []
    send = platform.reply

    def sending(*arguments: Any) -> Any:
        codes.append(refused(unlink, world, page).code)
        return send(*arguments)

    monkeypatch.setattr(platform, "reply", sending)
    replies.reply(app, world.caller(), reply)
    assert codes == ["POST_IN_PROGRESS"]
    unlink(world, page)


@pytest.fixture
def first(world: World, app: SendingContext, page: api.Page) -> Any:
    """Claims a first comment. Calling the fixture sends it."""
    world.published(page, first_comment="first")
    [task] = first_comments._claim(app, 1)
    return task


def test_a_first_comment_is_not_made_on_a_page_that_was_unlinked(
    world: World, app: SendingContext, page: api.Page, platform: FakePlatform
) -> None:
    world.published(page, first_comment="first")
    unlink(world, page)
    [task] = first_comments._claim(app, 1)
    task()
    assert platform.comments == []
    assert [row.comment_state for row in world.ask("SELECT comment_state FROM posts")] == ["failed"]


def test_a_first_comment_uses_the_credentials_of_a_page_that_was_linked_anew(
    world: World, app: SendingContext, page: api.Page, platform: FakePlatform, first: Any, monkeypatch: Any
) -> None:
    used = tokens_used(platform, "comment", monkeypatch)
    link_anew(page, app, "new")
    first()
    assert used == ["new"]


def test_a_page_is_not_unlinked_while_a_first_comment_is_on_its_way(
    world: World, page: api.Page, platform: FakePlatform, first: Any
) -> None:
    assert refused(unlink, world, page).code == "POST_IN_PROGRESS"
    first()
    assert len(platform.comments) == 1
    unlink(world, page)
