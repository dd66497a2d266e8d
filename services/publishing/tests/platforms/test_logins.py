"""Every login against the simulator: people allow or deny access, tokens are renewed and revoked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests

from contracts.platforms import PLATFORMS
from publishing.platforms.base import Account, Checkpoint, Content, PlatformRefusal, Refusal
from publishing.platforms.facebook.login import FacebookLogin
from publishing.platforms.instagram.login import InstagramLogin
from publishing.platforms.linkedin.connector import LinkedInConnector
from publishing.platforms.linkedin.login import LinkedInLogin
from publishing.platforms.linkedin.settings import LinkedInSettings
from publishing.platforms.meta.settings import MetaSettings
from publishing.platforms.oauth.base import App, Login, Tokens
from publishing.platforms.registry import default_settings, logins
from publishing.platforms.tiktok.settings import TikTokSettings
from publishing.platforms.x.settings import XSettings
from publishing.platforms.youtube.settings import YouTubeSettings

from .simulated import Simulator

VERIFIER = "v" * 64
NAMES = {code: platform.name for code, platform in PLATFORMS.items()}
RENEWED = ["TT", "TW", "YT"]


def meta_at(simulator: Simulator, **more: Any) -> MetaSettings:
    graph = simulator.at("graph.facebook.com")
    dialog = simulator.at("www.facebook.com")
    return MetaSettings(
        facebook_url=graph, instagram_url=graph, authorize_url=dialog, app_id="100200300400500", **more
    )


def linkedin_at(simulator: Simulator, **more: Any) -> LinkedInSettings:
    api, oauth = simulator.at("api.linkedin.com"), simulator.at("www.linkedin.com")
    return LinkedInSettings(api_url=api, oauth_url=oauth, **more)


@pytest.fixture(scope="module")
def at(simulator: Simulator) -> dict[str, Login]:
    """The logins by platform, with the simulator's own apps."""
    at = simulator.at

    def app(name: str) -> App:
        return App(f"local-{name}", f"local-{name}-secret")

    meta = meta_at(simulator)
    return logins(
        {
            "FB": meta,
            "IG": meta,
            "LN": linkedin_at(simulator, member_app=app("linkedin"), pages_app=app("linkedin-pages")),
            "TT": TikTokSettings(
                api_url=at("open.tiktokapis.com"), app=app("tiktok"), authorize_url=at("www.tiktok.com")
            ),
            "TW": XSettings(api_url=at("api.x.com"), app=app("x"), authorize_url=at("x.com")),
            "YT": YouTubeSettings(
                api_url=at("www.googleapis.com"),
                upload_url=at("www.googleapis.com"),
                app=app("youtube"),
                authorize_url=at("accounts.google.com"),
                token_url=at("oauth2.googleapis.com"),
            ),
        }
    )


@dataclass
class Person:
    """A person with accounts on a platform, who logs in."""

    login: Login
    platform: str
    known: dict[str, Any]

    @property
    def redirect_uri(self) -> str:
        return f"https://app.test/connect/{NAMES[self.platform]}/callback"

    def visit(self, **more: str) -> dict[str, str]:
        """Logs in at the platform. Returns the parameters with which it sends the browser back."""
        url = self.login.authorize_url("a state.with/signs", self.redirect_uri, VERIFIER)
        query = {"sim_person": self.known["person_id"], **more}
        went = requests.get(url, params=query, allow_redirects=False, timeout=10)
        assert went.headers["Location"].startswith(self.redirect_uri + "?"), went.text
        back = dict(parse_qsl(urlsplit(went.headers["Location"]).query))
        assert back["state"] == "a state.with/signs"
        return back

    def allow(self) -> Tokens:
        return self.login.exchange(self.visit()["code"], self.redirect_uri, VERIFIER)


@pytest.fixture
def person(simulator: Simulator, at: dict[str, Login]) -> Callable[..., Person]:
    def make(platform: str, **more: Any) -> Person:
        # LinkedIn's app for company pages finds the member as well.
        login = at[platform].of_app("organization" if platform == "LN" else None)
        assert login is not None
        return Person(login, platform, simulator.call("POST", "persons", platform=platform, **more))

    return make


def refusal_of(call: Callable[..., Any], *arguments: Any) -> PlatformRefusal:
    with pytest.raises(PlatformRefusal) as raised:
        call(*arguments)
    return raised.value


