"""Renewing credentials: ahead of their end, once, kept before use; and given back when a page is unlinked."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace
from publishing_kit.fake_platform import FakePlatform
from publishing_kit.world import World

from chassis.ids import new_id
from contracts import publishing as api
from contracts.caller import operator
from contracts.errors import ApiError
from publishing.comments import comment_list
from publishing.credentials import Credentials
from publishing.pages import health, linked_pages, renewal, unlinking
from publishing.pages.renewal import Grant
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.oauth.base import Found, Login, Tokens
from publishing.posts import publish_now
from publishing.records import PageRow
from publishing.store.pages import Pages
from publishing.store.renewals import Renewal
from publishing.store.renewals import Renewals as RenewalStore

OVER = PlatformRefusal(Refusal.EXPIRED, "invalid_grant", "It is over.")
SOON = PlatformRefusal(Refusal.TRANSIENT, "TIMED_OUT", "Later.")


@dataclass
class FakeLogin(Login):
    """Each refresh token works once; `script` is raised by the next refreshes."""

    script: list[Exception] = field(default_factory=list)
    refreshed: list[str] = field(default_factory=list)
    revoked: list[str] = field(default_factory=list)
    revoke_script: list[Exception] = field(default_factory=list)
    scopes: tuple[str, ...] = ("post", "read")
    during: Any = lambda: None

    def authorize_url(self, state: str, redirect_uri: str, verifier: str) -> str:
        return ""

    def exchange(self, code: str, redirect_uri: str, verifier: str) -> Tokens:
        raise NotImplementedError

    def accounts(self, tokens: Tokens) -> list[Found]:
        return []

    def refresh(self, refresh_token: str) -> Tokens:
        self.during()
        if self.script:
            raise self.script.pop(0)
        assert refresh_token not in self.refreshed, "a used refresh token"
        self.refreshed.append(refresh_token)
        return Tokens(f"access {len(self.refreshed)}", f"refresh {len(self.refreshed)}", 7_200)

    def revoke(self, tokens: Tokens) -> bool:
        if self.revoke_script:
            raise self.revoke_script.pop(0)
        self.revoked.append(tokens.access_token)
        return True


@pytest.fixture
def login(app: Any) -> FakeLogin:
    login = FakeLogin()
    app.logins = {"FB": login}
    return login


@dataclass
class Renewals:
    world: World

    def page(self, grant_id: str = "g", **tokens: Any) -> api.Page:
        """A linked page whose tokens live two hours."""
        given = Tokens(
            **{"access_token": "a", "refresh_token": "r", "lifetime_seconds": 7_200.0, "scopes": ("post",)}
            | tokens
        )
        app = self.world.app
        with app.database.transaction() as connection:
            grant = Grant.of(given, grant_id, connection)
            values = {
                "id": new_id("pag"), "account_id": "usr_a", "brand_id": "brd_a", "brand_name": "B", "platform": "FB",
                "remote_account_id": new_id("remote"), "name": "P", "username": None, "followers": 0, "picture": None,
                "access_token": app.vault.seal(grant.credentials), "grant_id": grant_id, "renew_at": grant.renew_at,
            }  # fmt: skip
            return linked_pages.store_link(connection, values).view()

    def row(self, page: api.Page) -> PageRow:
        with self.world.database.reading() as connection:
            found = Pages(connection).get(page.id)
        assert found is not None
        return found

    def credentials(self, page: api.Page) -> Credentials:
        return self.world.app.vault.credentials(self.row(page).access_token)

    def tick(self) -> int:
        claimed = renewal.renew_credentials(self.world.app)
        assert self.world.app.side.wait_idle(10)
        return claimed

    def claim(self) -> Renewal:
        """The one that is due."""
        with self.world.database.transaction() as connection:
            [renewal] = RenewalStore(connection).claim(1, 120)
        return renewal

    def rest_is_over(self) -> None:
        self.world.run(
            "UPDATE pages SET renew_lease_until = clock_timestamp() WHERE renew_lease_until IS NOT NULL"
        )


@pytest.fixture
def renewals(world: World, login: FakeLogin) -> Renewals:
    return Renewals(world)


def test_tokens_are_renewed_ahead_of_their_end_again_and_again(
    world: World, renewals: Renewals, login: Any
) -> None:
    page = renewals.page()
    assert renewals.tick() == 0
    for number in (1, 2):
        world.shift(6_480)
        assert renewals.tick() == 1
        kept = renewals.credentials(page)
        assert (kept.access_token, kept.refresh_token) == (f"access {number}", f"refresh {number}")
        assert kept.scopes == ("post",)
    assert login.refreshed == ["r", "refresh 1"]
    assert renewals.tick() == 0


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_renewal_whose_claim_is_gone_by_its_turn_presents_no_token(
    world: World, renewals: Renewals, login: Any, is_taken: bool
) -> None:
    page = renewals.page()
    world.shift(6_500)
    late = renewals.claim()
    renewals.rest_is_over()
    if is_taken:
        renewals.claim()
    renewal.run(world.app, late)
    assert login.refreshed == []
    renewals.rest_is_over()
    assert renewals.tick() == 1
    assert renewals.credentials(page).access_token == "access 1"


def test_a_page_without_a_refresh_token_is_left_alone(world: World, renewals: Renewals, login: Any) -> None:
    renewals.page(refresh_token=None)
    world.page()
    world.shift(90_000)
    assert renewals.tick() == 0


@pytest.mark.parametrize(
    "problem", [SOON, PlatformRefusal(Refusal.REJECTED, "invalid_client", "our own"), OSError()]
)
def test_anything_but_a_definite_word_is_tried_again(
    world: World, renewals: Renewals, login: Any, problem: Exception
) -> None:
    page = renewals.page()
    world.shift(6_500)
    login.script = [problem]
    assert renewals.tick() == 1
    assert renewals.tick() == 0
    assert renewals.row(page).expired is False
    renewals.rest_is_over()
    assert renewals.tick() == 1
    assert renewals.credentials(page).access_token == "access 1"
    assert world.events() == []


def test_a_platform_that_says_how_long_is_left_alone_for_so_long(
    world: World, renewals: Renewals, login: Any
) -> None:
    renewals.page()
    world.shift(6_500)
    login.script = [PlatformRefusal(Refusal.RATE_LIMITED, "429", "slow", 5_000)]
    renewals.tick()
    [row] = world.ask("SELECT extract(epoch FROM renew_lease_until - clock_timestamp()) AS wait FROM pages")
    assert 4_900 < row.wait <= 5_000


def test_a_definite_word_ends_the_connection_and_is_told_once(
    world: World, renewals: Renewals, login: Any
) -> None:
    page = renewals.page()
    world.shift(6_500)
    login.script = [OVER]
    renewals.tick()
    assert renewals.row(page).expired
    assert world.events() == ["page.expired"]
    world.shift(90_000)
    assert renewals.tick() == 0


def test_a_claim_lapses_with_its_process_and_two_never_refresh_at_once(
    world: World, renewals: Renewals, login: Any, make_app: Any
) -> None:
    renewals.page()
    world.shift(6_500)
    other = make_app()
    other.logins = world.app.logins
    counts = []
    login.during = lambda: counts.append(renewal.renew_credentials(other))
    assert renewals.tick() == 1
    assert counts == [0]
    assert login.refreshed == ["r"]


def test_who_was_overtaken_by_a_new_link_changes_nothing(
    world: World, renewals: Renewals, login: Any
) -> None:
    page = renewals.page()
    world.shift(6_500)
    login.script = [OVER]

    def relink() -> None:
        request = api.LinkPage(
            owner_account_id="usr_a", brand_id="brd_a", brand_name="B", platform="FB",
            remote_account_id=page.account_id, access_token="new", name="P",
        )  # fmt: skip
        linked_pages.link(world.app, operator(), request)

    login.during = relink
    renewals.tick()
    assert renewals.credentials(page).access_token == "new"
    assert renewals.row(page).expired is False
    assert world.events() == []


def test_new_tokens_wait_for_a_database_that_is_away(
    world: World, renewals: Renewals, login: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contracts.errors import SERVICE_UNAVAILABLE

    page = renewals.page()
    world.shift(6_500)
    monkeypatch.setattr(renewal, "_PAUSE_SECONDS", 0.0)
    save, failures = renewal.Renewals.save, [ApiError(SERVICE_UNAVAILABLE)] * 3

    def flaky(*arguments: Any) -> bool:
        if failures:
            raise failures.pop()
        return save(*arguments)

    monkeypatch.setattr(renewal.Renewals, "save", flaky)
    renewals.tick()
    assert renewals.credentials(page).refresh_token == "refresh 1"
    assert login.refreshed == ["r"]


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


def test_tokens_are_renewed_by_the_app_that_issued_them(world: Any, renewals: Renewals, login: Any) -> None:
    other = FakeLogin()
    login.of_app = lambda name, granted=None: {"first": login, "second": other}.get(name)
    page = renewals.page(app="second")
    world.shift(7_000)
    renewals.tick()
    assert (login.refreshed, other.refreshed) == ([], ["r"])
    assert renewals.credentials(page).access_token == "access 1"


def test_tokens_of_an_app_that_is_not_configured_any_more_are_left_until_they_end(
    world: Any, renewals: Renewals, login: Any
) -> None:
    login.of_app = lambda name, granted=None: None
    page = renewals.page(app="gone")
    world.shift(7_000)
    renewals.tick()
    assert login.refreshed == []
    assert renewals.tick() == 0
    assert not renewals.row(page).expired


def test_tokens_are_renewed_once_their_app_is_in_the_settings_again(
    world: Any, renewals: Renewals, login: Any
) -> None:
    login.of_app = lambda name, granted=None: None
    page = renewals.page()
    world.shift(7_000)
    renewals.tick()
    login.of_app = lambda name, granted=None: login
    renewals.rest_is_over()
    renewals.tick()
    assert renewals.credentials(page).access_token == "access 1"
