"""Logins as platforms.md describes them: dialogs, codes, PKCE, refresh tokens, revocation, and their errors."""

import base64
import hashlib
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit

import pytest
from flask.testing import FlaskClient

from simulator.app import create_app
from simulator.config import LINKEDIN_PAGES, Settings
from simulator.simulation import Simulation

VERIFIER = "v" * 50
DIGEST = hashlib.sha256(VERIFIER.encode())
S256 = base64.urlsafe_b64encode(DIGEST.digest()).rstrip(b"=").decode()
GOOGLE = "https://www.googleapis.com/auth/youtube.readonly"

#: platform: name, dialog, token address, scope, challenge, field of the client's id
LOGINS = {
    "LN": (
        "linkedin", "/www.linkedin.com/oauth/v2/authorization", "/www.linkedin.com/oauth/v2/accessToken",
        "r_basicprofile w_member_social rw_organization_admin w_organization_social", None, "client_id",
    ),
    "TT": (
        "tiktok", "/www.tiktok.com/v2/auth/authorize/", "/open.tiktokapis.com/v2/oauth/token/",
        "user.info.basic,video.publish", DIGEST.hexdigest(), "client_key",
    ),
    "TW": (
        "twitter", "/x.com/i/oauth2/authorize", "/api.x.com/2/oauth2/token",
        "tweet.read tweet.write users.read offline.access", S256, "client_id",
    ),
    "YT": (
        "youtube", "/accounts.google.com/o/oauth2/v2/auth", "/oauth2.googleapis.com/token", GOOGLE, S256, "client_id",
    ),
}  # fmt: skip
REFRESHED = ["TT", "TW", "YT"]


class Browser:
    """One platform's login, as an app and a browser see it."""

    def __init__(self, client, settings, platform):
        self.client, self.platform = client, platform
        name, self.dialog, self.token_url, self.scope, self.challenge, self.id_field = LOGINS[platform]
        self.app = settings.apps[LINKEDIN_PAGES if platform == "LN" else platform]
        self.target = f"https://app.test/connect/{name}/callback"

    def visit(self, **more):
        """Visits the login. Returns the query of the callback URL."""
        asked = {
            self.id_field: self.app[0], "redirect_uri": self.target, "state": "st", "response_type": "code",
            "scope": self.scope, "access_type": "offline", "prompt": "consent",
        }  # fmt: skip
        if self.challenge:
            asked |= {"code_challenge": self.challenge, "code_challenge_method": "S256"}
        self.went = self.client.get(self.dialog, query_string=asked | more)
        return dict(parse_qsl(urlsplit(self.went.headers.get("Location", "")).query))

    def ask(self, **form):
        body, headers = dict(form), {}
        if self.platform == "TW":
            signed = base64.b64encode(":".join(self.app).encode()).decode()
            headers["Authorization"] = f"Basic {signed}"
        else:
            body = {self.id_field: self.app[0], "client_secret": self.app[1]} | body
        return self.client.post(self.token_url, data=body, headers=headers)

    def exchange(self, code, **more):
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": self.target}
        return self.ask(**form | {"code_verifier": VERIFIER} | more)

    def log_in(self, **more):
        answer = self.exchange(self.visit(**more)["code"])
        assert answer.status_code == 200, answer.get_json()
        return answer.get_json()

    def refresh(self, token):
        return self.ask(grant_type="refresh_token", refresh_token=token)

    def me(self, token):
        """A read with the token: its status."""
        path = {
            "LN": "/api.linkedin.com/v2/me", "TT": "/open.tiktokapis.com/v2/user/info/?fields=open_id",
            "TW": "/api.x.com/2/users/me", "YT": "/www.googleapis.com/youtube/v3/channels?part=id&mine=true",
        }[self.platform]  # fmt: skip
        return self.client.get(path, headers={"Authorization": f"Bearer {token}"}).status_code


@pytest.fixture(params=LOGINS)
def browser(request: pytest.FixtureRequest, client: FlaskClient, settings: Settings) -> Browser:
    return Browser(client, settings, request.param)


@pytest.fixture
def at(client: FlaskClient, settings: Settings) -> Callable[[str], Browser]:
    return lambda platform: Browser(client, settings, platform)


def test_a_login_gives_a_token_that_works_until_its_end(browser, clock):
    given = browser.log_in()
    assert browser.me(given["access_token"]) == 200
    clock.pass_time(given["expires_in"])
    assert browser.me(given["access_token"]) == 401


def test_the_state_comes_back_as_it_was(browser):
    assert browser.visit(state="a b&c=d/é")["state"] == "a b&c=d/é"


def test_a_denial_comes_back_in_the_platforms_words(browser):
    words = browser.visit(sim_deny="1")
    denied = "user_cancelled_authorize" if browser.platform == "LN" else "access_denied"
    assert (words["error"], words["state"]) == (denied, "st")
    assert "code" not in words