@pytest.mark.parametrize("platform", NAMES)
def test_a_login_finds_what_the_person_has_with_names_and_faces(
    person: Callable[..., Person], platform: str
) -> None:
    somebody = person(platform, accounts=2 if platform in ("FB", "IG", "LN") else 1)
    tokens = somebody.allow()
    found = somebody.login.accounts(tokens)
    expected = [account["account_id"] for account in somebody.known["accounts"]]
    if platform == "IG":  # the professional accounts that belong to the pages
        expected = ["178414" + account_id[-11:] for account_id in expected]
    assert [one.account_id for one in found] == expected
    assert all(one.profile.name for one in found)
    assert len({one.grant_id for one in found}) == 1
    assert set(somebody.login.scopes) <= set(tokens.scopes or ())


@pytest.mark.parametrize("platform", ["FB", "IG"])
def test_pages_of_meta_have_tokens_of_their_own_without_an_end(
    person: Callable[..., Person], platform: str
) -> None:
    somebody = person(platform, accounts=2)
    tokens = somebody.allow()
    assert tokens.lifetime_seconds == pytest.approx(5_183_944)
    first, second = (one.tokens for one in somebody.login.accounts(tokens))
    assert len({first.access_token, second.access_token, tokens.access_token}) == 3
    assert (first.lifetime_seconds, first.refresh_token) == (None, None)
    assert set(somebody.login.scopes) <= set(somebody.login.granted(first) or ())


@pytest.mark.parametrize("platform", ["FB", "IG"])
@pytest.mark.parametrize("withheld", [[], ["business_management"]])
def test_pages_of_a_business_portfolio_are_found_if_the_person_lets_us(
    person: Callable[..., Person], platform: str, withheld: list[str]
) -> None:
    somebody = person(platform, accounts=1, business_pages=2, withholds=withheld)
    found = somebody.login.accounts(somebody.allow())
    assert len(found) == (1 if withheld else 3)


def test_facebooks_login_asks_for_no_permission_of_instagram_and_for_none_of_its_fields(
    person: Callable[..., Person], simulator: Simulator
) -> None:
    somebody = person("FB")
    tokens = somebody.allow()
    assert not [scope for scope in tokens.scopes or () if scope.startswith("instagram")]
    refused = requests.get(
        f"{simulator.at('graph.facebook.com')}/v26.0/me/accounts",
        params={"fields": "id,instagram_business_account{id}", "access_token": tokens.access_token},
        timeout=10,
    )
    assert refused.json()["error"]["code"] == 10
    assert somebody.login.accounts(tokens)


