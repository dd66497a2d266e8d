"""Links that end: an expired page is reported once, with the platform's message. Only a refusal of its present
credentials expires a page.
"""

from typing import Any

import msgspec
import pytest
from publishing_kit.fake_media import FakeMedia
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import Caller, operator
from contracts.errors import ApiError
from contracts.events import Event, PageExpired
from publishing.comments import comment_list
from publishing.pages import health, linked_pages, page_list, unlinking
from publishing.pages.expiry import note_expiry
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.posts import engagement, publish_now
from publishing.store.pages import Pages

OVER = PlatformRefusal(Refusal.EXPIRED, "190/460", "The session is over.")


def expirations(world: World) -> list[PageExpired]:
    bodies = world.ask("SELECT body FROM outbox WHERE event = 'page.expired' ORDER BY position")
    events = [msgspec.json.decode(bytes(row.body), type=Event) for row in bodies]
    return [msgspec.convert(event.data, PageExpired) for event in events]


def send(world: World, page: api.Page) -> Any:
    try:
        return publish_now.publish(world.app, world.caller(), api.PublishPost(page_id=page.id, message="x"))
    except ApiError as error:
        return error.code


def relink(world: World, page: api.Page) -> api.Page:
    request = api.LinkPage(
        owner_account_id="usr_a", brand_id=page.brand_id, brand_name="Brand", platform=page.platform,
        remote_account_id=page.account_id, access_token="another", name="Page",
    )  # fmt: skip
    return linked_pages.link(world.app, operator(), request)


def show(world: World, page: api.Page) -> api.Page:
    return page_list.show(world.app, world.caller(), api.GetPage(id=page.id))


def unlink(world: World, page: api.Page, **options: Any) -> api.PageUnlinked:
    return unlinking.unlink(world.app, world.caller(), api.UnlinkPage(id=page.id, **options))


