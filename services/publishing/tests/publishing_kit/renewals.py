"""Pages whose tokens have to be renewed, and a fake login whose refresh tokens work only once."""

from dataclasses import dataclass, field
from typing import Any

from chassis.ids import new_id
from contracts import publishing as api
from publishing.pages import linked_pages, renewal
from publishing.pages.renewal import Grant
from publishing.platforms.base import PlatformRefusal, Refusal
from publishing.platforms.oauth.base import Found, Login, Tokens
from publishing.records import Credentials, PageRow
from publishing.store.pages import Pages
from publishing.store.renewals import Renewal
from publishing.store.renewals import Renewals as RenewalStore
from publishing_kit.world import World

OVER = PlatformRefusal(Refusal.EXPIRED, "invalid_grant", "It is over.")
SOON = PlatformRefusal(Refusal.TRANSIENT, "TIMED_OUT", "Later.")


@dataclass
class FakeLogin(Login):
    """A platform's login whose refresh tokens work once. `script` holds exceptions that the next refreshes raise."""

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


@dataclass
class Renewals:
    world: World

    def page(self, grant_id: str = "g", **tokens: Any) -> api.Page:
        """Links a page whose tokens are valid for two hours."""
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
        return Credentials.opened(self.world.app.vault, self.row(page).access_token)

    def tick(self) -> int:
        claimed = renewal.renew_credentials(self.world.app)
        assert self.world.app.side.wait_idle(10)
        return claimed

    def claim(self) -> Renewal:
        """Claims the only renewal that is due, and returns it."""
        with self.world.database.transaction() as connection:
            [renewal] = RenewalStore(connection).claim(1, 120)
        return renewal

    def rest_is_over(self) -> None:
        self.world.run(
            "UPDATE pages SET renew_lease_until = clock_timestamp() WHERE renew_lease_until IS NOT NULL"
        )