class Consent(HTMLParser):
    """The consent form and its buttons."""

    def __init__(self, page):
        super().__init__()
        self.fields, self.buttons = {}, []
        self.feed(page.get_data(as_text=True))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "input":
            self.fields[given["name"]] = given["value"]
        if tag == "button":
            self.buttons.append(given["name"])


def test_a_browser_is_asked_and_its_answer_keeps_all_that_came_along(browser):
    browser.client.environ_base["HTTP_ACCEPT"] = "text/html,*/*;q=0.8"
    assert browser.visit(state='"><script>') == {}
    shown = Consent(browser.went)
    assert shown.buttons == ["sim_allow", "sim_deny"]
    assert shown.fields["state"] == '"><script>'
    assert set(browser.visit(**shown.fields, sim_allow="1")) >= {"code", "state"}
    assert "error" in browser.visit(**shown.fields, sim_deny="1")


@pytest.mark.parametrize("wrong", [{"redirect_uri": "https://evil.test/"}, {"redirect_uri": ""}])
def test_nobody_is_sent_to_an_address_that_is_not_registered(browser, wrong):
    assert browser.visit(**wrong) == {}
    assert browser.went.status_code == 400


def test_an_unknown_app_is_told_on_the_spot(browser):
    browser.visit(**{browser.id_field: "nobody"})
    assert browser.went.status_code == 400


def test_scopes_the_app_may_not_ask_for_are_refused(browser):
    words = {"LN": "unauthorized_scope_error"}
    assert browser.visit(scope="everything")["error"] == words.get(browser.platform, "invalid_scope")


def test_linkedin_refuses_a_whole_login_for_a_scope_of_a_product_beside_community_management(at):
    back = at("LN").visit(scope="openid profile w_organization_social")
    assert back["error"] == "unauthorized_scope_error"
    assert back["error_description"] == 'Scope "openid" is not authorized for your application'


def test_linkedins_app_for_members_gets_no_scope_of_community_management(at, settings):
    browser = at("LN")
    browser.app = settings.apps["LN"]
    assert browser.visit(scope="openid profile w_member_social")["code"]
    assert (
        browser.visit(scope="openid w_member_social r_organization_social")["error"]
        == "unauthorized_scope_error"
    )


def test_a_refresh_token_of_linkedin_works_for_the_app_that_got_it_alone(settings, clock):
    app = create_app(Simulation(replace(settings, linkedin_refresh=True), clock))
    browser = Browser(app.test_client(), settings, "LN")
    token = browser.log_in()["refresh_token"]
    own, browser.app = browser.app, settings.apps["LN"]
    assert browser.refresh(token).get_json()["error"] == "invalid_grant"
    browser.app = own
    assert browser.refresh(token).status_code == 200


@pytest.mark.parametrize(
    ("scopes", "path", "status"),
    [
        (["openid"], "/api.linkedin.com/v2/userinfo", 200),
        (["openid"], "/api.linkedin.com/v2/me", 403),
        (["r_basicprofile"], "/api.linkedin.com/v2/me", 200),
        (["r_basicprofile"], "/api.linkedin.com/v2/userinfo", 403),
        (["r_basicprofile"], "/api.linkedin.com/rest/organizationAcls?q=roleAssignee", 403),
        (["rw_organization_admin"], "/api.linkedin.com/rest/organizationAcls?q=roleAssignee", 200),
    ],
)
def test_linkedin_checks_the_scope_of_each_call(client, scopes, path, status):
    made = client.post("/_sim/linkedin/members", json={"scopes": scopes}).get_json()
    headers = {
        "Authorization": f"Bearer {made['access_token']}", "LinkedIn-Version": "202607",
        "X-Restli-Protocol-Version": "2.0.0",
    }  # fmt: skip
    assert client.get(path, headers=headers).status_code == status
    assert (
        client.get(
            "/api.linkedin.com/rest/posts", headers=headers | {"LinkedIn-Version": "202612"}
        ).status_code
        == 426
    )


def test_a_code_works_once_where_it_was_given_and_in_time(browser, clock):
    def error(code, **more):
        return browser.exchange(code, **more).get_json()["error"]

    bad = "invalid_request" if browser.platform == "TW" else "invalid_grant"
    code = browser.visit()["code"]
    browser.exchange(code)
    assert error(code) == bad
    assert error(browser.visit()["code"], redirect_uri=browser.target + "x") == bad
    late = browser.visit()["code"]
    clock.pass_time(30 if browser.platform == "TW" else 600)
    assert error(late) == bad
    if browser.challenge:
        assert error(browser.visit()["code"], code_verifier="w" * 50) == bad