def refused(call: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(ApiError) as raised:
        call(*arguments, **options)
    return raised.value.code


def test_an_end_is_told_of_once_with_the_platforms_words(world: World, platform: FakePlatform) -> None:
    page = world.page()
    platform.script = [OVER]
    assert [send(world, page), send(world, page)] == ["PAGE_EXPIRED"] * 2
    linked_pages.expire(world.app, operator(), api.GetPage(id=page.id))
    [told] = expirations(world)
    assert (told.page.id, told.page.expired, told.error.code) == (page.id, True, "190/460")
    assert told.reconnect_url.endswith(page.id)


def test_each_end_after_a_repair_is_told_of_anew(world: World, platform: FakePlatform) -> None:
    page = world.page()
    for _ in range(2):
        platform.script = [OVER]
        send(world, page)
        relink(world, page)
    assert len(expirations(world)) == 2


def test_a_repeated_command_of_the_operator_does_not_undo_a_later_one(world: World) -> None:
    page = world.page()
    once = msgspec.structs.replace(operator(), operation_id="op_expire")
    linked_pages.expire(world.app, once, api.GetPage(id=page.id))
    relink(world, page)
    assert linked_pages.expire(world.app, once, api.GetPage(id=page.id)).expired is False
    assert show(world, page).expired is False

    request = api.LinkPage(
        owner_account_id="usr_a", brand_id=page.brand_id, brand_name="Brand", platform=page.platform,
        remote_account_id=page.account_id, access_token="older", name="Page",
    )  # fmt: skip
    once = msgspec.structs.replace(operator(), operation_id="op_link")
    assert linked_pages.link(world.app, once, request).id == page.id
    relink(world, page)
    assert linked_pages.link(world.app, once, request).id == page.id
    with world.database.reading() as connection:
        row = Pages(connection).get(page.id)
    assert row is not None
    assert world.app.vault.decrypt(row.access_token) == "another"


def test_a_word_about_earlier_credentials_ends_nothing(world: World) -> None:
    page = world.page()
    with world.database.reading() as connection:
        before = Pages(connection).get(page.id)
    relink(world, page)
    note_expiry(world.app, before, OVER)
    assert show(world, page).expired is False
    assert expirations(world) == []


@pytest.mark.parametrize("read", ["engagement", "comments"])
def test_an_end_that_a_sandbox_token_sees_is_told_of_by_another_reader(
    world: World, platform: FakePlatform, read: str
) -> None:
    page = world.page()
    post_id = world.published(page).post_id
    platform.engagement = platform.list_comments = refusing(OVER)
    for sandbox in (True, False):
        caller = msgspec.structs.replace(world.caller(), sandbox=sandbox)
        if read == "engagement":
            code = refused(engagement.read, world.app, caller, api.PostId(id=post_id))
        else:
            code = refused(comment_list.show_list, world.app, caller, api.ListComments(post_id=post_id))
        assert code == "PAGE_EXPIRED"
        assert show(world, page).expired is not sandbox
        assert len(expirations(world)) == (0 if sandbox else 1)


@pytest.mark.parametrize("kind", [Refusal.TRANSIENT, Refusal.RATE_LIMITED, Refusal.PERMISSION])
def test_no_other_refusal_ends_a_connection(world: World, platform: FakePlatform, kind: Refusal) -> None:
    page = world.page()
    platform.script = [PlatformRefusal(kind, "1", "no")]
    send(world, page)
    assert show(world, page).expired is False


class TestCheck:
    def check(self, world: World, page: api.Page) -> api.PageHealth:
        return health.check(world.app, world.caller(), api.GetPage(id=page.id))

    def test_a_page_that_answers_is_healthy_and_known_by_its_new_name(self, world: World) -> None:
        page = world.page()
        health = self.check(world, page)
        assert (health.healthy, health.expired, health.error) == (True, False, None)
        assert show(world, page).name == "x"

    def test_what_it_finds_is_shown_with_the_page_until_it_is_linked_again(self, world: World) -> None:
        page = world.page()
        assert (page.checked_at, page.missing_permissions, page.token_expires_at) == (None, None, None)
        health = self.check(world, page)
        shown = show(world, page)
        [listed] = page_list.show_list(world.app, world.caller(), api.ListPages()).pages
        for it in (shown, listed):
            assert it.checked_at == health.checked_at
            assert it.missing_permissions == health.missing_permissions
            assert it.token_expires_at == health.token_expires_at
        again = world.page(remote=page.account_id)
        assert (again.id, again.checked_at) == (page.id, None)

    def test_one_whose_connection_is_over_is_marked(self, world: World, platform: FakePlatform) -> None:
        page = world.page()
        platform.profile = refusing(OVER)
        health = self.check(world, page)
        assert (health.healthy, health.expired) == (False, True)
        assert health.error == api.PostError(code="190/460", message="The session is over.")
        assert show(world, page).expired
        assert len(expirations(world)) == 1

    def test_one_that_lacks_a_permission_is_unhealthy_and_no_more(
        self, world: World, platform: FakePlatform
    ) -> None:
        page = world.page()
        platform.profile = refusing(PlatformRefusal(Refusal.PERMISSION, "10", "no"))
        health = self.check(world, page)
        assert (health.healthy, health.expired) == (False, False)

    def test_a_platform_that_does_not_tell_is_no_health(self, world: World, platform: FakePlatform) -> None:
        page = world.page()
        platform.profile = refusing(PlatformRefusal(Refusal.TRANSIENT, "2", "later"))
        assert refused(self.check, world, page) == "PLATFORM_ERROR"

    def test_an_expired_page_stays_so_whatever_it_answers(self, world: World) -> None:
        page = world.page()
        linked_pages.expire(world.app, operator(), api.GetPage(id=page.id))
        health = self.check(world, page)
        assert (health.healthy, health.expired) == (False, True)
        assert health.reconnect_url


def refusing(refusal: PlatformRefusal) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        raise refusal

    return call


class TestUnlink:
    def test_nobody_sees_the_page_any_more(self, world: World) -> None:
        page, other = world.page(), world.page()
        assert unlink(world, page) == api.PageUnlinked(success=True, id=page.id)
        assert refused(show, world, page) == refused(unlink, world, page) == "NOT_FOUND"
        assert send(world, page) == "NOT_FOUND"
        shown = page_list.show_list(world.app, world.caller(), api.ListPages()).pages
        assert [one.id for one in shown] == [other.id]
        counts = page_list.count(world.app, world.caller(), api.CountPages(brand_ids=(page.brand_id,))).counts
        assert counts == {page.brand_id: 1}
        assert expirations(world) == []

    def test_queued_posts_keep_it_unless_they_may_go(self, world: World, media: FakeMedia) -> None:
        page, photo = world.page(), media.add()
        first = world.schedule(page, world.in_minutes(20), media_ids=(photo,))
        second = world.schedule(page, world.in_minutes(40))
        assert refused(unlink, world, page) == "PAGE_IN_USE"
        assert show(world, page)
        done = unlink(world, page, cancel_queued=True)
        assert set(done.cancelled_posts) == {first.id, second.id}
        assert {world.state(post.id).state for post in (first, second)} == {"cancelled"}
        assert not media.in_use(photo)
        assert [(word.post_id, word.state) for word in world.words()][-1] == (first.id, "released")

    def test_a_post_that_is_being_sent_is_waited_for(self, world: World) -> None:
        page = world.page()
        post = world.schedule(page, world.in_minutes(20))
        world.run("UPDATE posts SET state = 'sending' WHERE id = :id", id=post.id)
        assert refused(unlink, world, page) == "PAGE_IN_USE"
        assert refused(unlink, world, page, cancel_queued=True) == "POST_IN_PROGRESS"

    def test_what_was_posted_stays_and_its_comments_are_asked_for_no_more(self, world: World) -> None:
        page = world.page()
        post = world.published(page)
        unlink(world, page)
        assert world.state(post.post_id).state == "published"
        assert world.ask("SELECT * FROM comment_polls WHERE page_id = :id", id=page.id) == []

    def test_linked_again_it_is_the_same_page(self, world: World) -> None:
        page = world.page()
        unlink(world, page)
        again = relink(world, page)
        assert (again.id, again.expired) == (page.id, False)
        assert show(world, page) == again

    def test_a_stranger_or_another_brands_token_cannot(self, world: World) -> None:
        page = world.page()
        stranger = Caller(account_id="usr_b", user_id="usr_b")
        limited = Caller(account_id="usr_a", user_id="usr_a", brand_ids=("brd_z",))
        for caller, code in ((stranger, "NOT_FOUND"), (limited, "BRAND_NOT_AUTHORIZED")):
            assert refused(unlinking.unlink, world.app, caller, api.UnlinkPage(id=page.id)) == code
