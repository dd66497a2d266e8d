"""A token that expires before its time is renewed once, and the page stays linked."""

from typing import Any

import pytest
from msgspec.structs import replace
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.renewals import OVER, Renewals
from publishing_kit.world import World

from contracts import publishing as api
from contracts.errors import ApiError
from publishing.comments import comment_list
from publishing.pages import health
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.posts import publish_now


class TestATokenThatIsOverSooner:
    def send(self, world: World, page: api.Page) -> Any:
        try:
            return publish_now.publish(
                world.app, world.caller(), api.PublishPost(page_id=page.id, message="x")
            )
        except ApiError as error:
            return error

    def test_it_is_renewed_and_the_page_lives_on(
        self, world: World, renewals: Renewals, login: Any, platform: FakePlatform
    ) -> None:
        page = renewals.page()
        platform.script = [PlatformRefusal(Refusal.EXPIRED, "401", "over")]
        refused = self.send(world, page)
        assert refused.code == "PLATFORM_REJECTED"
        assert refused.extras["platform_error"]["retryable"] is True
        assert renewals.row(page).expired is False
        assert renewals.tick() == 1
        assert self.send(world, page).status == "published"

    def test_a_scheduled_post_is_tried_again_with_the_new_one(
        self, world: World, renewals: Renewals, platform: FakePlatform
    ) -> None:
        page = renewals.page()
        post = world.schedule(page, world.in_minutes(11))
        world.shift(661)
        platform.script = [PlatformRefusal(Refusal.EXPIRED, "401", "over")]
        world.send()
        assert world.state(post.id).state == "queued"
        renewals.tick()
        world.shift(61)
        world.send()
        assert world.state(post.id).state == "published"
        assert world.events() == ["post.published"]

    def test_one_refused_right_after_its_renewal_is_over_for_good(
        self, world: World, renewals: Renewals, platform: FakePlatform
    ) -> None:
        page = renewals.page()
        for _ in range(2):
            platform.script = [PlatformRefusal(Refusal.EXPIRED, "401", "over")]
            answer = self.send(world, page)
            renewals.tick()
        assert answer.code == "PAGE_EXPIRED"
        assert world.events() == ["page.expired"]

    def test_a_sandbox_token_that_sees_it_renews_nothing(
        self, world: World, renewals: Renewals, platform: FakePlatform
    ) -> None:
        asked = api.ListComments(post_id=world.published(renewals.page()).post_id)

        def over(*args: Any, **options: Any) -> Any:
            raise PlatformRefusal(Refusal.EXPIRED, "401", "over")

        platform.list_comments = over
        for sandbox in (True, False):
            with pytest.raises(ApiError, match="over"):
                comment_list.show_list(world.app, replace(world.caller(), sandbox=sandbox), asked)
            assert renewals.tick() == (0 if sandbox else 1)

    def test_a_check_renews_it_on_the_spot(
        self, world: World, renewals: Renewals, login: Any, platform: FakePlatform
    ) -> None:
        page = renewals.page()
        answers: list[Exception] = [PlatformRefusal(Refusal.EXPIRED, "401", "over")]
        profile = platform.profile

        def first_refused(account: Any) -> Any:
            if answers:
                raise answers.pop()
            return profile(account)

        platform.profile = first_refused
        found = health.check(world.app, world.caller(), api.GetPage(id=page.id))
        assert (found.healthy, found.expired) == (False, False)
        assert found.missing_permissions == ("read",)
        assert found.token_expires_at is not None
        assert login.refreshed == ["r"]

    def test_a_check_tells_when_the_renewal_shows_it_to_be_over(
        self, world: World, renewals: Renewals, login: Any, platform: FakePlatform
    ) -> None:
        page = renewals.page()
        login.script = [OVER]

        def refused(account: Any) -> Any:
            raise PlatformRefusal(Refusal.EXPIRED, "401", "over")

        platform.profile = refused
        found = health.check(world.app, world.caller(), api.GetPage(id=page.id))
        assert (found.healthy, found.expired) == (False, True)
        assert world.events() == ["page.expired"]