@pytest.mark.parametrize(("platform", "wrong"), [("TT", S256), ("TW", DIGEST.hexdigest()), ("TW", "")])
def test_the_challenge_has_each_platforms_own_spelling(at, platform, wrong):
    assert at(platform).visit(code_challenge=wrong)["error"] == "invalid_request"


def test_tiktok_lets_a_web_app_log_in_without_a_challenge(at):
    browser = at("TT")
    browser.challenge = None
    given = browser.exchange(browser.visit()["code"], code_verifier="").get_json()
    assert browser.me(given["access_token"]) == 200


def test_linkedin_takes_commas_between_scopes_as_well_and_answers_with_them(at):
    browser = at("LN")
    browser.scope = browser.scope.replace(" ", ",")
    given = browser.log_in()
    assert given["scope"] == browser.scope
    browser.token_url = "/www.linkedin.com/oauth/v2/introspectToken"
    told = browser.ask(token=given["access_token"]).get_json()
    assert (told["active"], told["status"], told["scope"]) == (True, "active", browser.scope)


@pytest.mark.parametrize("platform", REFRESHED)
def test_a_refresh_gives_another_token(at, platform):
    browser = at(platform)
    first = browser.log_in()
    second = browser.refresh(first["refresh_token"]).get_json()
    assert second["access_token"] != first["access_token"]
    assert browser.me(second["access_token"]) == 200


@pytest.mark.parametrize("platform", ["TT", "TW"])
def test_a_rotated_refresh_token_works_once(at, platform):
    browser = at(platform)
    first = browser.log_in()["refresh_token"]
    second = browser.refresh(first).get_json()["refresh_token"]
    assert second != first
    assert "error" in browser.refresh(first).get_json()
    assert "access_token" in browser.refresh(second).get_json()


def test_googles_refresh_token_stays_and_comes_only_when_asked_for(at):
    browser = at("YT")
    first = browser.log_in()["refresh_token"]
    assert "refresh_token" not in browser.refresh(first).get_json()
    assert "access_token" in browser.refresh(first).get_json()
    assert "refresh_token" not in browser.log_in(access_type="online")


def test_googles_later_logins_need_the_consent_for_a_refresh_token(at, client):
    browser = at("YT")
    person = client.post("/_sim/persons", json={"platform": "YT"}).get_json()["person_id"]
    assert "refresh_token" in browser.log_in(sim_person=person, prompt="none")
    assert "refresh_token" not in browser.log_in(sim_person=person, prompt="none")
    assert "refresh_token" in browser.log_in(sim_person=person)


def test_linkedin_gives_no_refresh_token_and_its_token_reaches_company_pages(at, client):
    browser = at("LN")
    person = client.post("/_sim/persons", json={"platform": "LN", "accounts": 2}).get_json()
    given = browser.log_in(sim_person=person["person_id"])
    assert "refresh_token" not in given
    headers = {
        "Authorization": f"Bearer {given['access_token']}", "LinkedIn-Version": "202607",
        "X-Restli-Protocol-Version": "2.0.0",
    }  # fmt: skip
    query = {"q": "roleAssignee", "state": "APPROVED"}
    rows = client.get(
        "/api.linkedin.com/rest/organizationAcls", query_string=query, headers=headers
    ).get_json()["elements"]
    pages = [account["account_id"] for account in person["accounts"][1:]]
    assert [row["organization"] for row in rows] == pages
    for author in (pages[1], person["accounts"][0]["account_id"]):
        body = {
            "author": author, "commentary": "hello", "visibility": "PUBLIC", "lifecycleState": "PUBLISHED",
            "distribution": {
                "feedDistribution": "MAIN_FEED", "targetEntities": [], "thirdPartyDistributionChannels": [],
            },
            "isReshareDisabledByAuthor": False,
        }  # fmt: skip
        assert client.post("/api.linkedin.com/rest/posts", json=body, headers=headers).status_code == 201
    body["author"] = "urn:li:organization:1"
    assert client.post("/api.linkedin.com/rest/posts", json=body, headers=headers).status_code == 403


def test_tiktok_tells_errors_with_http_200(at):
    answer = at("TT").exchange("nonsense")
    assert answer.status_code == 200
    assert set(answer.get_json()) == {"error", "error_description", "log_id"}


def test_xs_dead_refresh_token_is_an_invalid_request(at):
    answer = at("TW").refresh("nonsense")
    assert answer.status_code == 400
    assert answer.get_json() == {
        "error": "invalid_request", "error_description": "Value passed for the token was invalid.",
    }  # fmt: skip


def test_a_wrong_secret_opens_nothing(browser):
    browser.app = (browser.app[0], "wrong")
    answer = browser.exchange("x")
    assert "error" in answer.get_json()
    assert "access_token" not in answer.get_json()


