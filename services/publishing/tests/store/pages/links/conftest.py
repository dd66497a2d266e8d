"""A platform's login that finds the accounts that the test sets, and a linking's steps as the API's client and the
browser make them.
"""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from publishing_kit.world import World

from contracts import publishing as api
from contracts.caller import Caller
from publishing.pages import link_consent, link_sessions
from publishing.platforms.base import Profile
from publishing.platforms.oauth.base import Found, Login, Tokens


@dataclass
class FakeLogin(Login):
    """A login that finds the accounts in `here`. Each exchange of a code raises `problem`, if it is set."""

    here: list[str] = field(default_factory=lambda: ["a1", "a2"])
    codes: list[tuple[str, str, str]] = field(default_factory=list)
    problem: BaseException | None = None
    scopes: tuple[str, ...] = ("post", "read")
    #: Granted to each account; None: the platform does not tell.
    account_scopes: tuple[str, ...] | None = None

    def authorize_url(self, state: str, redirect_uri: str, verifier: str) -> str:
        return f"https://platform.test/login?state={state}&back={redirect_uri}&verifier={verifier}"

    def exchange(self, code: str, redirect_uri: str, verifier: str) -> Tokens:
        self.codes.append((code, redirect_uri, verifier))
        if self.problem is not None:
            raise self.problem
        return Tokens(f"access {code}", f"refresh {code}", 7_200, ("post",))

    def accounts(self, tokens: Tokens) -> list[Found]:
        return [
            Found(
                one,
                Profile(f"Page {one}", one, 7, None),
                Tokens(f"{tokens.access_token} {one}", "r", 7_200, self.account_scopes),
                "g",
            )
            for one in self.here
        ]


@pytest.fixture
def login(app: Any) -> FakeLogin:
    login = FakeLogin()
    app.logins = {"FB": login}
    return login


BROWSER = "b" * 64


@dataclass
class Linking:
    """One linking, with the steps of the client and of the browser."""

    world: World
    login: FakeLogin
    begun: api.LinkBegun | None = None
    kept_query: dict[str, str] = field(default_factory=dict)

    def begin(
        self,
        caller: Caller | None = None,
        brand: str = "brd_a",
        return_url: str | None = None,
        **more: str | None,
    ) -> "Linking":
        request = api.BeginLink(
            **{"platform": "FB"} | more,
            brand_id=brand,
            brand_name="Brand",
            account_name="Eve (eve@example.com)",
            return_url=return_url,
        )
        self.begun = link_sessions.begin(self.world.app, caller or self.world.caller(), request)
        return self

    def another(self, *begin: Any) -> "Linking":
        """Begins a second linking, by default for the same account."""
        return Linking(self.world, self.login).begin(*begin)

    def page(self, browser: str = BROWSER) -> api.LinkPageView:
        assert self.begun is not None
        return link_consent.view(
            self.world.app, api.ViewLink(session_id=self.begun.session_id, browser=browser)
        )

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the address at the platform to which this browser is sent, as they were at the first
        call.
        """
        if not self.kept_query:
            self.kept_query = dict(parse_qsl(urlsplit(self.page().authorize_url or "").query))
        return self.kept_query

    def back(self, code: str = "c0de", **more: str) -> api.LinkSession:
        words = {
            "platform": "facebook",
            "state": self.query["state"],
            "code": code,
            "browser": BROWSER,
        } | more
        return link_sessions.finish(self.world.app, api.FinishLink(**words))

    def decide(self, browser: str = BROWSER, *, is_given: bool = True) -> api.LinkPageView:
        assert self.begun is not None
        request = api.DecideLink(session_id=self.begun.session_id, browser=browser, is_given=is_given)
        return link_consent.decide(self.world.app, request)

    def agree(self, code: str = "c0de") -> api.LinkSession:
        """Comes back from the platform and agrees to give access to the accounts that were found."""
        self.back(code)
        self.decide()
        return self.show()

    def show(self, caller: Caller | None = None) -> api.LinkSession:
        assert self.begun is not None
        request = api.GetLink(session_id=self.begun.session_id)
        return link_sessions.show(self.world.app, caller or self.world.caller(), request)

    def choose(self, *account_ids: str) -> tuple[api.Page, ...]:
        assert self.begun is not None
        request = api.ChooseAccounts(session_id=self.begun.session_id, account_ids=account_ids)
        return link_sessions.choose(self.world.app, self.world.caller(), request).pages


@pytest.fixture
def link(world: World, login: FakeLogin) -> Linking:
    return Linking(world, login).begin()
