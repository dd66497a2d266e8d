"""The permission of an unlinked page is revoked at the platform once no other page needs it."""

from typing import Any

from publishing_kit.renewals import SOON, Renewals
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import operator
from publishing.pages import linked_pages, unlinking


class TestGivingBack:
    def unlink(self, world: World, page: api.Page) -> None:
        unlinking.unlink(world.app, world.caller(), api.UnlinkPage(id=page.id))

    def test_an_unlinked_page_is_revoked_and_its_credentials_go(
        self, world: World, renewals: Renewals, login: Any
    ) -> None:
        page = renewals.page()
        self.unlink(world, page)
        assert renewals.tick() == 1
        assert login.revoked == ["a"]
        assert renewals.row(page).access_token == ""
        assert renewals.tick() == 0

    def test_what_others_live_by_is_not_revoked_before_the_last(
        self, world: World, renewals: Renewals, login: Any
    ) -> None:
        first, second = renewals.page("one"), renewals.page("one")
        self.unlink(world, first)
        renewals.tick()
        assert login.revoked == []
        self.unlink(world, second)
        renewals.tick()
        assert login.revoked == ["a"]

    def test_it_is_tried_again_for_a_while_and_then_forgotten(
        self, world: World, renewals: Renewals, login: Any
    ) -> None:
        page = renewals.page()
        self.unlink(world, page)
        login.revoke_script = [SOON] * 6
        for _ in range(6):
            assert renewals.row(page).access_token != ""
            renewals.tick()
            renewals.rest_is_over()
        assert renewals.row(page).access_token == ""

    def test_a_page_linked_again_meanwhile_keeps_its_permission(
        self, world: World, renewals: Renewals, login: Any
    ) -> None:
        page = renewals.page()
        self.unlink(world, page)
        login.revoke_script = [SOON]
        renewals.tick()
        request = api.LinkPage(
            owner_account_id="usr_a", brand_id="brd_a", brand_name="B", platform="FB",
            remote_account_id=page.account_id, access_token="new", name="P",
        )  # fmt: skip
        linked_pages.link(world.app, operator(), request)
        renewals.rest_is_over()
        assert renewals.tick() == 0
        assert login.revoked == []