@pytest.mark.parametrize(
    ("platform", "path"),
    [
        ("TT", "/open.tiktokapis.com/v2/oauth/revoke/"),
        ("TW", "/api.x.com/2/oauth2/revoke"),
        ("YT", "/oauth2.googleapis.com/revoke"),
        ("LN", "/www.linkedin.com/oauth/v2/revoke"),
    ],
)
def test_what_is_given_back_is_over(at, client, platform, path):
    browser = at(platform)
    given = browser.log_in()
    browser.token_url = path
    assert browser.ask(token=given["access_token"]).status_code == 200
    assert browser.me(given["access_token"]) == 401
    assert len(client.get("/_sim/oauth").get_json()["revoked"]) == 1


def test_google_knows_the_app_by_basic_authentication_too(at, client):
    browser = at("YT")
    form = {"grant_type": "authorization_code", "redirect_uri": browser.target, "code_verifier": VERIFIER}
    for secret, status in ((browser.app[1], 200), ("wrong", 401)):
        signed = base64.b64encode(f"{browser.app[0]}:{secret}".encode()).decode()
        answer = client.post(
            browser.token_url,
            data=form | {"code": browser.visit()["code"]},
            headers={"Authorization": f"Basic {signed}"},
        )
        assert answer.status_code == status


def test_google_revokes_the_token_in_the_query(at, client):
    browser = at("YT")
    given = browser.log_in()
    url = "/oauth2.googleapis.com/revoke"
    assert client.post(url, query_string={"token": given["access_token"]}).status_code == 200
    assert browser.me(given["access_token"]) == 401
    assert client.post(url, query_string={"token": "nonsense"}).get_json()["error"] == "invalid_token"


def test_google_s_login_has_the_address_of_its_files_of_credentials(at):
    browser = at("YT")
    browser.dialog = "/accounts.google.com/o/oauth2/auth"
    assert "code" in browser.visit()


def test_x_takes_json_for_a_token_and_the_method_of_pkce_in_small_letters(at, client):
    browser = at("TW")
    code = browser.visit(code_challenge_method="s256")["code"]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": browser.target}
    signed = base64.b64encode(":".join(browser.app).encode()).decode()
    headers = {"Authorization": f"Basic {signed}"}
    given = client.post(
        browser.token_url, json=form | {"code_verifier": VERIFIER}, headers=headers
    ).get_json()
    assert browser.me(given["access_token"]) == 200
    client.post("/api.x.com/2/oauth2/revoke", json={"token": given["access_token"]}, headers=headers)
    assert browser.me(given["access_token"]) == 401


@pytest.mark.parametrize("platform", REFRESHED)
def test_who_removes_the_app_ends_everything(at, client, platform):
    browser = at(platform)
    person = client.post("/_sim/persons", json={"platform": platform}).get_json()["person_id"]
    given = browser.log_in(sim_person=person)
    client.post(f"/_sim/persons/{person}/leave")
    assert browser.me(given["access_token"]) == 401
    assert "error" in browser.refresh(given["refresh_token"]).get_json()
    assert browser.me(browser.log_in(sim_person=person)["access_token"]) == 200


@pytest.mark.parametrize("platform", REFRESHED)
@pytest.mark.parametrize(
    ("mode", "status"), [("server_error", 503), ("rate_limit", 429), ("expired", 400), ("reject", 401)]
)
def test_planned_faults_meet_the_refresh(at, plan_fault, platform, mode, status):
    browser = at(platform)
    given = browser.log_in()
    plan_fault(platform, "token", mode)
    answer = browser.refresh(given["refresh_token"])
    assert answer.status_code == (200 if platform == "TT" and status < 429 else status)
    assert "error" in answer.get_json()
    assert "access_token" in browser.refresh(given["refresh_token"]).get_json()


@pytest.mark.parametrize(
    ("scope", "reads", "posts", "uploads"),
    [
        ("tweet.read users.read", 200, 403, 403),
        ("tweet.read users.read tweet.write", 200, 201, 403),
        ("tweet.write", 403, 403, 403),
        ("media.write", 403, 403, 200),
    ],
)
def test_x_checks_the_scopes_of_each_call(at, client, scope, reads, posts, uploads):
    browser = at("TW")
    browser.scope = scope
    headers = {"Authorization": f"Bearer {browser.log_in()['access_token']}"}
    begun = {"media_type": "video/mp4", "total_bytes": 5, "media_category": "tweet_video"}
    assert client.get("/api.x.com/2/users/me", headers=headers).status_code == reads
    assert (
        client.post("/api.x.com/2/tweets", json={"text": f"allowed {scope}"}, headers=headers).status_code
        == posts
    )
    answer = client.post("/api.x.com/2/media/upload/initialize", json=begun, headers=headers)
    assert answer.status_code == uploads