def test_instagrams_login_asks_to_read_ads_only_where_the_operator_says_so(
    person: Callable[..., Person], simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    somebody = person("IG")
    assert "ads_read" not in somebody.login.scopes
    monkeypatch.setenv("INSTAGRAM_ADS_READ", "true")
    at = MetaSettings.from_env()
    assert "ads_read" in InstagramLogin(at).scopes
    assert "ads_read" not in FacebookLogin(at).scopes
    somebody.login = InstagramLogin(meta_at(simulator, asks_ads_read=True))
    assert "ads_read" in (somebody.allow().scopes or ())


@pytest.mark.parametrize("platform", ["FB", "LN", "TT", "TW", "YT"])
def test_what_a_person_withholds_is_known(person: Callable[..., Person], platform: str) -> None:
    scopes = person(platform).login.scopes
    withheld = scopes[-1]
    somebody = person(platform, withholds=[withheld])
    tokens = somebody.allow()
    assert withheld not in (tokens.scopes or ())
    page = somebody.login.accounts(tokens)[0].tokens
    granted = somebody.login.granted(Tokens(page.access_token, scopes=tokens.scopes))
    assert set(scopes) - set(granted or ()) == {withheld}


@pytest.mark.parametrize("platform", NAMES)
def test_a_denial_comes_back_as_an_error(person: Callable[..., Person], platform: str) -> None:
    assert person(platform).visit(sim_deny="1")["error"] in ("access_denied", "user_cancelled_authorize")


@pytest.mark.parametrize("platform", NAMES)
def test_a_code_works_once_and_a_second_time_is_no_token(
    person: Callable[..., Person], platform: str
) -> None:
    somebody = person(platform)
    code = somebody.visit()["code"]
    somebody.login.exchange(code, somebody.redirect_uri, VERIFIER)
    assert not refusal_of(somebody.login.exchange, code, somebody.redirect_uri, VERIFIER).retryable


@pytest.mark.parametrize("platform", ["TT", "TW", "YT"])
def test_a_code_without_its_verifier_is_worth_nothing(person: Callable[..., Person], platform: str) -> None:
    somebody = person(platform)
    code = somebody.visit()["code"]
    assert refusal_of(somebody.login.exchange, code, somebody.redirect_uri, "w" * 64)


@pytest.mark.parametrize("platform", RENEWED)
def test_tokens_are_renewed(person: Callable[..., Person], platform: str) -> None:
    somebody = person(platform)
    before = somebody.allow()
    assert before.lifetime_seconds
    after = somebody.login.refresh(before.refresh_token)
    assert after.access_token != before.access_token
    assert somebody.login.accounts(after)
    if platform != "YT":
        assert after.refresh_token not in (None, before.refresh_token)
        assert refusal_of(somebody.login.refresh, before.refresh_token).kind is Refusal.EXPIRED


def linkedin(simulator: Simulator, *, member: bool = True, pages: bool = True, **more: Any) -> Login:
    settings = linkedin_at(
        simulator,
        member_app=App("local-linkedin", "local-linkedin-secret") if member else App(),
        pages_app=App("local-linkedin-pages", "local-linkedin-pages-secret") if pages else App(),
        **more,
    )
    return logins(default_settings(LN=settings))["LN"]


def scopes_of(login: Login | None) -> set[str]:
    assert login is not None
    return set(login.scopes)


def test_each_app_of_linkedin_asks_for_the_scopes_of_its_own_products(simulator: Simulator) -> None:
    login = linkedin(simulator)
    members, community = scopes_of(login.of_app("member")), scopes_of(login.of_app("organization"))
    assert members == {"openid", "profile", "w_member_social"}
    assert community & {"openid", "profile", "email"} == set()
    assert {"r_basicprofile", "rw_organization_admin", "w_organization_social_feed"} <= community
    old = linkedin(simulator, member=False, has_feed_scopes=False).scopes
    assert set(old) == {scope for scope in community if not scope.endswith("_feed")}


def test_an_app_for_company_pages_leaves_linkedins_login_to_the_members_app(simulator: Simulator) -> None:
    alone = linkedin(simulator, pages=False)
    assert alone.app_name == linkedin(simulator).app_name == "member"
    assert alone.of_app("organization") is None
    assert linkedin(simulator, member=False).app_name == "organization"


def test_a_token_of_linkedin_is_renewed_by_the_app_that_issued_it(simulator: Simulator) -> None:
    login = linkedin(simulator)
    members, pages = login.of_app("member"), login.of_app("organization")
    assert login.of_app("member", ("rw_organization_admin",)) is members
    # Tokens stored before 1.4.0 name no app.
    assert login.of_app(None, ("openid", "profile", "w_member_social")) is members
    assert login.of_app(None, ("openid", "w_member_social", "rw_organization_admin")) is pages


def test_an_only_app_of_linkedin_renews_all_tokens_that_name_none(simulator: Simulator) -> None:
    """Before 1.4.0 members may have been linked with the app that is now the one for company pages."""
    alone = linkedin(simulator, member=False)
    assert alone.of_app(None, ("openid", "profile", "w_member_social")) is alone


@pytest.mark.parametrize(("kind", "count"), [("member", 1), ("organization", 2)])
def test_a_person_who_logs_in_by_either_app_of_linkedin_gets_a_token_that_names_it(
    person: Callable[..., Person], at: dict[str, Login], kind: str, count: int
) -> None:
    somebody, login = person("LN"), at["LN"].of_app(kind)
    assert login is not None
    somebody.login = login
    tokens = somebody.allow()
    assert tokens.app == kind
    assert len(login.accounts(tokens)) == count
    assert "w_member_social" in (tokens.scopes or ())
    assert login.missing(tokens.scopes or ()) == ()


def test_a_company_page_is_offered_only_to_those_who_may_post_for_it(
    person: Callable[..., Person], simulator: Simulator
) -> None:
    somebody = person("LN", accounts=3)
    member, first, second, third = (account["account_id"] for account in somebody.known["accounts"])
    for urn, role in (
        (first, "ANALYST"),
        (second, "DIRECT_SPONSORED_CONTENT_POSTER"),
        (third, "LEAD_GEN_FORMS_MANAGER"),
    ):
        simulator.call("POST", "linkedin/roles", account_id=urn, role=role)
    assert [found.account_id for found in somebody.login.accounts(somebody.allow())] == [member, second]


def test_a_member_is_read_by_the_address_that_the_tokens_product_has(simulator: Simulator) -> None:
    for scopes in (["openid"], ["r_basicprofile"]):
        made = simulator.call("POST", "linkedin/members", name="Mel Member", scopes=scopes)
        for app in (App(), App("pages")):
            settings = linkedin_at(simulator, pages_app=app)
            profile = LinkedInConnector(settings).profile(Account(made["account_id"], made["access_token"]))
            assert profile.name == "Mel Member"
            assert str(profile.picture).startswith(simulator.url)


def test_a_members_comment_without_its_scope_says_what_the_app_lacks(simulator: Simulator) -> None:
    made = simulator.call("POST", "linkedin/members", scopes=["w_member_social"])
    account = Account(made["account_id"], made["access_token"])
    connector = LinkedInConnector(linkedin_at(simulator))
    post = connector.publish(account, Content("a post to comment on"), Checkpoint())
    refusal = refusal_of(connector.comment, account, post.remote_id, "first")
    assert refusal.kind is Refusal.PERMISSION
    assert "Community Management" in refusal.message


def test_pages_of_linkedin_that_were_linked_before_1_4_0_lack_nothing() -> None:
    login = LinkedInLogin(LinkedInSettings(), "organization")
    earlier = ("openid", "profile", "w_member_social", "rw_organization_admin", "w_organization_social")
    assert login.missing((*earlier, "r_organization_social")) == ()
    assert login.missing(earlier) == ("r_organization_social",)
    assert "r_basicprofile" in login.missing(())
    assert login.missing(login.scopes) == ()


def test_linkedin_gives_nothing_to_renew_with(person: Callable[..., Person]) -> None:
    tokens = person("LN").allow()
    assert tokens.refresh_token is None
    assert tokens.lifetime_seconds == 60 * 86_400 - 1


@pytest.mark.parametrize("platform", RENEWED)
@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("expired", Refusal.EXPIRED), ("server_error", Refusal.TRANSIENT), ("rate_limit", Refusal.RATE_LIMITED),
        ("reject", Refusal.REJECTED),
    ],
)  # fmt: skip
def test_only_a_definite_word_ends_a_grant(
    person: Callable[..., Person], simulator: Simulator, platform: str, mode: str, kind: Refusal
) -> None:
    """A wrong secret (`reject`) is the operator's mistake, so no page loses its link because of it."""
    somebody = person(platform)
    tokens = somebody.allow()
    account_id = somebody.known["accounts"][0]["account_id"]
    simulator.call(
        "POST", "faults", platform=platform, operation="token", mode=mode, times=1, account_id=account_id
    )
    assert refusal_of(somebody.login.refresh, tokens.refresh_token).kind is kind
    assert somebody.login.refresh(tokens.refresh_token)


@pytest.mark.parametrize("platform", RENEWED)
def test_who_removes_the_app_ends_it(
    person: Callable[..., Person], simulator: Simulator, platform: str
) -> None:
    somebody = person(platform)
    tokens = somebody.allow()
    simulator.call("POST", f"persons/{somebody.known['person_id']}/leave")
    assert refusal_of(somebody.login.refresh, tokens.refresh_token).kind is Refusal.EXPIRED
    assert refusal_of(somebody.login.accounts, tokens).kind is Refusal.EXPIRED


@pytest.mark.parametrize("platform", ["LN", "TT", "TW", "YT"])
def test_a_permission_is_given_back(person: Callable[..., Person], platform: str) -> None:
    somebody = person(platform)
    tokens = somebody.allow()
    assert somebody.login.revoke(tokens)
    assert refusal_of(somebody.login.accounts, tokens).kind is Refusal.EXPIRED


def test_facebook_has_no_place_to_give_a_page_back(person: Callable[..., Person]) -> None:
    assert person("FB").login.revoke(Tokens("x")) is False
